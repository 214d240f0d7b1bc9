// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Arms that came out otherwise than recorded are run again before a run says so.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <set>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// On a baseline by which each arm of road.turns fails with ALLOC_FAILED.
class second_look : public end_to_end {
 protected:
  void SetUp() override {
    end_to_end::SetUp();
    fs::create_directories(folder / "turns");
    ASSERT_EQ(run({"road.turns"}).exit_code, 0);
    ASSERT_EQ(add(files(".jsonl").back()).exit_code, 0);
    fs::remove_all(folder / "records");
  }
  /// What cublasCreate does in the trials of an arm, a line each; as recorded in those behind them.
  void take_turns(const std::string& arm, const std::string& orders) {
    write_whole(folder / "turns" / arm, orders);
  }
  process_result gate(std::vector<std::string> more = {},
                      std::map<std::string, std::string> environment = {}) {
    more.insert(more.begin(), {"road.turns", "--mode", "gate"});
    environment["ROAD_TURNS"] = folder / "turns";
    return run(more, environment);
  }
  /// By arm, of the latest run.
  std::map<std::string, arm_result> arms() {
    std::map<std::string, arm_result> all;
    const record made = load_record(files(".jsonl").back());
    for (const case_result& c : made.cases)
      for (const arm_result& a : c.arms) all.emplace(a.name, a);
    return all;
  }
  static std::set<double> measured(const arm_result& a, std::string_view name) {
    std::set<double> values;
    for (const observation& o : a.trials) values.insert(find_measurement(o, name)->value);
    return values;
  }
  static constexpr auto four_times = "14\n14\n14\n14\n";
};

TEST_F(second_look, of_what_was_otherwise_once_is_a_flake_which_is_told_and_passes) {
  take_turns("arm_0", "14\n");
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("1 FLAKY"), HasSubstr("gate: passed"),
                                      HasSubstr("noted, and no failure: road.turns/arm_0: cublasCreate: "
                                                "ALLOC_FAILED → INTERNAL_ERROR; 1 of 4 trials\n")));
  const auto all = arms();
  EXPECT_EQ(all.at("arm_0").trials.size(), 4U);
  EXPECT_EQ(all.at("arm_0").races, trials_differed);
  EXPECT_EQ(measured(all.at("arm_0"), "seed").size(), 4U) << "further repeats, not the same ones again";
  EXPECT_EQ(all.at("arm_1").trials.size(), 1U);
  const std::string shown =
      cufault({"show", files(".jsonl").back(), "--baseline", folder / "baseline"}).stdout_text;
  EXPECT_THAT(shown, AllOf(HasSubstr("3 of 4: "), HasSubstr("1 of 4: "), HasSubstr("FLAKY")));
}

TEST_F(second_look, of_what_stays_otherwise_says_in_how_many_trials) {
  take_turns("arm_0", four_times);
  take_turns("arm_1", "14\n7\n14\n7\n");
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text;
  EXPECT_THAT(
      seen.stdout_text,
      AllOf(HasSubstr("arm_0: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR; 4 of 4 trials\n"),
            HasSubstr("arm_1: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR; 0 of 4 trials as recorded\n"),
            HasSubstr("gate: FAILED: 2 arms CHANGED")));
}

TEST_F(second_look, makes_no_flake_of_a_crash) {
  take_turns("arm_0", "crash\n");
  const auto seen = gate({}, crash_by_signal());
  EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text;
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("WORSENED"), HasSubstr("; 1 of 4 trials\n")));
}

TEST_F(second_look, is_of_the_arm_alone_and_not_of_its_batch) {
  take_turns("in_it_too", "14\n");
  EXPECT_EQ(gate().exit_code, 0);
  const auto all = arms();
  EXPECT_EQ(all.at("in_a_batch").trials.size(), 1U);
  EXPECT_EQ(all.at("in_it_too").trials.size(), 4U);
  EXPECT_EQ(measured(all.at("in_it_too"), "process").size(), 4U);
}

TEST_F(second_look, is_the_same_whatever_the_order_and_the_number_of_jobs) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--jobs", "1"}, {"--jobs", "3", "--shuffle"}, {"--jobs", "12"}}) {
    take_turns("arm_3", "14\n");
    take_turns("arm_4", four_times);
    const auto seen = gate(how);
    EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text;
    EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("1 FLAKY"), HasSubstr("1 CHANGED")));
    EXPECT_EQ(arms().at("arm_4").trials.size(), 4U);
  }
}

TEST_F(second_look, of_more_arms_than_there_is_time_for_is_one_of_some) {
  for (int i = 0; i < 12; ++i)
    take_turns(fmt::format("arm_{}", i), i == 11 ? "exit\nexit\nexit\nexit\n" : four_times);
  // 12 times 3 trials of half a second or more are longer than the 15 s that there are.
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text;
  auto all = arms();
  EXPECT_EQ(all.at("arm_11").trials.size(), 4U) << "what costs the user most comes first";
  EXPECT_EQ(all.at("arm_0").trials.size(), 4U) << "one of each change";
  EXPECT_EQ(all.at("arm_10").trials.size(), 1U);
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("ALLOC_FAILED → INTERNAL_ERROR; 4 of 4 trials"),
                                      HasSubstr("arms: ALLOC_FAILED → INTERNAL_ERROR; 1 trial: ")));
}

TEST_F(second_look, of_arms_that_need_no_gpu_is_made_where_two_gpus_are_given) {
  for (const char* arm : {"arm_0", "arm_1", "arm_2"}) take_turns(arm, four_times);
  auto environment = on_gpu("a100");
  environment["DOCTOR_FAKE_DEVICES"] = "2";
  const auto seen = gate({"--device", "0,1"}, environment);
  EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("3 arms: ALLOC_FAILED → INTERNAL_ERROR; 4 of 4 trials: "));
}

TEST_F(second_look, that_is_interrupted_leaves_the_first_one) {
  take_turns("arm_0", "14\nhang\n");
  const std::string said = folder / "said";
  const auto script = "\"$@\" 2>" + said + " & while ! grep -q 'road.turns/arm_0 again begins' " + said +
                      " 2>/dev/null; do sleep 0.05; done; kill -TERM $!; wait $!";
  spawn_options options;
  options.argv = {"/bin/bash",  "-c",
                  script,       "bash",
                  test_program, "run",
                  "road.turns", "-v",
                  "--records",  folder / "records",
                  "--baseline", folder / "baseline",
                  "--cublas",   fs::path(fake_cublas_folder) / "a"};
  options.environment = {
      {"ROAD_TURNS", folder / "turns"}, {"TMPDIR", folder / "temporary"}, {"CUDA_VISIBLE_DEVICES", "-1"}};
  const auto seen = run_process(options, {});
  EXPECT_EQ(seen.exit_code, 130) << seen.stdout_text << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("arm_0: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR; 1 trial\n"));
  EXPECT_THAT(read_text(said), HasSubstr("15 of 15 arms had run, and are in the record; cut short: "
                                         "road.turns/arm_0 again\n"));
  EXPECT_EQ(arms().size(), 15U);
  EXPECT_EQ(arms().at("arm_0").trials.size(), 1U);
}

TEST_F(second_look, is_not_made_where_nothing_is_recorded) {
  fs::remove_all(folder / "baseline");
  fs::create_directories(folder / "baseline");
  take_turns("arm_0", "14\n");
  EXPECT_EQ(gate().exit_code, 3);
  EXPECT_EQ(arms().at("arm_0").trials.size(), 1U);
}

TEST_F(second_look, is_filed_as_a_rate_by_which_later_runs_are_judged) {
  take_turns("arm_0", "14\n");
  ASSERT_EQ(gate().exit_code, 0);
  const auto added = add(files(".jsonl").back());
  EXPECT_EQ(added.exit_code, 0) << added.stdout_text;
  EXPECT_THAT(added.stdout_text,
              AllOf(HasSubstr("changed: road.turns / arm_0: it has a rate now: 4 of 5: cublasCreate: "),
                    HasSubstr(": 0 new, 1 changed, 14 with further trials, 0 there already, 0 left out\n")));
  const auto again = add(files(".jsonl").back());
  EXPECT_THAT(again.stdout_text, HasSubstr("15 there already")) << "a run counts once";
  for (const char* order : {"3\n", "14\n"}) {
    take_turns("arm_0", order);
    const auto seen = gate();
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
    EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("1 FLAKY"), Not(HasSubstr("noted"))));
    EXPECT_EQ(arms().at("arm_0").trials.size(), 1U) << "nothing new";
  }
  take_turns("arm_0", "7\n7\n7\n7\n");
  EXPECT_EQ(gate().exit_code, 1) << "none of its outcomes";
  const std::string stack = recorded_stack();
  EXPECT_THAT(cufault({"table", stack, "--format", "jsonl"}).stdout_text,
              HasSubstr(R"("races":"its trials differed")"));
  ASSERT_EQ(cufault({"history", "add", folder / "history", stack}).exit_code, 0);
  EXPECT_THAT(cufault({"history", "show", folder / "history", "road.turns/arm_0"}).stdout_text,
              AllOf(HasSubstr("races"), HasSubstr("4 of 5 trials: ")));
}

}  // namespace
}  // namespace cufault
