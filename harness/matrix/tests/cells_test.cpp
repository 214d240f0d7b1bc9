// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/cells.hpp"

#include "harness/matrix/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace cufault {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

operation_type operation_called(const std::string& name, bool representative, bool needs_context = true) {
  operation_type o;
  o.name = name;
  o.step = {"cublasSgemm", name};
  o.summary = "a product";
  o.fresh = []() -> std::unique_ptr<operation> { return nullptr; };
  o.needs_context = needs_context;
  o.representative = representative;
  return o;
}

struct words {
  std::vector<operation_type> operations{operation_called("alone", false, false),
                                         operation_called("first", true), operation_called("second", false)};
  std::vector<remedy_type> remedies{
      {.name = "again", .words = "again", .answers = {"trap"}, .after = [](world&) {}},
      {.name = "blocking", .words = "blocking launches", .answers = {"trap"}, .environment = {{"A", "1"}}},
      {.name = "free", .words = "free", .answers = {"memory"}, .after = [](world& w) { w.undo(); }}};
  [[nodiscard]] vocabulary all() const { return {operations, remedies}; }
};

fault_type trap() {
  return {.name = "trap",
          .summary = "a kernel traps",
          .kind = "trap",
          .timings = {timing::arrived, timing::synchronised},
          .cells = isolation::lasting,
          .provoke = [](world&) {}};
}

/// A fault like those of a full device.
fault_type full_device() {
  fault_type f = trap();
  f.kind = "memory";
  f.timings.clear();
  f.levels = {0, 64};
  f.unit = "MiB free";
  f.cold_apart = true;
  f.fills_device = true;
  f.memory = memory_class::exclusive;
  return f;
}

std::vector<std::string> names_of(const std::vector<cell>& cells) {
  std::vector<std::string> names;
  for (const cell& c : cells) names.push_back(to_string(name_of(c)));
  return names;
}

const arm& arm_of(const failure_case& c, const std::string& name) {
  return *std::ranges::find(c.arms, name, &arm::name);
}

TEST(cells, are_every_operation_state_timing_and_level) {
  const words w;
  fault_type f = trap();
  f.kind = "nothing answers it";
  EXPECT_EQ(cells_of(f, w.all()).size(), 3U * 2 * 2);
  f.timings.clear();
  f.levels = {0, 64};
  f.unit = "MiB free";
  EXPECT_THAT(names_of(cells_of(f, w.all())),
              IsSupersetOf({"alone.cold.0", "alone.warm.64", "second.cold.64", "first.warm.0"}));
  EXPECT_EQ(cells_of(f, w.all()).size(), 3U * 2 * 2);
}

TEST(cells, have_each_remedy_that_answers_the_kind_of_the_fault) {
  const words w;
  const auto names = names_of(cells_of(trap(), w.all()));
  EXPECT_EQ(names.size(), 12U * 3);
  EXPECT_THAT(names, Contains("first.cold.arrived+again"));
  EXPECT_THAT(names, Contains("first.cold.arrived+blocking"));
  EXPECT_THAT(names, Not(Contains(HasSubstr("+free"))));
}

TEST(cells, are_not_made_of_what_makes_no_sense) {
  const words w;
  fault_type f = trap();
  f.cells = isolation::process;
  f.before_context = true;
  for (const cell& c : cells_of(f, w.all())) EXPECT_EQ(c.operation->name, "alone");
  EXPECT_EQ(why_not(f, w.operations[1]), "it needs a context before it");
  f.before_context = false;
  f.no_sense_with = [](const operation_type& o) { return o.name == "first" ? "no such thing" : ""; };
  EXPECT_EQ(why_not(f, w.operations[1]), "no such thing");
  for (const cell& c : cells_of(f, w.all())) EXPECT_NE(c.operation->name, "first");
}

TEST(cells, of_a_fault_that_acts_on_handles_are_of_operations_that_have_one) {
  words w;
  w.operations[0].handle = own_handle::none;
  w.operations[1].handle = own_handle::cublaslt;
  fault_type f = trap();
  EXPECT_EQ(why_not(f, w.operations[0]), "");
  f.acts_on = {own_handle::cublas};
  for (const cell& c : cells_of(f, w.all())) EXPECT_EQ(c.operation->name, "second");
  f.acts_on = {own_handle::cublas, own_handle::cublaslt};
  EXPECT_EQ(why_not(f, w.operations[1]), "");
  EXPECT_EQ(why_not(f, w.operations[0]), "it has no handle of its own of the kind");
}

TEST(cells, that_race_are_of_representative_operations_and_have_no_remedies) {
  const words w;
  fault_type f = trap();
  f.timings = {timing::racing};
  EXPECT_THAT(names_of(cells_of(f, w.all())), ElementsAre("first.cold.racing", "first.warm.racing"));
  const failure_case c = case_of(f, w.all());
  EXPECT_GT(arm_of(c, "first.cold.racing").repeats, 1);
  EXPECT_NE(arm_of(c, "first.cold.racing").races, "");
  EXPECT_EQ(arm_of(c, "first.cold.racing").batch, "") << "each trial needs the fault anew";
  EXPECT_EQ(defect_of(c), "");
}

TEST(cells, in_the_quick_tier_have_each_operation_once_and_go_round_the_rest) {
  const words w;
  const fault_type f = trap();
  std::map<std::string, int> of_operation;
  std::set<std::pair<std::string, std::string>> turns;
  for (const cell& c : cells_of(f, w.all())) {
    if (tier_of(c, w.operations) != test_tier::quick) continue;
    ++of_operation[c.operation->name];
    turns.insert({to_string(c.state), to_string(c.when)});
  }
  EXPECT_THAT(of_operation, UnorderedElementsAre(testing::Pair("alone", 1), testing::Pair("first", 1),
                                                 testing::Pair("second", 1)));
  EXPECT_THAT(turns,
              UnorderedElementsAre(std::pair{"cold", "synchronised"}, std::pair{"warm", "synchronised"}))
      << "those that share a process";
  fault_type alone = trap();
  alone.cells = isolation::process;
  for (const cell& c : cells_of(alone, w.all())) EXPECT_NE(tier_of(c, w.operations), test_tier::quick);
}

TEST(cells, of_their_own_process_are_not_in_the_quick_tier) {
  words w;
  w.operations[1].apart = true;
  fault_type f = trap();
  f.cold_apart = true;
  std::vector<std::string> quick;
  for (const cell& c : cells_of(f, w.all()))
    if (tier_of(c, w.operations) == test_tier::quick) quick.push_back(to_string(name_of(c)));
  EXPECT_THAT(quick, UnorderedElementsAre("alone.warm.synchronised", "second.warm.synchronised"));
}

TEST(cells, of_a_fault_without_a_defined_outcome_are_repeated_and_not_in_the_quick_tier) {
  const words w;
  fault_type f = trap();
  f.cells = isolation::undone;
  f.undefined = "what was freed may be somebody else's";
  for (const cell& c : cells_of(f, w.all())) EXPECT_NE(tier_of(c, w.operations), test_tier::quick);
  const failure_case made = case_of(f, w.all());
  EXPECT_GT(arm_of(made, "first.cold.synchronised").repeats, 1);
  EXPECT_EQ(arm_of(made, "first.cold.synchronised").races, f.undefined);
  EXPECT_EQ(defect_of(made), "");
}

TEST(cells, in_the_full_tier_have_remedies_with_representative_operations) {
  const words w;
  const fault_type f = trap();
  ASSERT_FALSE(cells_of(f, w.all()).empty());
  for (const cell& c : cells_of(f, w.all())) {
    const test_tier t = tier_of(c, w.operations);
    if (c.remedy != nullptr)
      EXPECT_EQ(t, c.operation->representative ? test_tier::full : test_tier::nightly);
    else
      EXPECT_LE(t, test_tier::full);
  }
}

/// A fault like those with a second process.
fault_type costly() {
  fault_type f = trap();
  f.memory = memory_class::exclusive;
  f.takes_seconds = true;
  f.quick_operation = "second";
  return f;
}

TEST(cells, that_take_seconds_are_of_representative_operations_and_one_is_quick) {
  words w;
  w.operations[2].representative = true;
  const fault_type f = costly();
  const auto in = [&](test_tier tier) {
    std::vector<std::string> names;
    for (const cell& c : cells_of(f, w.all()))
      if (tier_of(c, w.operations) == tier) names.push_back(to_string(name_of(c)));
    return names;
  };
  EXPECT_THAT(in(test_tier::quick), ElementsAre("second.warm.synchronised"));
  EXPECT_THAT(in(test_tier::full),
              UnorderedElementsAre("first.cold.synchronised", "first.warm.synchronised",
                                   "second.cold.synchronised", "second.cold.arrived", "second.warm.arrived",
                                   "second.cold.arrived+again", "second.cold.arrived+blocking",
                                   "second.cold.synchronised+again", "second.cold.synchronised+blocking",
                                   "second.warm.arrived+again", "second.warm.arrived+blocking",
                                   "second.warm.synchronised+again", "second.warm.synchronised+blocking"));
  EXPECT_THAT(in(test_tier::nightly), IsSupersetOf({"first.cold.arrived", "first.warm.synchronised+again"}));
  EXPECT_NE(why_not(f, w.operations[0]), "") << "it is not representative";
}

TEST(cells, that_take_seconds_name_the_operation_that_comes_first) {
  fault_type f = costly();
  EXPECT_EQ(defect_of(f), "");
  f.quick_operation.clear();
  EXPECT_EQ(defect_of(f), "takes_seconds and quick_operation go together");
  f = costly();
  f.takes_seconds = false;
  EXPECT_EQ(defect_of(f), "takes_seconds and quick_operation go together");
}

TEST(matrix_case, under_mps_has_its_control_there_too) {
  const words w;
  fault_type f = trap();
  for (const arm& a : case_of(f, w.all()).arms) EXPECT_FALSE(a.under_mps) << a.name;
  f.under_mps = true;
  EXPECT_EQ(defect_of(f), "it runs under MPS, and does not have the GPU to itself");
  f.memory = memory_class::exclusive;
  EXPECT_EQ(defect_of(f), "");
  for (const arm& a : case_of(f, w.all()).arms) EXPECT_TRUE(a.under_mps) << a.name;
}

TEST(cells, of_managed_memory_take_no_turn_in_the_quick_tier_where_the_device_is_full) {
  const fault_type f = full_device();
  for (const std::size_t which : {0U, 1U}) {
    words w;
    w.operations[which].takes_managed_memory = true;
    std::vector<std::string> quick;
    for (const cell& c : cells_of(f, w.all()))
      if (c.operation == &w.operations[which] && tier_of(c, w.operations) == test_tier::quick)
        quick.push_back(to_string(name_of(c)));
    EXPECT_THAT(quick, ElementsAre(w.operations[which].name + ".warm.64"));
  }
}

TEST(cells, of_managed_memory_on_a_device_that_has_none_left_run_only_when_named) {
  words w;
  w.operations[1].takes_managed_memory = true;
  fault_type f = full_device();
  const auto named = [&] {
    std::vector<std::string> names;
    for (const cell& c : cells_of(f, w.all()))
      if (tier_of(c, w.operations) == test_tier::named) names.push_back(to_string(name_of(c)));
    return names;
  };
  EXPECT_THAT(named(),
              UnorderedElementsAre("first.cold.0", "first.warm.0", "first.cold.0+free", "first.warm.0+free"));
  f.levels.clear();
  EXPECT_THAT(named(), UnorderedElementsAre("first.cold", "first.warm", "first.cold+free", "first.warm+free"))
      << "without levels it is full";
  f.fills_device = false;
  EXPECT_THAT(named(), testing::IsEmpty());
}

TEST(cells, with_another_operation_in_place_are_of_operations_that_name_one) {
  words w;
  w.operations[0].smaller = "second";
  w.remedies = {{.name = "smaller",
                 .words = "smaller",
                 .answers = {"trap"},
                 .new_operation = true,
                 .instead = &operation_type::smaller}};
  for (const cell& c : cells_of(trap(), w.all())) {
    if (c.remedy != nullptr) {
      EXPECT_EQ(c.operation->name, "alone");
    }
  }
  EXPECT_EQ(cells_of(trap(), w.all()).size(), 12U + 4);
}

TEST(matrix_case, arranges_what_its_arms_and_its_control_need) {
  const words w;
  fault_type f = trap();
  f.cells = isolation::process;
  f.environment = {{"A", "spoilt"}};
  f.arrange = [](arm& a) {
    a.preload = {"libexample.so"};
    a.environment["A"] = "arranged";
  };
  EXPECT_EQ(defect_of(f), "");
  const failure_case c = case_of(f, w.all());
  EXPECT_EQ(defect_of(c), "") << "none of its arms shares a process";
  for (const arm& a : c.arms) EXPECT_THAT(a.preload, ElementsAre("libexample.so")) << a.name;
  EXPECT_EQ(arm_of(c, "first.warm.arrived").environment.at("A"), "spoilt")
      << "the variables of the fault are last";
}

TEST(matrix_case, is_well_formed_and_names_what_a_remedy_in_place_answers) {
  const words w;
  const fault_type f = trap();
  const failure_case c = case_of(f, w.all());
  EXPECT_EQ(defect_of(c), "");
  EXPECT_EQ(c.name, "matrix.trap");
  EXPECT_EQ(arm_of(c, "first.warm.arrived+blocking").against, "first.warm.arrived");
  EXPECT_EQ(arm_of(c, "first.warm.arrived+blocking").environment.at("A"), "1");
  EXPECT_EQ(arm_of(c, "first.warm.arrived+again").against, "");
}

TEST(matrix_case, has_no_fault_in_its_control) {
  const words w;
  fault_type f = trap();
  f.environment = {{"A", "spoilt"}};
  EXPECT_EQ(arm_of(case_of(f, w.all()), "control").environment.at("A"), "spoilt")
      << "the fault is what is provoked";
  f.provoke = {};
  f.cells = isolation::undone;
  EXPECT_FALSE(arm_of(case_of(f, w.all()), "control").environment.contains("A"))
      << "the variable is the fault";
  EXPECT_EQ(arm_of(case_of(f, w.all()), "first.cold.arrived").environment.at("A"), "spoilt");
}

TEST(matrix_case, has_a_control_of_its_own_for_a_library_that_is_added) {
  words w;
  const auto controls = [&w] {
    std::vector<std::string> names;
    for (const arm& a : case_of(trap(), w.all()).arms)
      if (a.kind == arm_kind::control) names.push_back(a.name);
    return names;
  };
  EXPECT_EQ(controls(), std::vector<std::string>{"control"});
  w.operations.push_back(operation_called("solver", false));
  w.operations.back().step = {"cusolverDnCreate"};
  EXPECT_EQ(controls(), (std::vector<std::string>{"control", "control_cusolver"}));
}

TEST(cells, are_cold_where_the_fault_comes_before_the_operation) {
  const words w;
  fault_type f = trap();
  f.cells = isolation::process;
  f.before_operation = true;
  ASSERT_FALSE(cells_of(f, w.all()).empty());
  for (const cell& c : cells_of(f, w.all())) EXPECT_EQ(c.state, handle_state::cold);
}

TEST(remedies, answer_only_where_they_change_something) {
  fault_type f = trap();
  remedy_type r{.name = "eager",
                .words = "eager",
                .answers = {"trap"},
                .environment = {{"CUDA_MODULE_LOADING", "EAGER"}}};
  EXPECT_TRUE(answers(r, f));
  f.environment = {{"CUDA_MODULE_LOADING", "EAGER"}};
  EXPECT_FALSE(answers(r, f));
  r.environment = {{"CUDA_MODULE_LOADING", "LAZY"}};
  EXPECT_TRUE(answers(r, f));
  f.environment.clear();
  EXPECT_FALSE(answers(r, f)) << "as every arm has it";
  r.environment = {{"SPOILT", ""}};
  EXPECT_FALSE(answers(r, f)) << "it is not set";
  f.environment = {{"SPOILT", "1"}};
  EXPECT_TRUE(answers(r, f));
  f.kind = "memory";
  EXPECT_FALSE(answers(r, f));
}

TEST(matrix_case, runs_what_a_lasting_fault_leaves_in_one_process) {
  const words w;
  fault_type f = trap();
  const failure_case lasting = case_of(f, w.all());
  const auto batch = [&](const char* name) { return arm_of(lasting, name).batch; };
  EXPECT_EQ(batch("first.warm.synchronised"), batch("second.warm.synchronised"));
  EXPECT_NE(batch("first.warm.synchronised"), batch("first.cold.synchronised"));
  EXPECT_EQ(batch("first.warm.arrived"), "") << "the first operation looks";
  EXPECT_NE(batch("first.warm.synchronised"), batch("first.warm.synchronised+again"));
  f.cells = isolation::process;
  const failure_case alone = case_of(f, w.all());
  EXPECT_EQ(arm_of(alone, "first.warm.arrived").batch, "");
  EXPECT_FALSE(arm_of(alone, "first.warm.arrived").shares_process);
}

TEST(matrix_case, gives_an_operation_a_process_of_its_own_where_the_fault_lasts) {
  words w;
  fault_type f = trap();
  const auto shares = [&](const char* name) {
    const failure_case c = case_of(f, w.all());
    EXPECT_EQ(arm_of(c, name).batch.empty(), !arm_of(c, name).shares_process);
    return arm_of(c, name).shares_process;
  };
  EXPECT_TRUE(shares("first.cold.synchronised"));
  w.operations[1].apart = true;
  EXPECT_FALSE(shares("first.cold.synchronised"));
  EXPECT_FALSE(shares("first.warm.synchronised"));
  EXPECT_FALSE(shares("first.warm.synchronised+again"));
  EXPECT_TRUE(shares("second.cold.synchronised"));
  f.cold_apart = true;
  EXPECT_FALSE(shares("second.cold.synchronised"));
  EXPECT_TRUE(shares("second.warm.synchronised"));
  f.cells = isolation::undone;
  const failure_case undone = case_of(f, w.all());
  EXPECT_TRUE(arm_of(undone, "first.cold.synchronised").shares_process) << "the fault does not last";
}

TEST(matrix_case, gives_a_remedy_a_process_of_its_own_where_others_would_see_it) {
  words w;
  w.remedies[0].own_process = true;
  const fault_type f = trap();
  const failure_case c = case_of(f, w.all());
  EXPECT_EQ(arm_of(c, "first.warm.arrived+again").batch, "");
  EXPECT_FALSE(arm_of(c, "first.warm.arrived+again").shares_process);
}

TEST(matrix_case, gives_a_diagnosis_a_process_and_a_fault_of_its_own) {
  words w;
  EXPECT_EQ(arm_of(case_of(trap(), w.all()), "first.warm.synchronised+blocking").kind, arm_kind::remedy);
  w.remedies[1].diagnosis = true;
  const failure_case c = case_of(trap(), w.all());
  const arm& diagnosis = arm_of(c, "first.warm.synchronised+blocking");
  EXPECT_EQ(diagnosis.kind, arm_kind::diagnosis);
  EXPECT_EQ(diagnosis.against, "first.warm.synchronised");
  EXPECT_FALSE(diagnosis.shares_process);
}

TEST(vocabulary, refuses_faults_and_remedies_that_are_malformed) {
  EXPECT_EQ(defect_of(trap()), "");
  fault_type f = trap();
  f.provoke = {};
  EXPECT_EQ(defect_of(f), "nothing brings it about");
  f = trap();
  f.name = "Trap";
  EXPECT_THAT(defect_of(f), HasSubstr("its name"));
  f = trap();
  f.around = [](world&, const std::function<void()>&) {};
  EXPECT_THAT(defect_of(f), HasSubstr("lasting"));
  f = trap();
  f.cold_apart = true;
  EXPECT_EQ(defect_of(f), "");
  f.cells = isolation::undone;
  EXPECT_EQ(defect_of(f), "cold_apart goes with a lasting fault only");
  f = trap();
  f.levels = {64, 0};
  f.unit = "MiB free";
  EXPECT_EQ(defect_of(f), "its levels do not ascend");
  f.levels = {0};
  f.unit = "";
  EXPECT_EQ(defect_of(f), "its levels have no unit, or its unit no levels");
  f = trap();
  f.fills_device = true;
  EXPECT_EQ(defect_of(f), "fills_device goes with exclusive memory only");
  f.memory = memory_class::exclusive;
  EXPECT_EQ(defect_of(f), "");
  f.levels = {64, 128};
  f.unit = "MiB free";
  EXPECT_EQ(defect_of(f), "fills_device needs level 0, or no levels");
  f.levels = {0, 64};
  EXPECT_EQ(defect_of(f), "");
  f.fills_device = false;
  EXPECT_EQ(defect_of(f), "at 0 MiB free it fills the device, and fills_device does not say so");
  f = trap();
  f.arrange = [](arm&) {};
  EXPECT_EQ(defect_of(f), "it arranges arms, which then share no process");

  remedy_type r = words().remedies[0];
  EXPECT_EQ(defect_of(r), "");
  r.environment = {{"A", "1"}};
  EXPECT_EQ(defect_of(r), "it must be in place from the start, or done afterwards, and not both");
  r.environment.clear();
  r.in_new_thread = true;
  EXPECT_EQ(defect_of(r), "it says what a new operation is like, and makes none");
  r.in_new_thread = false;
  r.at_restart = [](trial&) {};
  EXPECT_EQ(defect_of(r), "it says what a new process begins with, and starts none");
  r.at_restart = {};
  r.process_ends = true;
  EXPECT_EQ(defect_of(r), "it ends the process of the fault, and starts no other");
  r.process_ends = false;
  r.diagnosis = true;
  EXPECT_EQ(defect_of(r), "a diagnosis must be in place from the start");
  r.diagnosis = false;
  r.answers.clear();
  EXPECT_EQ(defect_of(r), "it answers no kind of fault");
}

}  // namespace
}  // namespace cufault
