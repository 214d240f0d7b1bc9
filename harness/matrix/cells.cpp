// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

namespace cufault {
namespace {

/// Trials of a cell whose operation races with its fault.
constexpr int racing_trials = 10;

/// Trials of a cell whose fault has no defined outcome.
constexpr int undefined_trials = 5;

/// Limit for a trial. The first trial of a shared process makes all operations ready, which takes seconds; a hang costs the run this long.
constexpr std::chrono::seconds cell_timeout{30};

std::vector<timing> timings_of(const fault_type& f) {
  return f.timings.empty() ? std::vector{timing::none} : f.timings;
}

std::vector<std::optional<std::int64_t>> levels_of(const fault_type& f) {
  if (f.levels.empty()) return {std::nullopt};
  return {f.levels.begin(), f.levels.end()};
}

/// Cells of an operation without a remedy, in the order in which the quick tier rotates through them.
std::vector<cell> plain_cells_of(const fault_type& f, const operation_type& o) {
  std::vector<cell> all;
  for (const timing when : timings_of(f)) {
    if (when == timing::racing && !o.representative) continue;  // racing cells take many trials
    for (const auto& level : levels_of(f))
      for (const handle_state state : {handle_state::cold, handle_state::warm}) {
        // Faults that come first have no warm cells.
        if (state == handle_state::warm && (f.before_context || f.before_operation)) continue;
        all.push_back({&f, &o, state, when, level, nullptr});
      }
  }
  return all;
}

bool same_but_for_the_remedy(const cell& a, const cell& b) {
  return a.fault == b.fault && a.operation == b.operation && a.state == b.state && a.when == b.when &&
         a.level == b.level;
}

/// True for remedies that need a process, and diagnoses: the fault happens once for all cells of a shared process. Under a lasting fault
/// also for operations that are apart, and for cold cells of a fault with cold_apart.
bool has_own_process(const cell& c) {
  if (c.remedy != nullptr && (c.remedy->own_process || c.remedy->new_process || c.remedy->diagnosis))
    return true;
  return c.fault->cells == isolation::lasting &&
         (c.operation->apart || (c.fault->cold_apart && c.state == handle_state::cold));
}

/// Key of cells that run one after another in a process; "" for other cells.
std::string batch_of(const cell& c) {
  if (c.fault->cells != isolation::lasting || has_own_process(c)) return {};
  if (c.when == timing::racing || c.when == timing::arrived) return {};
  cell_name common = name_of(c);
  common.operation = c.fault->name;
  return to_string(common);
}

bool shares_process(const cell& c) {
  return !batch_of(c).empty() || (c.fault->cells == isolation::undone && !has_own_process(c));
}

/// True if the operation allocates more managed memory than fits in the device.
bool exceeds_device_memory(const cell& c) {
  return c.operation->takes_managed_memory && c.fault->fills_device && c.level.value_or(0) == 0;
}

test_tier tier_of_seconds(const cell& c) {
  const bool of_quick = c.operation->name == c.fault->quick_operation, plain = c.remedy == nullptr;
  // Take the last timing: there the error arrived before the operation.
  const bool is_last = c.when == timings_of(*c.fault).back() && c.level == levels_of(*c.fault).front();
  if (of_quick && plain && c.state == handle_state::warm && is_last) return test_tier::quick;
  return of_quick || (plain && shares_process(c)) ? test_tier::full : test_tier::nightly;
}

std::string words_of(const cell& c) {
  std::string text = fmt::format("{}; {}, {}", c.fault->summary, c.operation->summary, to_string(c.state));
  if (c.when != timing::none) text += ", " + to_string(c.when);
  if (c.level) text += fmt::format(", {} {}", *c.level, c.fault->unit);
  if (c.remedy != nullptr) text += fmt::format("; {}", c.remedy->words);
  return text;
}

arm& add(failure_case& to, const cell& c, const vocabulary& v) {
  const cell_name name = name_of(c);
  const arm_kind kind = c.remedy == nullptr   ? arm_kind::fault
                        : c.remedy->diagnosis ? arm_kind::diagnosis
                                              : arm_kind::remedy;
  arm& a =
      to.add(to_string(name), kind, words_of(c), [c, &all = v.operations](trial& t) { run_cell(t, c, all); });
  if (c.fault->arrange) c.fault->arrange(a);
  for (const auto& [variable, value] : c.fault->environment) a.environment[variable] = value;
  if (c.remedy != nullptr) {
    for (const auto& [variable, value] : c.remedy->environment) a.environment[variable] = value;
    if (c.remedy->in_place()) {
      cell_name without = name;
      without.remedy.clear();
      a.against = to_string(without);
    }
  }
  if (c.when == timing::racing) {
    a.repeats = racing_trials;
    a.races = "the kernel breaks while the operation is made";
    a.rate_depends_on_load = true;
  }
  a.timeout = cell_timeout;
  a.under_mps = c.fault->under_mps;
  if (!c.fault->undefined.empty()) {
    a.repeats = undefined_trials;
    a.races = c.fault->undefined;
    a.undefined = true;
  }
  a.batch = batch_of(c);
  a.shares_process = shares_process(c);
  a.tier = tier_of(c, v.operations);
  return a;
}

}  // namespace

cell_name name_of(const cell& c) {
  return {c.operation->name, to_string(c.state), to_string(c.when), c.level,
          c.remedy == nullptr ? std::string() : c.remedy->name};
}

std::string why_not(const fault_type& f, const operation_type& o) {
  if (f.before_context && o.needs_context) return "it needs a context before it";
  if (f.takes_seconds && !o.representative) return "a cell takes seconds, and it is not representative";
  if (!f.acts_on.empty() && std::ranges::find(f.acts_on, o.handle) == f.acts_on.end())
    return "it has no handle of its own of the kind";
  return f.no_sense_with ? f.no_sense_with(o) : std::string();
}

std::vector<cell> cells_of(const fault_type& f, const vocabulary& v) {
  std::vector<cell> all;
  for (const operation_type& o : v.operations)
    if (why_not(f, o).empty()) std::ranges::copy(plain_cells_of(f, o), std::back_inserter(all));
  const std::vector<cell> plain = all;
  for (const remedy_type& r : v.remedies) {
    if (!answers(r, f)) continue;
    for (cell c : plain) {
      if (c.when == timing::racing) continue;  // random outcomes cannot be compared
      if (r.instead != nullptr && (c.operation->*r.instead).empty()) continue;
      c.remedy = &r;
      all.push_back(c);
    }
  }
  return all;
}

test_tier tier_of(const cell& c, const std::vector<operation_type>& operations) {
  if (exceeds_device_memory(c)) return test_tier::named;
  if (c.fault->takes_seconds) return tier_of_seconds(c);
  if (c.remedy != nullptr) return c.operation->representative ? test_tier::full : test_tier::nightly;
  if (c.when == timing::racing) return test_tier::nightly;
  // With a process for each cell these would take minutes: the driver makes few contexts a second.
  if (!shares_process(c) || !c.fault->undefined.empty()) return test_tier::full;
  std::vector<cell> turns = plain_cells_of(*c.fault, *c.operation);
  std::erase_if(turns, [](const cell& one) { return !shares_process(one) || exceeds_device_memory(one); });
  const auto number =
      std::ranges::find(operations, c.operation->name, &operation_type::name) - operations.begin();
  const cell& its_turn = turns[static_cast<std::size_t>(number) % turns.size()];
  return same_but_for_the_remedy(c, its_turn) ? test_tier::quick : test_tier::full;
}

const step_library* own_library_of(const operation_type& o) {
  const auto found = std::ranges::find(step_libraries, library_of(o.step.api), &step_library::key);
  return found == std::end(step_libraries) || found->binding != library_binding::own ? nullptr : found;
}

failure_case case_of(const fault_type& f, const vocabulary& v) {
  failure_case c;
  c.name = std::string(matrix_family) + f.name;
  c.summary = f.summary;
  c.failures = f.failures;
  c.made_up = f.made_up;
  c.memory = f.memory;
  std::set<const step_library*> libraries;
  for (const operation_type& o : v.operations) libraries.insert(own_library_of(o));
  for (const step_library* const library : libraries) {
    arm& control =
        c.add(library == nullptr ? "control" : fmt::format("control_{}", library->key), arm_kind::control,
              fmt::format("every operation{}, cold and then warm, and no fault",
                          library == nullptr ? "" : fmt::format(" of {}", library->title)),
              [&f, &all = v.operations, library](trial& t) { run_control(t, f, all, library); });
    if (f.arrange) f.arrange(control);
    if (f.provoke || f.around)  // other faults consist of variables only
      for (const auto& [variable, value] : f.environment) control.environment[variable] = value;
    control.tier = test_tier::quick;
    control.under_mps = f.under_mps;
    control.shares_process = !f.arrange;
  }
  for (const cell& one : cells_of(f, v)) add(c, one, v);
  return c;
}

}  // namespace cufault
