// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/observation.hpp"

#include <nlohmann/json.hpp>

#include <csignal>

namespace cufault {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// ---- side by side, and in shared processes ----

class road_side_by_side : public end_to_end {
 protected:
  record made_by(const std::vector<std::string>& words) {
    fs::remove_all(folder / "records");
    const auto seen = run(words, crash_by_signal());
    EXPECT_NE(seen.exit_code, 130) << seen.stderr_text;
    EXPECT_EQ(files(".jsonl").size(), 1U) << seen.stderr_text;
    return load_record(files(".jsonl").at(0));
  }
  /// All that is compared, by name: a record has its arms in the order in which they ended.
  static std::vector<std::string> signatures(const record& r) {
    std::vector<std::string> all;
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        all.push_back(c.name + "/" + a.name + ": " +
                      (observed(a) ? describe(plateaus_of(a.trials)) : to_string(a.judged) + ": " + a.why));
    std::sort(all.begin(), all.end());
    return all;
  }
  // Arms that say, and should not, that they share a process come out otherwise in one.
  const std::vector<std::string> everything{
      "road.create",   "road.ladder", "road.limits",        "road.rows", "road.set_up",
      "road.on_a_gpu", "road.twin",   "road.shared/*[!kr]", "--seed",    "5"};
  record all_with(std::vector<std::string> more) {
    more.insert(more.begin(), everything.begin(), everything.end());
    return made_by(more);
  }
};

TEST_F(road_side_by_side,
       comes_to_the_same_with_any_number_of_jobs_in_shared_processes_and_in_separate_ones) {
  const auto separate = signatures(all_with({"--separate"}));
  EXPECT_GT(separate.size(), 30U);
  for (const char* jobs : {"1", "3", "12"}) {
    EXPECT_EQ(signatures(all_with({"--jobs", jobs})), separate) << jobs;
    EXPECT_EQ(signatures(all_with({"--jobs", jobs, "--shuffle"})), separate) << jobs;
  }
}

TEST_F(road_side_by_side, shares_a_process_until_it_is_damaged) {
  const auto processes = [&](const std::vector<std::string>& words) {
    std::map<std::string, double> of_arm;
    const record made = made_by(words);
    for (const arm_result& a : made.cases.at(0).arms)
      for (const measurement& m : a.trials.back().measurements)
        if (m.name == "process") of_arm[a.name] = m.value;
    return of_arm;
  };
  const auto undamaged = processes({"road.shared/nothing*", "--jobs", "1"});
  ASSERT_EQ(undamaged.size(), 3U);
  EXPECT_EQ(undamaged.at("control"), undamaged.at("nothing"));
  EXPECT_EQ(undamaged.at("control"), undamaged.at("nothing_again"));
  const auto separate = processes({"road.shared/nothing*", "--jobs", "1", "--separate"});
  EXPECT_NE(separate.at("control"), separate.at("nothing"));
  const auto of_a_batch = processes({"road.shared/batch_*", "--jobs", "1"});
  EXPECT_NE(of_a_batch.at("batch_ends"), of_a_batch.at("batch_goes_on"))
      << "the first one says that nothing may come after it";
  const auto others = processes({"road.shared/apart", "road.shared/elsewhere", "--jobs", "1"});
  EXPECT_NE(others.at("control"), others.at("apart"));
  EXPECT_NE(others.at("control"), others.at("elsewhere"));
}

TEST_F(road_side_by_side, retires_a_process_for_whatever_a_trial_leaves_in_it) {
  const auto seen = run({"road.shared/a_*", "road.shared/the_*", "--jobs", "1", "-v"});
  for (const char* what :
       {"a_descriptor: ", "descriptors where there were", "the_environment: the environment has ROAD_LITTER",
        "a_variable_less: the environment lacks a variable", "a_folder: the working folder is /",
        "a_thread: 2 threads where there were 1", "a_child: 1 child processes where there were 0"})
    EXPECT_THAT(seen.stdout_text, HasSubstr(what));
  EXPECT_THAT(seen.stdout_text, HasSubstr("shared processes: 8 trials in 6; damaged: 6\n"));
  EXPECT_EQ(seen.stragglers, 0);
}

TEST_F(road_side_by_side, refuses_what_needs_a_process_of_its_own_in_a_shared_one) {
  const auto seen = run({"road.shared/fork", "road.shared/folder"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text, HasSubstr("says that it shares a process, but it forks"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("without a scratch folder"));
}

TEST_F(road_side_by_side, ends_all_of_them_when_told_and_records_what_had_run) {
  spawn_options options;
  options.argv = {TEST_PROGRAM,
                  "run",
                  "road.create",
                  "road.shared/hang",
                  "--jobs",
                  "8",
                  "-v",
                  "--records",
                  folder / "records",
                  "--baseline",
                  folder / "baseline",
                  "--cublas",
                  fs::path(FAKE_CUBLAS_DIR) / "a"};
  options.environment = {{"ROAD_FAULT", "hang"},
                         {"ROAD_TIMES", folder / "times"},
                         {"TMPDIR", folder / "temporary"},
                         {"CUDA_VISIBLE_DEVICES", "-1"}};
  // Interrupted as soon as both hanging arms have begun.
  const auto script = "\"$@\" 2>" + (folder / "said").string() +
                      " & while ! { grep -q 'road.create/fault begins' " + (folder / "said").string() +
                      " && grep -q 'road.shared/hang begins' " + (folder / "said").string() +
                      "; } 2>/dev/null; do :; done; kill -TERM $!; wait $!";
  std::vector<std::string> words{"/bin/bash", "-c", script, "bash"};
  words.insert(words.end(), options.argv.begin(), options.argv.end());
  options.argv = words;
  const auto seen = run_process(options, {});
  EXPECT_EQ(seen.exit_code, 130) << seen.stdout_text << seen.stderr_text;
  EXPECT_EQ(seen.stragglers, 0);
  EXPECT_TRUE(fs::is_empty(folder / "temporary"));
  const record r = load_record(files(".jsonl").at(0));
  EXPECT_FALSE(r.complete);
  for (const case_result& c : r.cases)
    for (const arm_result& a : c.arms) EXPECT_FALSE(a.trials.empty()) << a.name;
  const std::string said = read_text(folder / "said");
  EXPECT_THAT(said, HasSubstr("cufault: interrupted; "));
  EXPECT_THAT(said, HasSubstr("cut short: "));
}

TEST_F(road_side_by_side, says_in_one_line_what_needs_a_gpu) {
  const auto seen = run({"road.create", "road.on_a_gpu"});
  EXPECT_THAT(seen.stdout_text, HasSubstr("2 arms of 1 case need a GPU and were not run: no GPU: "));
  EXPECT_THAT(seen.stdout_text, testing::Not(HasSubstr("road.on_a_gpu")));
  EXPECT_LT(std::count(seen.stdout_text.begin(), seen.stdout_text.end(), '\n'), 12);
}

TEST_F(road_side_by_side, writes_its_summary_for_programs) {
  const auto seen = run({"road.create", "--json", "--junit", (folder / "run.xml").string()});
  const auto j = nlohmann::json::parse(seen.stdout_text);
  EXPECT_EQ(j["counts"]["NEW"], 4);
  EXPECT_THAT(read_text(folder / "run.xml"), HasSubstr("<testsuite name=\"road.create\""));
}

TEST_F(road_side_by_side, names_devices_that_are_none) {
  for (const char* devices : {"x", "0,0", ",", "0;1"}) {
    expect_refused(run({"road.create", "--device", devices}), "--device");
  }
}

// ---- a matrix ----

class road_matrix : public road_side_by_side {
 protected:
  /// A measurement of the cells, by name.
  std::map<std::string, double> measured(const std::vector<std::string>& words, const std::string& what) {
    std::map<std::string, double> of_cell;
    for (const case_result& c : made_by(words).cases)
      for (const arm_result& a : c.arms)
        for (const measurement& m : a.trials.back().measurements)
          if (m.name == what) of_cell[a.name] = m.value;
    return of_cell;
  }
  static std::vector<std::string> names_of(const record& r) {
    std::vector<std::string> names;
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) names.push_back(a.name);
    return names;
  }
  static std::string described(const record& r, const std::string& arm) {
    return describe(plateaus_of(arm_of(r, arm).trials));
  }
};

TEST_F(road_matrix, observes_an_operation_under_a_fault_and_after_each_remedy) {
  const record r = made_by({"matrix.alone/*"});
  EXPECT_EQ(described(r, "first.cold"), "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR; context none");
  EXPECT_EQ(described(r, "first.warm"), "cublasSgemm first: CUBLAS_STATUS_EXECUTION_FAILED; context none");
  EXPECT_EQ(described(r, "first.cold+release"),
            "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR; then cublasSgemm first: CUBLAS_STATUS_SUCCESS, "
            "numbers "
            "right; context none; numbers right");
  EXPECT_EQ(
      described(r, "first.warm+new_process"),
      "cublasSgemm first: CUBLAS_STATUS_EXECUTION_FAILED; then cublasSgemm first: CUBLAS_STATUS_SUCCESS, "
      "numbers right; context none; numbers right");
  EXPECT_EQ(described(r, "first.cold+retry"),
            "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR; then check.preparation: FAILED; context none");
  EXPECT_THAT(described(r, "crashing.cold"), HasSubstr("crashed: SIGSEGV in cublasSgemm"));
  EXPECT_EQ(arm_of(r, "control").trials.at(0).calls.size(), 8U) << "each operation cold and warm";
  EXPECT_EQ(described(r, "first.cold+spoil"), "cublasSgemm first: CUBLAS_STATUS_NOT_SUPPORTED; context none");
  EXPECT_EQ(described(r, "first.warm+spoil"), "check.preparation: FAILED; context none")
      << "what the remedy does to an operation is seen, too";
}

TEST_F(road_matrix, loads_what_a_check_needs_once_before_the_fault_and_never_under_it) {
  for (const char* cell : {"first.cold", "first.warm"}) {
    EXPECT_EQ(measured({"matrix.alone/first.*"}, "loads for its check").at(cell), 1) << cell;
    EXPECT_EQ(measured({"matrix.lasting/first.*"}, "loads for its check").at(cell), 1) << cell;
  }
  EXPECT_EQ(measured({"matrix.early/first.cold"}, "loads for its check").at("first.cold"), 0);
}

TEST_F(road_matrix, observes_a_process_that_ends_while_an_operation_is_prepared) {
  const record r = made_by({"matrix.early/*.cold", "matrix.held_early/*.cold"});
  EXPECT_THAT(described(r, "crashing.cold"), HasSubstr("crashed: SIGSEGV in check.preparation"));
  EXPECT_EQ(arm_of(r, "crashing.cold").trials.at(0).calls.size(), 1U);
  EXPECT_EQ(arm_of(r, "first.cold").trials.at(0).calls.size(), 1U) << "what succeeded is no step";
}

TEST_F(road_matrix, tells_a_process_that_ends_in_a_proof_from_one_that_ends_in_the_operation) {
  const record r = made_by({"matrix.spoilt_proof/first.cold", "matrix.alone/crashing.cold"});
  EXPECT_EQ(described(r, "first.cold"),
            "cublasSgemm first: CUBLAS_STATUS_SUCCESS, check.numbers: never returned; crashed: SIGSEGV in "
            "check.numbers");
  EXPECT_EQ(described(r, "crashing.cold"),
            "cublasSgemm crashing: never returned; crashed: SIGSEGV in cublasSgemm");
}

TEST_F(road_matrix, ends_a_diagnosis_with_the_first_call_of_the_fault_that_fails) {
  const record r = made_by({"matrix.spoilt_proof/first.*"});
  for (const char* cell : {"first.cold+look", "first.warm+look"}) {
    EXPECT_EQ(described(r, cell), "cudaLaunchKernelExC fault: cudaErrorAssert; context none") << cell;
    EXPECT_EQ(arm_of(r, cell).kind, arm_kind::diagnosis) << cell;
  }
}

TEST_F(road_matrix, observes_a_remedy_that_fails_in_what_it_needs_itself) {
  const record r = made_by({"matrix.full/first.*"});
  for (const char* remedy : {"first.cold+no_memory", "first.cold+no_memory_anew"})
    EXPECT_EQ(described(r, remedy),
              "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR; then check.preparation of_the_remedy: "
              "FAILED; context none")
        << remedy;
}

TEST_F(road_matrix, brings_a_lasting_fault_about_once_for_cells_that_follow_one_another) {
  const std::vector<std::string> cold{"matrix.lasting/first.cold", "matrix.lasting/second.cold",
                                      "matrix.lasting/third.cold", "--jobs", "1"};
  const auto process = measured(cold, "process");
  ASSERT_EQ(process.size(), 3U);
  EXPECT_EQ(process.at("first.cold"), process.at("second.cold"));
  EXPECT_EQ(process.at("first.cold"), process.at("third.cold"));
  EXPECT_EQ(measured(cold, "faults of its process").at("third.cold"), 1);
  EXPECT_EQ(measured(cold, "operations before it").at("third.cold"), 2);
  EXPECT_EQ(measured(cold, "errors left in its thread").at("third.cold"), 0);
  EXPECT_THAT(described(made_by({"matrix.lasting/first.warm+retry"}), "first.warm+retry"),
              HasSubstr("; then check.preparation: FAILED"))
      << "a remedy acts on the operation of its cell";

  std::vector<std::string> separate = cold;
  separate.emplace_back("--separate");
  EXPECT_EQ(measured(separate, "operations before it").at("third.cold"), 0);
}

TEST_F(road_matrix, makes_operations_ready_after_a_lasting_fault_that_comes_before_them) {
  const record r = made_by({"matrix.early/*", "--jobs", "1"});
  EXPECT_EQ(described(r, "first.cold"), "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR; context none");
  EXPECT_THAT(described(r, "second.cold+release"), HasSubstr("numbers right"));
  EXPECT_EQ(r.cases.at(0).arms.size(), 1U + 4 * 5) << "no operation is warm";
  EXPECT_EQ(measured({"matrix.early/first.cold", "matrix.early/second.cold", "matrix.early/third.cold"},
                     "faults of its process")
                .at("third.cold"),
            1);
}

TEST_F(road_matrix, makes_what_a_remedy_says_in_place_of_the_same_again) {
  const record r = made_by({"matrix.held/*"});
  const std::string failed = "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR",
                    right = ": CUBLAS_STATUS_SUCCESS, numbers right; context none; numbers right";
  EXPECT_EQ(described(r, "first.cold+smaller"), failed + "; then cublasSgemm third" + right);
  EXPECT_THAT(names_of(r), testing::Not(testing::Contains("second.cold+smaller"))) << "it has no smaller one";
  EXPECT_EQ(described(r, "first.cold+anew"), failed + "; then " + failed + "; context none")
      << "brought about again, when the operation was prepared";
  EXPECT_EQ(described(r, "first.cold+in_new_thread"), failed + "; then cublasSgemm first" + right);
  EXPECT_EQ(arm_of(r, "first.cold+in_new_thread").trials.at(0).measurements.back(),
            (measurement{"thread of the fault", 0, ""}));
  EXPECT_EQ(described(r, "first.cold+restart"), failed + "; then " + failed + "; context none");
  EXPECT_EQ(described(r, "first.cold+prevent"), "cublasSgemm first" + right);
}

TEST_F(road_matrix, ends_the_process_of_the_fault_before_the_next_one_where_the_remedy_says_so) {
  const record r = made_by({"matrix.held/first.cold*"});
  const std::string failed = "cublasSgemm first: CUBLAS_STATUS_INTERNAL_ERROR";
  const auto processes = [&](const std::string& arm) {
    std::vector<double> found;
    for (const measurement& m : arm_of(r, arm).trials.at(0).measurements)
      if (m.name == "process") found.push_back(m.value);
    return found;
  };
  for (const std::string arm : {"first.cold+restart", "first.cold+restart_in_its_place"}) {
    EXPECT_EQ(described(r, arm), failed + "; then " + failed + "; context none") << arm;
    ASSERT_EQ(processes(arm).size(), 2U) << arm;
  }
  EXPECT_NE(processes("first.cold+restart").at(0), processes("first.cold+restart").at(1));
  EXPECT_EQ(processes("first.cold+restart_in_its_place").at(0),
            processes("first.cold+restart_in_its_place").at(1));
}

TEST_F(road_matrix, does_what_prevents_a_fault_before_it_where_the_fault_comes_before_the_operation) {
  const record r = made_by({"matrix.held_early/first.cold", "matrix.held_early/first.cold+prevent"});
  EXPECT_THAT(described(r, "first.cold"), HasSubstr("INTERNAL_ERROR"));
  EXPECT_THAT(described(r, "first.cold+prevent"), HasSubstr("numbers right"));
}

TEST_F(road_matrix, observes_nothing_where_a_lasting_fault_was_not_brought_about) {
  const record r = made_by(
      {"matrix.absent/first.cold", "matrix.absent/second.cold", "matrix.absent/third.cold", "--jobs", "1"});
  for (const char* cell : {"first.cold", "second.cold", "third.cold"}) {
    const observation& seen = arm_of(r, cell).trials.at(0);
    EXPECT_EQ(seen.ended, outcome::not_provoked) << cell;
    EXPECT_THAT(seen.why, HasSubstr("it cannot be brought about here")) << cell;
    EXPECT_TRUE(seen.calls.empty()) << cell;
  }
}

TEST_F(road_matrix, leaves_out_what_the_library_does_not_have_and_nothing_else) {
  const record r = made_by({"matrix.older_library/*", "--jobs", "1"});
  const observation& control = arm_of(r, "control").trials.at(0);
  EXPECT_EQ(control.ended, outcome::completed);
  EXPECT_EQ(control.calls.size(), 2U) << "of the other operation, cold and warm";
  EXPECT_EQ(described(r, "there.cold"), "cublasSgemm there: CUBLAS_STATUS_INTERNAL_ERROR; context none");
  EXPECT_EQ(described(r, "there.warm"), "cublasSgemm there: CUBLAS_STATUS_EXECUTION_FAILED; context none");
  for (const char* cell : {"missing.cold", "missing.warm"}) {
    EXPECT_EQ(arm_of(r, cell).trials.at(0).ended, outcome::not_provoked) << cell;
    EXPECT_EQ(arm_of(r, cell).trials.at(0).why, "it has no cublasNew") << cell;
    EXPECT_TRUE(arm_of(r, cell).trials.at(0).calls.empty()) << cell;
  }
}

TEST_F(road_matrix, goes_on_in_a_new_process_behind_a_cell_that_crashed) {
  const auto process = measured({"matrix.lasting/crashing.cold", "matrix.lasting/first.cold",
                                 "matrix.lasting/second.cold", "--jobs", "1"},
                                "process");
  ASSERT_EQ(process.size(), 3U);
  EXPECT_NE(process.at("crashing.cold"), process.at("first.cold"));
  EXPECT_EQ(process.at("first.cold"), process.at("second.cold"));
}

TEST_F(road_matrix, comes_to_the_same_whatever_shares_a_process_and_in_whatever_order) {
  const auto separate =
      signatures(made_by({"matrix.alone/*", "matrix.lasting/*", "--separate", "--jobs", "4"}));
  EXPECT_GT(separate.size(), 40U);
  EXPECT_THAT(signatures(made_by({"matrix.alone/*", "matrix.lasting/*", "--jobs", "1"})),
              ElementsAreArray(separate));
  EXPECT_THAT(signatures(made_by({"matrix.alone/*", "matrix.lasting/*", "--jobs", "4", "--shuffle"})),
              ElementsAreArray(separate));
}

}  // namespace
}  // namespace cufault
