// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/slots.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <set>

namespace cufault::injector {

constinit std::array<slot, CUFAULT_SLOTS> slots{};

namespace {

constinit pthread_mutex_t state_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<state*> the_state{nullptr};
constinit std::atomic<const active_rules*> rules_now{nullptr};
constinit std::atomic<std::uint32_t> used_slots{0};  // number of slots with a name
constinit std::atomic<const unwrapped_name*> unwrapped{nullptr};
constinit std::atomic<bool> each_call_told{false};
constinit std::atomic<std::uint64_t> readers{0};  // threads that read the rules
constinit thread_local int alone __attribute__((tls_model("initial-exec"))) = 0;

std::string quoted(const char* text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// Other fork handlers run after this one; no rule applies to them while the mutex is held.
void before_fork() {
  pthread_mutex_lock(&state_mutex);
  ++alone;
  hold_budgets_for_fork();
}
void after_fork_in_parent() {
  go_on_with_budgets();
  --alone;
  pthread_mutex_unlock(&state_mutex);
}
/// The child counts its own calls. It has this thread alone, which starts afresh and watches the rules.
void after_fork_in_child() {
  begin_counts_of_child();
  begin_watch_of_child();
  readers = 0;
  keep_sticky_errors_of(*the_state, {});  // contexts are not inherited
  for (const auto& r : current_rules()->all) {
    r->held_by_parent = r->held;
    r->acted_in_parent = r->acted;
  }
  go_on_with_budgets();
  --alone;
  pthread_mutex_unlock(&state_mutex);
}

void begin() {
  auto* w = new state;
  w->current = std::make_unique<state::rule_generation>();
  rules_now = &w->current->rules;
  for (const driver_function& f : driver_functions()) name_slot(*w, f.name.text.data(), "(linked)");
  the_state = w;
  begin_counts();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  at_quick_exit(report_counts);
}

/// Frameworks ask these functions for each operation, and they never wait: watching them is not worth its cost.
bool is_asked_often(const slot& s) {
  constexpr std::array<std::string_view, 4> names{"cudaGetDevice", "cudaStreamIsCapturing", "cuCtxGetCurrent",
                                                  "cuCtxGetDevice"};
  return std::find(names.begin(), names.end(), s.function.base()) != names.end();
}

/// True if the rule can act on a call of this function.
bool concerns(const active_rule& r, const slot& s) {
  const rule& what = r.what;
  if (!r.here) return false;
  if (what.of != s.of) return false;
  if (what.does == effect::hide) return false;  // look_up() finds hidden functions by name
  if (what.does == effect::budget) return is_allocation(s.memory.role) || s.memory.role == memory_role::tells;
  if (what.sized && s.memory.bytes == nullptr) return false;
  return is_for_function(what, s.function);
}

void number_by(state& w, std::uint32_t index, call_numbers& by) {
  slots[index].numbered = &w.current->numbered.emplace_back(numbered_by{&by, slots[index].numbered});
}

void number_calls_of(state& w, const slot& s) {
  for (const auto* each = s.numbered.load(); each != nullptr; each = each->next)
    if (each->by->function == s.function.text) return;
  call_numbers& added = w.current->numbers.emplace_back();
  added.function = s.function.text;
  for (std::uint32_t i = 0; i < used_slots; ++i) {
    const function_name& other = slots[i].function;
    if (other.base() != s.function.base() || !matches_function(added.function, other)) continue;
    added.calls += count_of(i).calls - slots[i].passed_on;
    number_by(w, i, added);
    set_entry_of_slot(i);
  }
}

/// Frees replaced rules that no call in flight can reach.
void free_replaced(state& w) {
  const auto in_use = [](const active_rule* r) { return r->calls_in_flight != 0; };
  if (readers != 0) return;
  std::erase_if(w.replaced, [&](const auto& g) {
    return std::none_of(g->rules.all.begin(), g->rules.all.end(),
                        [&](const auto& r) { return in_use(r.get()); });
  });
}

void refuse_rules_of_no_front(const rule_set& rules) {
  std::vector<std::string> names, fronts, options;
  for (const known_library* of : libraries_needed(rules)) {
    if (front_of(*of) != nullptr) continue;
    names.emplace_back(of->name);
    fronts.push_back(fmt::format("libcufault_{}.so", of->name));
    options.push_back(fmt::format("--library {}", of->name));
  }
  if (names.empty()) return;
  throw input_error(
      fmt::format("rules for functions of {} need {} preloaded in front of libcufault.so; start the "
                  "program with `cufault inject {}`",
                  fmt::join(names, ", "), fmt::join(fronts, ", "), fmt::join(options, " ")));
}

}  // namespace

rules_of_slot::rules_of_slot(std::vector<active_rule*> rules)
    : all(std::move(rules)), by_caller(std::any_of(all.begin(), all.end(), [](const active_rule* r) {
        return !r->what.caller.empty();
      })) {}
rules_of_slot::~rules_of_slot() {
  for (const auto* each = callers.load(); each != nullptr;) delete std::exchange(each, each->next);
}

locked::locked() {
  pthread_mutex_lock(&state_mutex);
  if (the_state == nullptr) begin();
}
locked::~locked() {
  pthread_mutex_unlock(&state_mutex);
}
state* locked::operator->() {
  return the_state;
}
state& locked::operator*() {
  return *the_state;
}

reading_rules::reading_rules() {
  ++readers;
}
reading_rules::~reading_rules() {
  --readers;
}

bool is_thunk(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(&cufault_thunks);
  return at >= begin && at < begin + sizeof cufault_thunks;
}

void name_slot(state& w, const char* function, const char* library) {
  const auto kept = [&](std::string text) { return w.names.insert(std::move(text)).first->c_str(); };
  const std::uint32_t index = used_slots;
  slot& s = slots[index];
  s.function = function_name{kept(function)};
  s.of = library_of(function);
  s.library = library;
  s.function_json = kept(quoted(function));
  s.resolver_json = kept(quoted(library));
  s.memory = memory_function_of(s.function.base());
  if (s.function.base() == "cuGetProcAddress") s.is = role::look_up;
  if (s.function.base() == "cudaGetLastError") s.is = role::returns_and_resets_last_error;
  if (s.function.base() == "cudaPeekAtLastError") s.is = role::returns_last_error;
  for (call_numbers& each : w.current->numbers)
    if (matches_function(each.function, s.function)) number_by(w, index, each);
  used_slots = index + 1;
  name_in_counts(index);
}

void update_slot(state& w, std::uint32_t index) {
  slot& s = slots[index];
  std::vector<active_rule*>& concerned = w.scratch;
  concerned.clear();
  for (const auto& r : current_rules()->all)
    if (concerns(*r, s)) concerned.push_back(r.get());
  if (std::any_of(concerned.begin(), concerned.end(),
                  [](const auto* r) { return r->what.does != effect::log; }))
    number_calls_of(w, s);
  auto& made = w.current->of_slots;
  // Most functions share their rules with the function before.
  if (!concerned.empty() && (made.empty() || made.back()->all != concerned))
    made.push_back(std::make_unique<rules_of_slot>(concerned));
  s.rules.store(concerned.empty() ? nullptr : made.back().get());
  set_entry_of_slot(index);
}

void set_entry_of_slot(std::uint32_t index) {
  const slot& s = slots[index];
  void* real = s.real;
  const bool accounted = is_accounted(s.memory.role) && budgets_in_use();
  const bool ordinary = s.is == role::ordinary || (s.is != role::look_up && !last_errors_exist());
  const bool direct = s.rules == nullptr && s.numbered == nullptr && ordinary && real != nullptr &&
                      !accounted && !each_call_told && !sticky_errors_exist();
  void* entry = direct ? real : reinterpret_cast<void*>(cufault_armed);
  if (direct && captures(s.of)) {
    entry = reinterpret_cast<void*>(cufault_armed);
  } else if (direct && s.is == role::ordinary && watching() && !is_asked_often(s)) {
#if defined(__x86_64__)
    cufault_reals[index].store(real, std::memory_order_release);
    entry = reinterpret_cast<void*>(cufault_watched);
#else
    entry = reinterpret_cast<void*>(cufault_armed);
#endif
  }
  cufault_entries[index].store(entry, std::memory_order_release);
}

void arm_all_slots() {
  for (std::uint32_t i = 0; i < used_slots; ++i)
    cufault_entries[i].store(reinterpret_cast<void*>(cufault_armed), std::memory_order_release);
}

void add_unwrapped(state& w, const char* function) {
  const std::string name = quoted(function);
  for (const auto& known : w.unwrapped)
    if (known.json == name) return;
  unwrapped = &w.unwrapped.emplace_back(unwrapped_name{name, unwrapped});
}

const active_rules* current_rules() {
  return rules_now.load();
}

void replace_rules(const rule_set& rules, counts_of_rules counting) {
  if (needs_host_library(rules) && !host_library_is_loaded())
    throw input_error(
        "rules for functions of the host, and log_environment, need libcufault_host.so, which is not "
        "preloaded behind libcufault.so; "
        "`cufault inject` does that");
  refuse_rules_of_no_front(rules);
  const char* program = program_path();
  locked w;
  std::vector<const active_rule*> before;
  if (counting == counts_of_rules::go_on)
    for (const auto& r : current_rules()->all) before.push_back(r.get());
  auto next = std::make_unique<state::rule_generation>();
  active_rules& now = next->rules;
  std::vector<active_rule*> budgets;
  std::map<const active_rule*, const active_rule*> successors;
  std::set<std::uint64_t> streams;
  std::vector<active_rule*> without_stream;
  for (const rule& r : rules.rules) {
    auto& added = now.all.emplace_back(std::make_unique<active_rule>());
    added->what = r;
    added->number = static_cast<unsigned>(now.all.size() - 1);
    const auto same = std::find_if(before.begin(), before.end(), [&](const auto* b) { return b->what == r; });
    if (same != before.end()) {
      added->held = (*same)->held.load();
      added->acted = (*same)->acted.load();
      added->drawn = (*same)->drawn.load();
      added->stacks = (*same)->stacks;
      streams.insert(added->stream = (*same)->stream);
      successors.emplace(*same, added.get());
      before.erase(same);
    } else {
      without_stream.push_back(added.get());
    }
    added->here = matches_process(r, {file_name(program), file_name(program_invocation_name)}, environment);
    if (!added->here) continue;
    if (is_host_function(r.function)) now.host.push_back(added.get());
    if (r.does == effect::budget) budgets.push_back(added.get());
  }
  // Numbers the rules in order, so that equal rules draw equally in each run.
  std::uint64_t stream = 0;
  for (active_rule* r : without_stream) {
    while (streams.contains(stream)) ++stream;
    r->stream = stream++;
  }
  now.log_environment = rules.log_environment;
  set_budgets(budgets);
  w->replaced.push_back(std::exchange(w->current, std::move(next)));
  rules_now.store(&now);
  keep_sticky_errors_of(*w, successors);
  want_host_calls(now);
  for (std::uint32_t i = 0; i < used_slots; ++i) slots[i].numbered = nullptr;
  for (std::uint32_t i = 0; i < used_slots; ++i) update_slot(*w, i);
  free_replaced(*w);
}

bool acts_now(active_rule& r, std::uint64_t n) {
  return acts_on(r.what, n, r.stream) && (r.what.probability >= 1 || r.drawn++ < r.what.hits);
}

exempt_from_rules::exempt_from_rules() : errno_(errno) {
  ++alone;
}
exempt_from_rules::~exempt_from_rules() {
  --alone;
  errno = errno_;
}
bool exempt_from_rules::now() {
  return alone != 0;
}

const char* library_at(const void* address) {
  static constinit thread_local const char* last __attribute__((tls_model("initial-exec"))) = nullptr;
  const char* path = place_of(address).path;
  if (path == nullptr) return "(unloaded)";
  const char* name = file_name(path);
  if (last != nullptr && strcmp(last, name) == 0) return last;
  locked w;
  return last = w->names.insert(name).first->c_str();
}

const char* symbol_at(const void* address, const char* library) {
  const std::pair call{address, library};
  {
    locked w;
    if (const auto known = w->symbols.find(call); known != w->symbols.end()) return known->second;
  }
  // A search through all symbols under the loader's lock. After a call at the end of a function, the return address is behind it.
  Dl_info info{};
  const bool found = dladdr(static_cast<const char*>(address) - 1, &info) != 0 && info.dli_sname != nullptr;
  locked w;
  return w->symbols[call] = found ? w->names.insert(info.dli_sname).first->c_str() : nullptr;
}

std::uint32_t all_slots() {
  return used_slots;
}

const unwrapped_name* unwrapped_names() {
  return unwrapped;
}

void tell_each_call() {
  locked w;
  each_call_told = true;
  for (std::uint32_t i = 0; i < used_slots; ++i) update_slot(*w, i);
}

bool each_call_is_told() {
  return each_call_told;
}

}  // namespace cufault::injector
