// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Expectations: bless, and runs as a gate on them.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/record.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(end_to_end, fails_the_gate_while_uncharted) {
  EXPECT_EQ(run({"road.create", "--mode", "gate"}).exit_code, 1);
}

TEST_F(end_to_end, passes_the_gate_once_blessed_and_twice) {
  bless_what_is_seen();
  for (int i = 0; i < 2; ++i) {
    const auto seen = run({"road.create", "--mode", "gate"});
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
    EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("REPRODUCED"), HasSubstr("CLEARED"),
                                        HasSubstr("STILL_FAILS"), HasSubstr("OK")));
  }
}

TEST_F(end_to_end, shows_a_record_by_the_expectations_that_it_is_told) {
  bless_what_is_seen();
  const std::string made = files(".jsonl").at(0);
  EXPECT_THAT(cufault({"show", made}).stdout_text, HasSubstr("4 arms: 4 UNCHARTED"));
  EXPECT_THAT(cufault({"show", made, "--expectations", folder / "expectations"}).stdout_text,
              HasSubstr("4 arms: 1 STILL_FAILS, 1 REPRODUCED, 1 CLEARED, 1 OK"));
}

struct surprise {
  const char* variable;
  const char* order;
  const char* verdict;
  friend std::ostream& operator<<(std::ostream& out, const surprise& s) {
    return out << s.variable << '=' << s.order << " is " << s.verdict;
  }
};

class end_to_end_with_a_surprise : public end_to_end, public testing::WithParamInterface<surprise> {};

TEST_P(end_to_end_with_a_surprise, is_seen_in_observe_and_fails_the_gate) {
  bless_what_is_seen();
  const std::map<std::string, std::string> environment{{GetParam().variable, GetParam().order}};
  const auto observed = run({"road.create"}, environment);
  EXPECT_EQ(observed.exit_code, 0);
  EXPECT_THAT(observed.stdout_text, HasSubstr(std::string(" ") + GetParam().verdict));
  EXPECT_EQ(run({"road.create", "--mode", "gate"}, environment).exit_code, 1);
}

INSTANTIATE_TEST_SUITE_P(
    each, end_to_end_with_a_surprise,
    testing::Values(surprise{"ROAD_FAULT", "14", "CHANGED"}, surprise{"ROAD_FAULT", "0", "GONE"},
                    surprise{"ROAD_FAULT", "crash", "WORSENED"}, surprise{"ROAD_FAULT", "hang", "WORSENED"},
                    surprise{"ROAD_FAULT", "exit", "WORSENED"}, surprise{"ROAD_REMEDY", "3", "REMEDY_BROKEN"},
                    surprise{"ROAD_REMEDY", "crash", "WORSENED"}, surprise{"ROAD_DEAD_END", "0", "GONE"}));

TEST_F(end_to_end, skips_in_a_gate_what_was_expected_of_a_gpu_that_is_missing_unless_one_is_required) {
  bless_what_is_seen();
  // What is seen without a GPU stands for what was seen with one.
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().filename() != "road.jsonl") continue;
    std::ifstream in(file.path());
    std::string of_another_case;
    for (std::string line; std::getline(in, line);)
      if (const auto at = line.find("road.create");
          at != line.npos && line.find("\"kind\":\"remedy") == line.npos)
        of_another_case += line.replace(at, std::string("road.create").size(), "road.on_a_gpu") + "\n";
    std::ofstream(file.path(), std::ios::app) << of_another_case;
  }
  auto expected = expectation_set::load(folder / "expectations", folder / "recorded");
  const expectation_set of_create = expected;
  for (expectation e : of_create.all()) {
    if (e.arm != "control" && e.arm != "fault") continue;
    e.case_name = "road.on_a_gpu";
    e.when.by_key["compute_capability"] = "9.0";
    expected.put(e);
  }
  expected.save(folder / "expectations");
  const auto alone = run({"road.on_a_gpu", "--mode", "gate"});
  EXPECT_EQ(alone.exit_code, 77);
  EXPECT_THAT(alone.stdout_text, HasSubstr("gate: SKIPPED: nothing could be provoked here: no GPU: "));
  const auto beside_others = run({"road.on_a_gpu", "road.create", "--mode", "gate"});
  EXPECT_EQ(beside_others.exit_code, 0);
  EXPECT_THAT(beside_others.stdout_text,
              AllOf(HasSubstr("2 arms of 1 case need a GPU and were not run: no GPU: "),
                    HasSubstr("gate: passed, without the arms that need a GPU\n")));
  EXPECT_EQ(run({"road.on_a_gpu", "road.create", "--mode", "gate"}, {{"CUFAULT_REQUIRE_GPU", "1"}}).exit_code,
            1);
}

TEST_F(end_to_end, refuses_expectations_of_arms_that_do_not_exist) {
  bless_what_is_seen();
  auto expected = expectation_set::load(folder / "expectations", folder / "recorded");
  expectation e = expected.all().front();
  e.arm = "forgotten";
  expected.put(e);
  expected.save(folder / "expectations");
  const auto seen = run({});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("expects road.create/forgotten, which this cufault does not have"));
}

TEST_F(end_to_end, blesses_nothing_that_its_own_stack_contradicts_or_that_ties) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  const auto bless_when = [&](const std::string& when) { return bless(made, {"--when", when}); };
  EXPECT_THAT(bless_when("foo=1").stderr_text, HasSubstr("unknown condition"));
  EXPECT_THAT(bless_when("cublas=<1").stderr_text, HasSubstr("does not hold on the stack"));
  EXPECT_TRUE(fs::is_empty(folder / "expectations"));
  EXPECT_EQ(bless_when("cublaslt=>=13").exit_code, 1);
  EXPECT_THAT(bless_when("runtime=>=1").stderr_text, HasSubstr("no more specific than"));
  EXPECT_EQ(run({"road.create", "--mode", "gate"}).exit_code, 0) << "what was blessed before is not spoilt";
}

TEST_F(end_to_end, blesses_nothing_from_a_run_that_did_not_end_or_of_a_cufault_that_nobody_else_has) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const record made = load_record(files(".jsonl").at(0));
  for (const bool ended : {false, true}) {
    record spoilt = made;
    spoilt.complete = ended;
    spoilt.dirty = ended;
    write(folder / "spoilt.jsonl", spoilt);
    const auto seen = cufault({"bless", folder / "spoilt.jsonl", "--expectations", folder / "expectations"});
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_THAT(seen.stderr_text, HasSubstr(ended ? "differs from every commit" : "did not come to its end"));
  }
  record cut_short = made;
  cut_short.complete = false;
  write(folder / "cut_short.jsonl", cut_short);
  EXPECT_THAT(bless((folder / "cut_short.jsonl").string(), {"road.create"}).stdout_text,
              HasSubstr("blessed: road.create"))
      << "arms that are in it are whole";
}

/// Records of runs in which the fault arm came to another status than is expected.
class end_to_end_with_a_difference : public end_to_end {
 protected:
  std::string differing(const char* status) {
    const auto before = files(".jsonl");
    EXPECT_EQ(run({"road.create"}, {{"ROAD_FAULT", status}}).exit_code, 0);
    std::string made;
    for (const fs::path& file : files(".jsonl"))
      if (std::find(before.begin(), before.end(), file) == before.end()) made = file;
    EXPECT_THAT(bless(made).stdout_text,
                HasSubstr("left out: road.create / fault: CHANGED, and not repeated"));
    return made;
  }
};

TEST_F(end_to_end_with_a_difference, blesses_none_that_was_not_repeated) {
  bless_what_is_seen();
  const std::string once = differing("1"), otherwise = differing("7");
  EXPECT_THAT(
      bless(once).stdout_text,
      HasSubstr("left out: road.create / fault: CHANGED, and not repeated with an equal outcome; run it "
                "again and give both records (--with), or name it: road.create/fault\n"));
  EXPECT_THAT(bless(once, {"--with", otherwise}).stdout_text,
              AllOf(HasSubstr("left out: road.create / fault"), HasSubstr("0 blessed")))
      << "another outcome is no repetition";
  EXPECT_THAT(bless(once, {"road.create"}).stdout_text, HasSubstr("0 blessed"))
      << "the case is named, not the arm";
  EXPECT_THAT(bless(once, {"road.create/f*t"}).stdout_text, HasSubstr("0 blessed"));
  EXPECT_EQ(run({"road.create", "--mode", "gate"}).exit_code, 0)
      << "what was expected before is expected still";
}

TEST_F(end_to_end_with_a_difference, blesses_one_that_a_second_record_repeats) {
  bless_what_is_seen();
  const std::string once = differing("1"), again = differing("1");
  EXPECT_THAT(bless(once, {"--with", again}).stdout_text, HasSubstr("blessed: road.create / fault"));
  EXPECT_EQ(run({"road.create/fault", "--mode", "gate"}, {{"ROAD_FAULT", "1"}}).exit_code, 0);
}

TEST_F(end_to_end_with_a_difference, blesses_one_that_two_equal_trials_show_or_that_is_named) {
  bless_what_is_seen();
  const std::string once = differing("1");
  record twice = load_record(once);
  for (case_result& c : twice.cases)
    for (arm_result& a : c.arms) {
      if (a.name != "fault") continue;
      a.trials.push_back(a.trials.front());
      a.runs.at(0).trials = a.trials.size();
    }
  write(folder / "twice.jsonl", twice);
  EXPECT_THAT(bless(folder / "twice.jsonl").stdout_text, HasSubstr("blessed: road.create / fault"));
  EXPECT_THAT(bless(once, {"road.create/remedy"}).stdout_text, HasSubstr("blessed: road.create / remedy"))
      << "somebody looked at it";
}

/// Of two GPUs, on one of which an arm that races shows one outcome more.
TEST_F(end_to_end, expects_of_an_arm_that_races_what_any_stack_of_the_same_conditions_showed) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const record made = load_record(files(".jsonl").at(0));
  const auto file_of = [&](const char* driver, bool another_outcome) {
    record r = made;
    r.stack["keys"]["driver"] = driver;
    for (case_result& c : r.cases)
      for (arm_result& a : c.arms) {
        if (a.name != "fault") continue;
        a.races = "a race";
        a.trials.push_back(a.trials.front());
        if (another_outcome) a.trials.back().calls.front().what.status = "CUBLAS_STATUS_INVALID_VALUE";
        a.runs.at(0).trials = a.trials.size();
      }
    const fs::path file = folder / (std::string(driver) + ".jsonl");
    write(file, r);
    return file.string();
  };
  const std::string with_another = file_of("580.1", true), without = file_of("580.2", false);
  for (const std::string& file : {without, with_another})
    EXPECT_THAT(bless(file, {"road.create/fault"}).stdout_text, HasSubstr("blessed: road.create / fault"));
  const auto set = expectation_set::load(folder / "expectations", folder / "recorded");
  ASSERT_EQ(set.all().size(), 1U);
  EXPECT_EQ(set.all().front().stacks.size(), 2U);
  const auto* const e = set.find("road.create", "fault", keys_of(load_record(with_another)));
  ASSERT_NE(e, nullptr);
  ASSERT_TRUE(e->flaky);
  EXPECT_THAT(e->flaky->rates, testing::ElementsAre(0.75, 0.25));
  EXPECT_THAT(bless(without, {"road.create/fault"}).stdout_text, HasSubstr("0 blessed, 1 already expected"));
}

TEST_F(end_to_end, blesses_nothing_while_another_process_blesses) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  ASSERT_EQ(bless(made, {"road.create/control"}).exit_code, 1);
  const auto filed = [&] {
    std::map<std::string, std::string> texts;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "recorded")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      texts[entry.path()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return texts;
  };
  const auto before = filed();
  {
    const folder_lock other(folder, "expectations here");
    const auto seen = bless(made, {});
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_THAT(seen.stderr_text, HasSubstr("another cufault writes expectations here; try again"));
  }
  EXPECT_EQ(filed(), before) << "an observation without its expectation";
  EXPECT_EQ(bless(made, {}).exit_code, 1);
  EXPECT_NE(filed(), before);
}

TEST_F(end_to_end, files_nothing_where_expectations_are_in_no_folder) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  fs::remove(folder / "expectations");
  std::ofstream(folder / "expectations") << "a file";
  const auto seen = bless(files(".jsonl").at(0), {});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("expectations: cannot be read: Not a directory"));
  EXPECT_FALSE(fs::exists(folder / "recorded"));
}

TEST_F(end_to_end, blesses_arms_that_are_named_and_files_what_is_expected_of_nobody) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  const auto filed = bless(made, {"--observations-only", "road.create/control"});
  EXPECT_THAT(filed.stdout_text, HasSubstr("1 filed in"));
  EXPECT_TRUE(fs::is_empty(folder / "expectations"));
  EXPECT_THAT(bless(made, {"road.create/c*l"}).stdout_text, HasSubstr("1 blessed, 0 already expected"));
  EXPECT_THAT(bless(made, {"road.create/nothing"}).stderr_text,
              HasSubstr("has nothing called road.create/nothing"));
}

TEST_F(end_to_end, expects_the_same_of_versions_that_showed_the_same) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const record made = load_record(files(".jsonl").at(0));
  const auto blessed = [&](const char* cublas, const char* status, const std::string& when = "",
                           double measured = 0) {
    record r = made;
    r.stack["keys"]["cublas"] = cublas;
    for (case_result& c : r.cases)
      for (arm_result& arm : c.arms)
        if (arm.name == "fault") {
          arm.trials.at(0).calls.at(0).what.status = status;
          if (measured != 0)  // a gate compares it
            arm.trials[0].measurements = {{"bytes that the allocation nodes ask for", measured, "bytes"}};
        }
    const fs::path file = folder / (std::string(cublas) + ".jsonl");
    write(file, r);
    std::vector<std::string> words{"road.create/control", "road.create/fault"};
    if (!when.empty()) words.insert(words.end(), {"--when", "cublas=" + when});
    bless(file.string(), words);
    std::map<std::string, std::set<std::string>> versions;  // by arm
    const auto set = expectation_set::load(folder / "expectations", folder / "recorded");
    for (const expectation& e : set.all())
      versions[e.arm].insert(fmt::format("{} of {} stacks", e.when.by_key.at("cublas"), e.stacks.size()));
    return versions;
  };
  using testing::ElementsAre;
  EXPECT_THAT(blessed("13.1.0", "CUBLAS_STATUS_ALLOC_FAILED").at("control"),
              ElementsAre(">=13 <14 of 1 stacks"));
  auto versions = blessed("12.8.4", "CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_THAT(versions.at("control"), ElementsAre(">=12 <13 || >=13 <14 of 2 stacks"));
  EXPECT_THAT(versions.at("fault"), ElementsAre(">=12 <13 of 1 stacks", ">=13 <14 of 1 stacks"));
  versions = blessed("12.9.0", "CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_THAT(versions.at("control"), ElementsAre(">=12 <13 || >=13 <14 of 2 stacks"))
      << "as expected already";
  versions = blessed("14.0.0", "CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_THAT(versions.at("control"), ElementsAre(">=12 <13 || >=13 <14 || >=14 <15 of 3 stacks"));
  EXPECT_THAT(versions.at("fault"), ElementsAre(">=12 <13 || >=14 <15 of 2 stacks", ">=13 <14 of 1 stacks"));
  // A version that comes to something else leaves the others together.
  versions = blessed("12.8.4", "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_THAT(versions.at("fault"),
              ElementsAre(">=12 <13 of 1 stacks", ">=13 <14 of 1 stacks", ">=14 <15 of 1 stacks"));
  // The digest does not contain measurements that a gate compares.
  versions = blessed("16.0.0", "CUBLAS_STATUS_NOT_SUPPORTED", "", 512);
  EXPECT_TRUE(versions.at("fault").contains(">=16 <17 of 1 stacks"));
  // Where narrower versions are known, they are the ones that are replaced.
  versions = blessed("15.8.0", "CUBLAS_STATUS_ALLOC_FAILED", ">=15.8 <15.9");
  EXPECT_TRUE(versions.at("fault").contains(">=13 <14 || >=15.8 <15.9 of 2 stacks"));
  versions = blessed("15.8.0", "CUBLAS_STATUS_MAPPING_ERROR");
  EXPECT_TRUE(versions.at("fault").contains(">=15.8 <15.9 of 1 stacks"));
  EXPECT_TRUE(versions.at("fault").contains(">=13 <14 of 1 stacks"));
  // A narrower range that comes to something else takes its versions, and those beyond it, from a wider one.
  versions = blessed("13.10.0", "CUBLAS_STATUS_ARCH_MISMATCH", ">=13.10 <13.11");
  EXPECT_TRUE(versions.at("fault").contains(">=13.10 <13.11 of 1 stacks"));
  EXPECT_TRUE(versions.at("fault").contains(">=13 <13.10 of 1 stacks"));
  EXPECT_TRUE(versions.at("control").contains(
      ">=12 <13 || >=13 <14 || >=14 <15 || >=15.8 <15.9 || >=16 <17 of 6 stacks"))
      << "within what is known";
  // And a wider one leaves them to it.
  versions = blessed("17.3.0", "CUBLAS_STATUS_ALLOC_FAILED", ">=17.3 <17.4");
  versions = blessed("17.1.0", "CUBLAS_STATUS_LICENSE_ERROR");
  EXPECT_TRUE(versions.at("fault").contains(">=17 <17.3 of 1 stacks"));
  EXPECT_TRUE(versions.at("fault").contains(">=13 <13.10 || >=17.3 <17.4 of 2 stacks"));
}

TEST_F(end_to_end, removes_what_is_expected_where_it_files_something_else) {
  bless_what_is_seen();
  const auto expected_arms = [&] {
    const auto expected = expectation_set::load(folder / "expectations", folder / "recorded");
    std::set<std::string> names;
    for (const expectation& e : expected.all()) names.insert(e.arm);
    return names;
  };
  const auto before = expected_arms();
  ASSERT_TRUE(before.contains("fault"));
  for (const fs::path& earlier : files(".jsonl")) fs::remove(earlier);
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const std::string made = files(".jsonl").at(0);
  EXPECT_THAT(bless(made, {"--observations-only", "road.create/control"}).stdout_text,
              HasSubstr("1 filed in"));
  EXPECT_EQ(expected_arms(), before) << "the control is as expected";
  EXPECT_THAT(bless(made, {"--observations-only", "road.create"}).stdout_text,
              AllOf(HasSubstr("left out: road.create / fault: CHANGED, and not repeated"),
                    HasSubstr("0 expectations removed")))
      << "one trial may be an accident";
  EXPECT_EQ(expected_arms(), before);
  EXPECT_THAT(bless(made, {"--observations-only", "road.create/fault"}).stdout_text,
              AllOf(HasSubstr("removed: what road.create / fault was expected to show"),
                    HasSubstr("1 expectations removed")));
  auto without = before;
  without.erase("fault");
  EXPECT_EQ(expected_arms(), without);
  EXPECT_THAT(run({"road.create/fault"}).stdout_text, HasSubstr("UNCHARTED"));
}

// The stated rates rest on all trials that were blessed; a record of fewer would replace them.
TEST_F(end_to_end, keeps_the_record_of_an_arm_that_races_and_is_as_expected) {
  const std::map<std::string, std::string> counter{{"ROAD_COUNTER", folder / "counter"}};
  ASSERT_EQ(run({"road.races", "--repeats", "0"}, counter).exit_code, 0);
  bless(files(".jsonl").at(0), {});
  const auto filed = [&] {
    std::string all = read_text(folder / "expectations" / "road.jsonl");
    for (const auto& stack : fs::directory_iterator(folder / "recorded"))
      all += read_text(stack.path() / "road.jsonl");
    return all;
  };
  const std::string before = filed();
  for (const fs::path& earlier : files(".jsonl")) fs::remove(earlier);
  run({"road.races/now_and_then", "--repeats", "8"}, counter);
  const auto again = bless(files(".jsonl").at(0), {"--observations-only", "road.races/now*"});
  EXPECT_THAT(again.stdout_text, AllOf(HasSubstr("as expected; the record that shows it stays"),
                                       HasSubstr("0 expectations removed")));
  EXPECT_EQ(filed(), before);
}

}  // namespace
}  // namespace cufault
