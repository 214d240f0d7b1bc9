// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/fault.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/model/errors.hpp"
#include "harness/model/registry.hpp"

#include <algorithm>
#include <utility>

namespace cufault {

std::string to_string(timing t) {
  constexpr const char* as_timing_lists_them[]{"", "racing", "arrived", "synchronised"};
  return as_timing_lists_them[static_cast<std::size_t>(t)];
}

std::string to_string(handle_state s) {
  return s == handle_state::cold ? "cold" : "warm";
}

// ---- faults ----

const std::vector<fault_type>& all_faults() {
  return registry<fault_type>::all();
}

std::string defect_of(const fault_type& f) {
  if (!is_word(f.name)) return "its name is not of a-z, 0-9 and '_'";
  if (!is_word(f.kind)) return "its kind is not of a-z, 0-9 and '_'";
  if (!f.provoke && !f.around && f.environment.empty()) return "nothing brings it about";
  if (f.cells == isolation::lasting && (f.around || f.before_context))
    return "it is lasting, which goes neither with around nor with before_context";
  if (f.cold_apart && f.cells != isolation::lasting) return "cold_apart goes with a lasting fault only";
  if (f.arrange && f.cells != isolation::process) return "it arranges arms, which then share no process";
  if (std::adjacent_find(f.levels.begin(), f.levels.end(), std::greater_equal<>()) != f.levels.end())
    return "its levels do not ascend";
  if (!f.levels.empty() && f.levels.front() < 0) return "a level of it is negative";
  if (f.fills_device && f.memory != memory_class::exclusive)
    return "fills_device goes with exclusive memory only";
  if (f.fills_device && !f.levels.empty() && f.levels.front() != 0)
    return "fills_device needs level 0, or no levels";
  if (f.unit == "MiB free" && !f.fills_device && !f.levels.empty() && f.levels.front() == 0)
    return "at 0 MiB free it fills the device, and fills_device does not say so";
  if (f.takes_seconds == f.quick_operation.empty()) return "takes_seconds and quick_operation go together";
  if (f.under_mps && f.memory != memory_class::exclusive)
    return "it runs under MPS, and does not have the GPU to itself";
  if (f.levels.empty() != f.unit.empty()) return "its levels have no unit, or its unit no levels";
  return {};
}

register_faults::register_faults(std::initializer_list<fault_type> all) {
  for (const fault_type& each : all) registry<fault_type>::add("fault", each);
}

// ---- remedies ----

const std::vector<remedy_type>& all_remedies() {
  return registry<remedy_type>::all();
}

std::string defect_of(const remedy_type& r) {
  if (!is_word(r.name)) return "its name is not of a-z, 0-9 and '_'";
  if (r.words.empty()) return "it is not said in words";
  if (r.answers.empty()) return "it answers no kind of fault";
  if ((r.to_new || r.in_new_thread || r.instead != nullptr) && !r.new_operation)
    return "it says what a new operation is like, and makes none";
  if (r.process_ends && !r.new_process) return "it ends the process of the fault, and starts no other";
  if (r.at_restart && !r.new_process) return "it says what a new process begins with, and starts none";
  const bool afterwards = r.after || r.new_operation || r.new_process;
  if (r.in_place() == afterwards)
    return "it must be in place from the start, or done afterwards, and not both";
  if (r.diagnosis && !r.in_place()) return "a diagnosis must be in place from the start";
  return {};
}

bool answers(const remedy_type& r, const fault_type& f) {
  if (std::ranges::find(r.answers, f.kind) == r.answers.end()) return false;
  if (r.before && f.before_context) return false;  // there is no operation for it yet
  if (r.environment.empty()) return true;
  // A remedy that sets what is already set would repeat a cell without a remedy.
  arm usual = failure_case().add("", arm_kind::control, "", {});
  for (const auto& [name, value] : f.environment) usual.environment[name] = value;
  return std::ranges::any_of(r.environment,
                             [&](const auto& set) { return usual.environment[set.first] != set.second; });
}

register_remedies::register_remedies(std::initializer_list<remedy_type> all) {
  for (const remedy_type& each : all) registry<remedy_type>::add("remedy", each);
}

// ---- the world ----

std::int64_t world::level() const {
  if (!level_) throw setup_failed("the fault has no levels, and asks for one");
  return *level_;
}

operation& world::of_cell() const {
  if (operation_ == nullptr) throw setup_failed("the fault is lasting, and asks for the operation of a cell");
  return *operation_;
}

cublasHandle_t world::handle() const {
  cublasHandle_t const handle = of_cell().handle();
  if (handle == nullptr) throw not_provoked("the operation has no cuBLAS handle of its own");
  return handle;
}

void world::undo() {
  if (!undo_) throw not_provoked("this fault cannot be undone");
  undo_();
}

void world::let_go() {
  while (!kept_.empty()) kept_.pop_back();
  undo_ = {};
  renew_ = {};
}

}  // namespace cufault
