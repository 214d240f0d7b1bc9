// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The way of a driver call through libcufault.so. Whoever resolves a driver function, by dlsym, cuGetProcAddress or a link, gets
// thunk i (thunks.S), of a slot of its own for each function and resolving library. The thunk counts and jumps to the driver;
// where a rule may hold it comes to cufault_intercept first. The environment's rules are read in environment.cpp, those of the process
// itself come in by interface.cpp.
// Arguments come as whole numbers, whatever they are.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "harness/injector/calls.hpp"

#include "harness/injector/driver_functions.hpp"
#include "harness/injector/thunks.h"

#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

constinit thread_local std::uint64_t* cufault_counts __attribute__((tls_model("initial-exec"))) = nullptr;

namespace cufault::injector {
namespace {

constexpr int shared_object_init_failed = 303;
constexpr int out_of_memory = 2;

struct rules_of_slot {
  std::vector<active_rule*> all;
  bool by_caller = false;
  /// Those that calls from one library can meet, found out at the first of them. Never freed, as all that calls in flight may read.
  struct of_caller {
    const char* library;
    std::vector<active_rule*> rules;
    const of_caller* next;
  };
  mutable std::atomic<const of_caller*> callers{nullptr};
};

enum class role : std::uint8_t { ordinary, look_up };

struct slot {
  std::atomic<void*> real{nullptr};
  const char* function = nullptr;
  const char* library = nullptr;  // the one that resolved it
  const char *function_json = nullptr, *resolver_json = nullptr;
  role is = role::ordinary;
  memory_function memory;
  std::atomic<const rules_of_slot*> rules{nullptr};
};
constinit std::array<slot, CUFAULT_SLOTS> slots{};

/// Counts of a thread. Given to the next thread when it ends; they are only ever summed.
struct thread_counts {
  std::array<std::uint64_t, CUFAULT_SLOTS> calls;
  thread_counts* next;       // of all
  thread_counts* next_idle;  // of those that no thread has
};

/// Everything that allocates. Made when first needed, never destroyed: other threads outlive exit().
struct world {
  std::map<std::pair<const void*, const char*>, std::uint32_t>
      slot_of;                         // the driver's address and the library
  std::set<std::string> names;         // what slots point to
  std::deque<active_rules> rule_sets;  // the last one holds
  std::deque<rules_of_slot> rules_of_slots;
  std::deque<unwrapped_name> unwrapped;
  thread_counts* idle_counts = nullptr;
};

constinit pthread_mutex_t world_mutex = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<world*> the_world{nullptr};
constinit std::atomic<const active_rules*> rules_now{nullptr};
// What is told when the process ends, wherever it is then.
constinit std::atomic<std::uint32_t> used{0};  // slots that have a name
constinit std::atomic<thread_counts*> counts{nullptr};
constinit std::atomic<const unwrapped_name*> unwrapped{nullptr};
constinit std::atomic<pid_t> process{0};
constinit std::atomic<bool> told{false};  // each call is told when it comes
constinit std::atomic<std::uint64_t> injections{0};
constinit std::atomic<unsigned> threads{0};
constinit pthread_key_t end_of_thread{};

constinit thread_local int alone __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local unsigned thread_number __attribute__((tls_model("initial-exec"))) = 0;

/// The world's mutex, and this thread left alone.
class locked {
 public:
  locked() {
    pthread_mutex_lock(&world_mutex);
    if (the_world == nullptr) begin();
  }
  ~locked() { pthread_mutex_unlock(&world_mutex); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  world* operator->() { return the_world; }
  world& operator*() { return *the_world; }

 private:
  static void begin();
  left_alone alone_;
};

// It throws nothing, or the call of it could not be a jump.
using dlsym_function = void*(void* library, const char* name) noexcept;
dlsym_function* real_dlsym() {
  static constinit std::atomic<void*> known{nullptr};
  // The oldest version; newer C libraries keep it.
#if defined(__x86_64__)
  constexpr const char* version = "GLIBC_2.2.5";
#else
  constexpr const char* version = "GLIBC_2.17";
#endif
  if (known == nullptr) known = dlvsym(RTLD_NEXT, "dlsym", version);
  return reinterpret_cast<dlsym_function*>(known.load());
}

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool is_driver(const char* path) {
  return strncmp(file_name(path), "libcuda.so", 10) == 0;
}

/// dladdr looks at every symbol of the library for the nearest one; a C library that can do without is asked so.
const char* path_of_library_at(void* address) {
#if __GLIBC_PREREQ(2, 35)
  dl_find_object found{};
  return _dl_find_object(address, &found) == 0 ? found.dlfo_link_map->l_name : nullptr;
#else
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
#endif
}

bool is_thunk(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(&cufault_thunks);
  return at >= begin && at < begin + sizeof cufault_thunks;
}

void* thunk(std::uint32_t index) {
  return &cufault_thunks[index];
}

// ---- rules ----

void arm(world& w, std::uint32_t index) {
  slot& s = slots[index];
  const active_rules* now = rules_now;
  rules_of_slot& mine = w.rules_of_slots.emplace_back();
  for (const auto& r : now->all) {
    if (!matches_function(r->what.function, s.function)) continue;
    if (r->what.does == effect::fail && !r->what.force && !can_return(s.function, r->what.code)) continue;
    if (r->what.does == effect::hide) continue;  // looked for by name, in look_up
    if (r->what.does == effect::budget && s.memory.role == memory_role::none) continue;
    if (r->what.sized && s.memory.bytes == nullptr) continue;
    mine.all.push_back(r.get());
    mine.by_caller |= !r->what.caller.empty();
  }
  const rules_of_slot* armed = mine.all.empty() ? nullptr : &mine;
  if (armed == nullptr) w.rules_of_slots.pop_back();
  s.rules.store(armed, std::memory_order_release);
  void* real = s.real;
  const bool accounted = s.memory.role == memory_role::releases && budgets_in_use();
  const bool direct = armed == nullptr && s.is == role::ordinary && real != nullptr && !accounted && !told;
  cufault_entries[index].store(direct ? real : reinterpret_cast<void*>(cufault_armed),
                               std::memory_order_release);
}

std::string quoted(const char* text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// The next one.
void name_slot(world& w, const char* function, const char* library) {
  const auto kept = [&](std::string text) { return w.names.insert(std::move(text)).first->c_str(); };
  slot& s = slots[used];
  s.function = kept(function);
  s.library = library;
  s.function_json = kept(quoted(function));
  s.resolver_json = kept(quoted(library));
  s.memory = memory_function_of(s.function);
  if (without_suffix(s.function) == "cuGetProcAddress") s.is = role::look_up;
  ++used;
}

void add_unwrapped(world& w, const char* function) {
  const std::string name = quoted(function);
  for (const auto& known : w.unwrapped)
    if (known.json == name) return;
  unwrapped = &w.unwrapped.emplace_back(unwrapped_name{name, unwrapped});
}

// ---- threads ----

void thread_ended(void* counts_of_thread) {
  cufault_counts = nullptr;  // a later call of this thread begins anew
  locked w;
  auto* mine = static_cast<thread_counts*>(counts_of_thread);
  mine->next_idle = w->idle_counts;
  w->idle_counts = mine;
}

void begin_thread() {
  thread_counts* mine = nullptr;
  {
    locked w;
    if (w->idle_counts != nullptr) {
      mine = w->idle_counts;
      w->idle_counts = mine->next_idle;
    } else {
      void* pages = mmap(nullptr, sizeof(thread_counts), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (pages == MAP_FAILED) return;
      mine = static_cast<thread_counts*>(pages);
      mine->next = counts;
      counts = mine;
    }
  }
  if (thread_number == 0) thread_number = ++threads;
  pthread_setspecific(end_of_thread, mine);
  cufault_counts = mine->calls.data();
}

/// Handlers of others come behind this one, and are left alone while the mutex is held.
void before_fork() {
  pthread_mutex_lock(&world_mutex);
  ++alone;
  hold_budgets_for_fork();
}
void after_fork_in_parent() {
  go_on_with_budgets();
  --alone;
  pthread_mutex_unlock(&world_mutex);
}
/// The child counts its own calls, and has this thread alone, which begins anew: its rules are to be watched too.
void after_fork_in_child() {
  world& w = *the_world;
  w.idle_counts = nullptr;
  for (thread_counts* each = counts; each != nullptr; each = each->next) {
    memset(&each->calls, 0, sizeof each->calls);
    each->next_idle = w.idle_counts;
    w.idle_counts = each;
  }
  cufault_counts = nullptr;
  pthread_setspecific(end_of_thread, nullptr);
  injections = 0;
  process = getpid();
  go_on_with_budgets();
  --alone;
  pthread_mutex_unlock(&world_mutex);
}

void locked::begin() {
  auto* w = new world;
  rules_now = &w->rule_sets.emplace_back();
  for (const driver_function& f : driver_functions()) name_slot(*w, f.name, "(linked)");
  for (std::uint32_t i = 0; i < used; ++i) arm(*w, i);
  process = getpid();
  the_world = w;
  pthread_key_create(&end_of_thread, thread_ended);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  at_quick_exit(report_counts);
}

// ---- resolving ----

/// A driver that functions were resolved from stays loaded, whoever closes it: thunks lead to where it is, and another library there would
/// be taken for it.
void keep_loaded(const Dl_info& driver) {
  static constinit std::atomic<void*> kept{nullptr};  // the last one: hardly any process has two
  if (kept.exchange(driver.dli_fbase) == driver.dli_fbase) return;
  const left_alone alone_now;
  dlopen(driver.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// What a library gets instead of the driver's function.
void* wrapped(void* real, const char* asked, const char* library) {
  if (real == nullptr || is_thunk(real)) return real;
  Dl_info info{};
  const bool found = dladdr(real, &info) != 0;
  const bool exact = found && info.dli_sname != nullptr && info.dli_saddr == real;
  if (found) keep_loaded(info);
  locked w;
  if (strcmp(asked, "cuGetExportTable") == 0) {  // tables of functions without names
    add_unwrapped(*w, asked);
    return real;
  }
  const auto [known, is_new] = w->slot_of.try_emplace({real, library}, used);
  if (is_new) {
    const std::uint32_t index = used;
    if (index == slots.size()) {
      w->slot_of.erase(known);
      add_unwrapped(*w, asked);
      return real;
    }
    slots[index].real = real;
    name_slot(*w, exact ? info.dli_sname : asked, library);
    arm(*w, index);
  }
  return thunk(known->second);
}

/// RTLD_NEXT means: after the library that asks, not after this one.
void* after(const void* caller, const char* name) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return nullptr;
  for (map = map->l_next; map != nullptr; map = map->l_next) {
    void* found = real_dlsym()(map, name);
    // A library's look-up goes on in those that it needs; only its own counts here.
    Dl_info where{};
    if (found != nullptr && dladdr(found, &where) != 0 &&
        where.dli_fbase == reinterpret_cast<void*>(map->l_addr))
      return found;
  }
  return nullptr;
}

/// The function that a program linked against: whatever would be found were this library not there, or else the driver's.
/// The loader is asked before the mutex is taken: a thread inside of the loader may be waiting for that.
void* resolve_linked(std::uint32_t index) {
  slot& s = slots[index];
  const left_alone alone_now;
  void* next = next_definition(s.function);
  if (next == nullptr) next = driver_function_at(s.function);
  if (Dl_info info{}; next != nullptr && dladdr(next, &info) != 0) keep_loaded(info);
  locked w;
  if (s.real == nullptr) {
    s.real = next;
    arm(*w, index);
  }
  return s.real;
}

const char* or_hidden(const char* symbol, const call_facts& asker) {
  for (const auto& r : current_rules()->all) {
    if (r->what.does != effect::hide || !matches_function(r->what.function, symbol) ||
        !holds_for(r->what, asker))
      continue;
    const auto n = ++r->held;
    if (!acts_on(r->what, n)) continue;
    count_injection(*r);
    call_facts call = asker;
    call.function = symbol;
    report_injection(*r, call, n, nullptr);
    return "cufaultHiddenEntry";  // the driver then gives its own answer for what it does not have
  }
  return symbol;
}

std::int64_t look_up(void* real, call_frame* frame, const call_facts& asker) {
  const auto* symbol = reinterpret_cast<const char*>(frame->integers[0]);
  auto** found = reinterpret_cast<void**>(frame->integers[1]);
  if (symbol == nullptr || *symbol == '\0') return cufault_forward(real, frame);  // a probe
  frame->integers[0] = reinterpret_cast<std::uintptr_t>(or_hidden(symbol, asker));
  const auto result = static_cast<int>(cufault_forward(real, frame));
  if (result == 0 && found != nullptr) *found = wrapped(*found, symbol, library_at(frame->caller));
  return result;
}

// ---- a call that a rule may hold for ----

std::optional<int> current_device() {
  static constinit std::atomic<void*> function{nullptr};
  if (function == nullptr) function = driver_function_at("cuCtxGetDevice");
  int device = 0;
  auto* ask = reinterpret_cast<int (*)(int*)>(function.load());
  if (ask == nullptr || ask(&device) != 0) return std::nullopt;
  return device;
}

void wait(std::chrono::milliseconds time) {
  timespec rest{time.count() / 1000, time.count() % 1000 * 1'000'000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
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

/// What rules let a call come to.
struct sentence {
  std::optional<int> instead;     // the call is not made
  active_rule* behind = nullptr;  // it is made, and this comes after it
  std::uint64_t ordinal = 0;      // of `behind`
  bool budgeted = false;          // the ledger of budgets is asked
};

sentence judge(const rules_of_slot& rules, const call_frame& frame, call_facts& call) {
  sentence s;
  bool decided = false;  // each rule counts the call, whatever another one makes of it
  const char* library = rules.by_caller ? library_at(frame.caller) : "";
  for (active_rule* r : rules_for(rules, library)) {
    if (r->what.device && !call.device) call.device = current_device();
    if (!holds_for_any_caller(r->what, call)) continue;
    if (call.caller.empty()) call.caller = rules.by_caller ? library : library_at(frame.caller);
    if (r->what.does == effect::budget) {
      s.budgeted = true;
      continue;
    }
    const auto n = ++r->held;
    if (decided || !acts_on(r->what, n)) continue;
    if (r->what.does == effect::trap || r->what.does == effect::device_assert) {
      if (const int code = start_faulty_kernel(r->what.does == effect::trap); code != 0) {
        report_no_injection(*r, call, n, code);
        continue;
      }
    }
    count_injection(*r);
    if (r->what.after || r->what.does == effect::driver_version) {
      s.behind = r;
      s.ordinal = n;
      decided = true;
      continue;
    }
    report_injection(*r, call, n, nullptr);
    switch (r->what.does) {
      case effect::fail:
        s.instead = r->what.code;
        decided = true;
        break;
      case effect::delay:
        wait(r->what.delay);
        break;
      default:
        break;
    }
  }
  return s;
}

/// Allocations beyond a budget fail, and the driver tells what is left of it.
std::int64_t within_budgets(const slot& s, void* real, call_frame* frame, call_facts call) {
  const auto address_at = [&](int argument) {
    return *reinterpret_cast<const std::uint64_t*>(frame->integers[static_cast<std::size_t>(argument)]);
  };
  switch (s.memory.role) {
    case memory_role::allocates: {
      if (const left_alone alone_now; !call.device)
        call.device = current_device();  // for budgets to come, too
      const budget_claim claim(call);
      if (active_rule* r = claim.refused_by(); r != nullptr) {
        count_injection(*r);
        report_injection(*r, call, r->acted, nullptr);
        return out_of_memory;
      }
      const auto result = cufault_forward(real, frame);
      if (static_cast<int>(result) == 0)
        claim.succeeded(address_at(0));
      else
        claim.failed();
      return result;
    }
    case memory_role::releases: {
      const std::uint64_t address = frame->integers[0];
      const auto number = budgeted_at(address);  // once it is free another thread may get it
      const auto result = cufault_forward(real, frame);
      if (static_cast<int>(result) == 0) budget_release(address, number);
      return result;
    }
    case memory_role::tells: {
      const auto result = cufault_forward(real, frame);
      auto* free_bytes = reinterpret_cast<std::uint64_t*>(frame->integers[0]);
      if (static_cast<int>(result) == 0 && free_bytes != nullptr)
        *free_bytes = budget_left(call, *free_bytes);
      return result;
    }
    default:
      return cufault_forward(real, frame);
  }
}

/// After the call: its caller is told otherwise, or a version.
std::int64_t told_otherwise(const active_rule& r, std::uint64_t ordinal, std::int64_t result,
                            const call_frame* frame, const call_facts& call) {
  const int really = static_cast<int>(result);
  report_injection(r, call, ordinal, &really);
  if (r.what.does == effect::fail) return really == 0 ? r.what.code : result;
  auto* version = reinterpret_cast<int*>(frame->integers[0]);
  if (really == 0 && version != nullptr) *version = r.what.driver_version;
  return result;
}

}  // namespace

void count_injection(active_rule& r) {
  ++r.acted;
  ++injections;
}

std::uint64_t all_injections() {
  return injections;
}

const active_rules* current_rules() {
  return rules_now.load(std::memory_order_acquire);
}

void replace_rules(const rule_set& rules, counts_of_rules counting) {
  locked w;
  std::vector<const active_rule*> before;
  if (counting == counts_of_rules::go_on)
    for (const auto& r : current_rules()->all) before.push_back(r.get());
  active_rules& now = w->rule_sets.emplace_back();
  std::vector<active_rule*> budgets;
  for (const rule& r : rules.rules) {
    auto& added = now.all.emplace_back(std::make_unique<active_rule>());
    added->what = r;
    added->number = static_cast<unsigned>(now.all.size() - 1);
    const auto same = std::find_if(before.begin(), before.end(), [&](const auto* b) { return b->what == r; });
    if (same != before.end()) {
      added->held = (*same)->held.load();
      added->acted = (*same)->acted.load();
      before.erase(same);
    }
    if (is_host_function(r.function)) now.host.push_back(added.get());
    if (r.does == effect::budget) budgets.push_back(added.get());
  }
  now.log_environment = rules.log_environment;
  set_budgets(budgets);
  rules_now.store(&now, std::memory_order_release);
  for (std::uint32_t i = 0; i < used; ++i) arm(*w, i);
}

left_alone::left_alone() : errno_(errno) {
  ++alone;
}
left_alone::~left_alone() {
  --alone;
  errno = errno_;
}
bool left_alone::now() {
  return alone != 0;
}

const char* library_at(const void* address) {
  static constinit thread_local const char* last __attribute__((tls_model("initial-exec"))) = nullptr;
  const char* path = path_of_library_at(const_cast<void*>(address));
  if (path == nullptr) return "(unloaded)";
  // The program itself has an empty name, or the one that it was started by.
  const char* name = file_name(*path != '\0' ? path : program_invocation_name);
  if (last != nullptr && strcmp(last, name) == 0) return last;
  locked w;
  return last = w->names.insert(name).first->c_str();
}

unsigned this_thread_number() {
  return thread_number;
}

void* driver_function_at(const char* name) {
  // The one that is loaded already, by whatever path, before the one that the loader would take.
  static constinit std::atomic<void*> driver{nullptr};
  const left_alone alone_now;
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_LAZY);
  return driver != nullptr ? real_dlsym()(driver, name) : nullptr;
}

void* next_definition(const char* name) {
  return real_dlsym()(RTLD_NEXT, name);
}

std::uint32_t all_slots() {
  return used;
}

call_count count_of(std::uint32_t index) {
  const slot& s = slots[index];
  std::uint64_t calls = 0;
  for (const thread_counts* each = counts; each != nullptr; each = each->next)
    calls += __atomic_load_n(&each->calls[index], __ATOMIC_RELAXED);
  return {s.function, s.function_json, s.resolver_json, calls};
}

const unwrapped_name* unwrapped_names() {
  return unwrapped;
}

bool counts_are_of_this_process() {
  return process == getpid();
}

void tell_each_call() {
  locked w;
  told = true;
  for (std::uint32_t i = 0; i < used; ++i) arm(*w, i);
}

void* resolved(void* library, const char* name, const void* caller) {
  read_environment();
  void* real = library == RTLD_NEXT ? after(caller, name) : real_dlsym()(library, name);
  if (real == nullptr || is_thunk(real)) return real;
  Dl_info info{};
  if (dladdr(real, &info) == 0 || info.dli_fname == nullptr || !is_driver(info.dli_fname)) return real;
  return wrapped(real, name, library_at(caller));
}

}  // namespace cufault::injector

using namespace cufault;
using namespace cufault::injector;

std::int64_t cufault_intercept(std::uint32_t index, call_frame* frame, bool first) {
  slot& s = slots[index];
  read_environment();
  if (left_alone::now()) {
    void* real = s.real != nullptr ? s.real.load() : resolve_linked(index);
    return real != nullptr ? cufault_forward(real, frame) : shared_object_init_failed;
  }
  if (first) {
    begin_thread();
    watch_rules();
    if (cufault_counts != nullptr) ++cufault_counts[index];
  }
  if (told) report_late_call(index);
  void* real = s.real;
  if (real == nullptr && (real = resolve_linked(index)) == nullptr) return shared_object_init_failed;
  const rules_of_slot* rules = s.rules.load(std::memory_order_acquire);
  const bool accounted = s.memory.role == memory_role::releases && budgets_in_use();
  if (rules == nullptr && s.is == role::ordinary && !accounted) return cufault_forward(real, frame);

  call_facts call{.function = s.function, .caller = {}, .thread = thread_number};
  if (s.is == role::look_up) call.caller = library_at(frame->caller);
  if (s.memory.bytes != nullptr) call.bytes = s.memory.bytes(frame->integers.data());
  sentence what;
  if (rules != nullptr) {
    const left_alone alone_now;
    what = judge(*rules, *frame, call);
  }
  if (what.instead) return *what.instead;
  const auto result = s.is == role::look_up        ? look_up(real, frame, call)
                      : what.budgeted || accounted ? within_budgets(s, real, frame, call)
                                                   : cufault_forward(real, frame);
  return what.behind != nullptr ? told_otherwise(*what.behind, what.ordinal, result, frame, call) : result;
}

namespace {

/// Out of sight of the declaration in dlfcn.h, by which a name is never null.
bool is_driver_name(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

}  // namespace

// A driver's name is looked up here. For any other the last call must be a jump: the real one looks at its caller's address to know
// what RTLD_NEXT means.
CUFAULT_EXPORTED void* dlsym(void* library, const char* name) noexcept {
  if (is_driver_name(name) && !left_alone::now()) return resolved(library, name, __builtin_return_address(0));
  return real_dlsym()(library, name);
}
// NOLINTEND(performance-no-int-to-ptr)
