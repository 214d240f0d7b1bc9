// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How a driver call passes through libcufault.so. A caller that resolves a driver function, by dlsym, cuGetProcAddress or a link, gets
// thunk i (resolve.cpp, thunks.S). Each pair of function and resolving library has a slot of its own (slots.cpp). A function of another
// library gets a thunk if rules name that library: by dlsym, or by a link with libcufault_cublas.so and its like (bind.cpp). The thunk
// counts the call (counts.cpp) and jumps to the real function. If a rule may hold, it first calls cufault_intercept (intercept.cpp), which
// asks this file. Rules come from environment.cpp or, from the process itself, interface.cpp. All arguments are handled as integers.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "harness/injector/calls.hpp"

#include "harness/injector/slots.hpp"

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace cufault::injector {
namespace {

constexpr int shared_object_init_failed = 303;
constexpr int success = 0;
constexpr int out_of_memory = 2;

/// The function that another interposing library is passing on for this thread: the call of the real function belongs to the same call.
constinit thread_local const char* passing_on __attribute__((tls_model("initial-exec"))) = nullptr;
/// True if that call, or a call that encloses it, is an allocation that a budget has counted.
constinit thread_local bool passing_on_claimed __attribute__((tls_model("initial-exec"))) = false;

bool is_passed_on(const slot& s) {
  return passing_on != nullptr && function_name{passing_on}.base() == s.function.base();
}

const char* or_hidden(const char* symbol, const call_facts& asker) {
  const exempt_from_rules alone_now;
  const reading_rules reading;
  for (const auto& r : current_rules()->all) {
    if (r->what.does != effect::hide || !r->here ||
        !matches_function(r->what.function, function_name{symbol}) || !holds_for(r->what, asker))
      continue;
    const auto n = ++r->held;
    if (!acts_now(*r, n)) continue;
    count_injection(*r);
    call_facts call = asker;
    call.function = symbol;
    call.number = 0;  // it is no call
    report_injection(*r, call, n);
    return "cufaultHiddenEntry";  // the driver then gives its own answer for an unknown name
  }
  return symbol;
}

void wait(std::chrono::milliseconds time) {
  timespec rest{time.count() / 1000, time.count() % 1000 * 1'000'000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
  }
}

/// Waits until no rule in effect is this one.
void spin(const rule& r) {
  for (;;) {
    wait(std::chrono::milliseconds{20});
    const reading_rules reading;
    const auto& all = current_rules()->all;
    if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return each->what == r; })) return;
  }
}

const std::vector<active_rule*>& rules_for(const rules_of_slot& rules, const char* library) {
  const auto known = [&] {
    const auto* found = rules.callers.load(std::memory_order_acquire);
    while (found != nullptr && found->library != library) found = found->next;
    return found;
  };
  if (!rules.by_caller) return rules.all;
  if (const auto* found = known()) return found->rules;
  const locked w;
  if (const auto* found = known()) return found->rules;
  auto* added = new rules_of_slot::of_caller{library, {}, rules.callers};
  for (active_rule* r : rules.all)
    if (matches_caller(r->what, library)) added->rules.push_back(r);
  rules.callers.store(added, std::memory_order_release);
  return added->rules;
}

/// What the rules decided about a call.
struct decision {
  std::optional<int> instead;          // code to return in place of making the call
  std::chrono::milliseconds delay{0};  // wait before the call
  std::optional<rule> spins{};         // wait until this one ends
  bool budgeted = false;               // the call counts against budgets
};

/// Every rule counts the call, even if another rule or a sticky error has already `decided` it.
decision judge(const rules_of_slot& rules, const call_frame& frame, pending_call& p, bool decided) {
  decision s;
  call_facts& call = p.facts;
  const char* library = rules.by_caller ? library_at(frame.caller) : "";
  if (rules.by_caller) call.caller = library;
  for (active_rule* r : rules_for(rules, library)) {
    if (r->what.device && !call.device) call.device = current_device();
    if (!holds_for_any_caller(r->what, call)) continue;
    if (r->what.does == effect::budget) {
      s.budgeted = true;
      continue;
    }
    if (r->what.stack && !call.stack) call.stack = hash_of_stack(frame.caller);
    const bool any_stack = r->what.then_any_stack && r->acted != 0;
    if (r->what.at_stack && r->what.at_stack != call.stack && !any_stack) continue;
    if (r->what.once_per_stack && !is_first_of_stack(*r, *call.stack)) continue;
    if (r->what.sticky && !r->what.after && current_context().handle == nullptr) continue;  // nothing to lose
    const auto n = ++r->held;
    if ((decided && r->what.does != effect::log) || !acts_now(*r, n)) continue;
    if (call.caller.empty()) call.caller = library_at(frame.caller);
    // Injections are rare, so walking the stack costs little. Other logged calls have a stack only if a rule asks for it.
    if (!call.stack && r->what.does != effect::log) call.stack = hash_of_stack(frame.caller);
    if (r->what.does == effect::trap || r->what.does == effect::device_assert) {
      if (const int code = start_faulty_kernel(r->what.does == effect::trap); code != 0) {
        report_no_injection(*r, call, n, driver_code_name(code));
        continue;
      }
    }
    const bool corrupts = r->what.does == effect::corrupt;
    if (!corrupts) count_injection(*r);
    if (corrupts || r->what.after || r->what.does == effect::driver_version) {
      ++r->calls_in_flight;
      p.behind = r;
      p.ordinal = n;
      decided = true;
      continue;
    }
    if (r->what.does == effect::log && p.logged == nullptr) {
      ++r->calls_in_flight;
      p.logged = r;
      p.logged_ordinal = n;
      continue;
    }
    if (r->what.sticky) call.context = lose_current_context(*r, n);
    report_injection(*r, call, n);
    if (r->what.does == effect::fail || r->what.does == effect::drop) {
      s.instead = r->what.does == effect::fail ? r->what.code : success;
      decided = true;
    }
    if (r->what.does == effect::delay) s.delay += r->what.delay;
    if (r->what.does == effect::spin) s.spins = r->what;
  }
  return s;
}

/// Returns false if the allocation exceeds a budget and has to fail.
bool claim_budget(const slot& s, const call_frame& frame, pending_call& p) {
  const exempt_from_rules alone_now;
  const reading_rules reading;
  call_facts& call = p.facts;
  if (!call.device) call.device = current_device();  // later calls with budgets use it too
  if (call.caller.empty()) call.caller = library_at(frame.caller);
  const budget_claim claim = claim_of(call, s.memory.role);
  p.claim = claim.number;
  if (claim.refused_by == nullptr) return true;
  count_injection(*claim.refused_by);
  report_injection(*claim.refused_by, call, claim.refused_by->acted);
  return false;
}

std::uint64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void report_logged(const pending_call& p, const call_result& result) {
  report_injection(*p.logged, p.facts, p.logged_ordinal, &result);
  --p.logged->calls_in_flight;
}

/// Runs after the call: replaces its result, or the version it returned, by what a rule says.
std::int64_t override_result(const slot& s, pending_call& p, const call_result& really_made,
                             std::int64_t result, const call_frame* frame) {
  active_rule& r = *p.behind;
  const int really = really_made.code;
  if (r.what.does == effect::corrupt) {
    corrupted changed;
    const std::string why = really != success ? "it failed by itself"
                                              : corrupt_result(s, r.what, *frame, p.facts.number, changed);
    if (why.empty()) {
      count_injection(r);
      report_injection(r, p.facts, p.ordinal, &really_made, &changed);
    } else {
      report_no_injection(r, p.facts, p.ordinal, why);
    }
    return result;
  }
  if (r.what.sticky && really == success) p.facts.context = lose_current_context(r, p.ordinal);
  report_injection(r, p.facts, p.ordinal, &really_made);
  if (r.what.does == effect::fail) {
    if (really != success) return result;  // the call failed by itself, and the runtime has recorded that
    keep_last_error(s, r.what.code);
    return r.what.code;
  }
  auto* version = reinterpret_cast<int*>(frame->integers[0]);
  if (really == 0 && version != nullptr) *version = r.what.driver_version;
  return result;
}

/// Returns `result` to the caller without making the call.
void answer(pending_call& p, int result) {
  const call_result not_made{result, nanoseconds(), 0};
  if (p.logged != nullptr) report_logged(p, not_made);
  if (p.behind != nullptr) {  // a rule with "when": "after" had counted this call before a budget refused it
    report_injection(*p.behind, p.facts, p.ordinal, &not_made);
    --p.behind->calls_in_flight;
  }
  p.next = next_step::answer;
  p.result = result;
}

/// Fails the call if its context has a sticky error. Returns false if it has none.
bool fails_for_sticky_error(const slot& s, const call_frame& frame, pending_call& p) {
  const exempt_from_rules alone_now;
  const reading_rules reading;
  call_facts& call = p.facts;
  const auto error = sticky_error_here(call.context);
  if (!error) return false;
  if (const rules_of_slot* rules = s.rules) judge(*rules, frame, p, true);
  if (call.caller.empty()) call.caller = library_at(frame.caller);
  report_sticky(*error, call);
  answer(p, error->rule->what.code);
  return true;
}

}  // namespace

void begin_call(pending_call& p, std::uint32_t index, call_frame* frame, bool first) {
  slot& s = slots[index];
  p.slot = index;
  read_environment();
  const bool own = exempt_from_rules::now();
  if (first && !own) {
    serve_forks();
    begin_thread();
    watch_rules();
    if (cufault_counts != nullptr) ++cufault_counts[index];
  }
  if (!own && each_call_is_told()) report_late_call(index);
  p.real = s.real;
  if (p.real == nullptr && (p.real = resolve_linked(index)) == nullptr)
    return answer(p, shared_object_init_failed);
  if (own) return;
  if (is_passed_on(s)) return static_cast<void>(++s.passed_on);
  if (s.numbered != nullptr) {
    const reading_rules reading;
    for (const auto* each = s.numbered.load(); each != nullptr; each = each->next)
      if (const auto n = ++each->by->calls; each->by->function == s.function.text) p.facts.number = n;
  }

  const bool sticky = sticky_errors_exist();
  p.accounted = is_accounted(s.memory.role) && (budgets_in_use() || sticky);
  if (s.rules == nullptr && s.is == role::ordinary && !p.accounted && !sticky) {
    p.watched = watching() && cufault_counts != nullptr;
    p.captured = captures(s.of);
    if (!p.watched && !p.captured) return;
    if (p.watched) p.depth = begin_watched(index);
    if (p.captured) begin_captured(index, *frame);
    p.next = next_step::call;
    return;
  }

  call_facts& call = p.facts;
  call.function = s.function.text;
  call.thread = this_thread_number();
  call.address = frame->caller;
  if (s.is == role::look_up) call.caller = library_at(frame->caller);
  if (s.memory.bytes != nullptr) call.bytes = s.memory.bytes(frame->integers.data());
  if (sticky && s.of == nullptr && needs_a_sound_context(s.function) && fails_for_sticky_error(s, *frame, p))
    return;
  decision what;
  if (const reading_rules reading; const rules_of_slot* rules = s.rules) {
    const exempt_from_rules alone_now;
    what = judge(*rules, *frame, p, false);
  }
  if (what.delay.count() != 0) wait(what.delay);
  if (what.spins) spin(*what.spins);
  if (what.instead) {
    keep_last_error(s, *what.instead);
    return answer(p, *what.instead);
  }

  if (s.is == role::look_up) {
    const auto* symbol = reinterpret_cast<const char*>(frame->integers[0]);
    p.look_up = symbol != nullptr && *symbol != '\0';  // without a symbol the call only probes
    if (p.look_up) frame->integers[0] = reinterpret_cast<std::uintptr_t>(or_hidden(symbol, call));
  }
  if (what.budgeted && is_allocation(s.memory.role) && !claim_budget(s, *frame, p))
    return answer(p, out_of_memory);
  if (p.accounted && budgets_in_use())
    p.released = budgeted_allocation_at(s.memory.role, frame->integers.data());
  // An interposing library that asks within an allocation would count that allocation twice: it is claimed already.
  const bool tells = what.budgeted && s.memory.role == memory_role::tells && !passing_on_claimed;
  p.accounted |= tells;
  p.passed_on = s.in_front;
  const bool timed = p.behind != nullptr || p.logged != nullptr;
  if (p.look_up || timed || p.claim != 0 || p.accounted || p.passed_on || last_error_is_told_by(s.is))
    p.next = next_step::call;
  if (timed) p.began = nanoseconds();
  if (p.passed_on) {
    p.passed_on_before = std::exchange(passing_on, s.function.text.data());
    p.claimed_before = std::exchange(passing_on_claimed, passing_on_claimed || p.claim != 0);
  }
}

std::int64_t end_call(pending_call& p, call_frame* frame, std::int64_t result) {
  if (p.captured) end_captured(p.slot, *frame, static_cast<int>(result));
  if (p.watched) end_watched(p.slot, p.depth, static_cast<std::int32_t>(result));
  if (p.watched || p.captured) return result;
  const slot& s = slots[p.slot];
  result = last_error_or(result, s.is);
  const call_result made{static_cast<int>(result), p.began, p.began != 0 ? nanoseconds() - p.began : 0};
  const bool succeeded = static_cast<int>(result) == 0;
  if (p.passed_on) {
    passing_on = p.passed_on_before;
    passing_on_claimed = p.claimed_before;
  }
  if (p.look_up && succeeded) {
    auto** found = reinterpret_cast<void**>(frame->integers[1]);
    const auto* symbol = reinterpret_cast<const char*>(frame->integers[0]);
    if (found != nullptr) *found = wrapped(*found, symbol, p.facts.caller.data());
  }
  if (p.claim != 0) complete_claim(p.claim, s.memory.role, succeeded, frame->integers.data());
  if (p.accounted && succeeded) {
    if (s.memory.role == memory_role::tells) {
      auto* free_bytes = reinterpret_cast<std::uint64_t*>(frame->integers[0]);
      if (p.facts.caller.empty()) p.facts.caller = library_at(frame->caller);
      if (free_bytes != nullptr) *free_bytes = budget_left(p.facts, *free_bytes);
    } else {
      if (budgets_in_use()) account_for_released_memory(s.memory.role, frame->integers.data(), p.released);
      context_may_have_changed(s.memory.role, frame->integers.data());
    }
  }
  if (p.logged != nullptr) report_logged(p, made);
  if (p.behind != nullptr) {
    result = override_result(s, p, made, result, frame);
    --p.behind->calls_in_flight;
  }
  return result;
}

}  // namespace cufault::injector
// NOLINTEND(performance-no-int-to-ptr)
