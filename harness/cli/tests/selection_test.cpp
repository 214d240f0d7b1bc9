// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Which cases and arms `cufault run` takes, and in which order.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <set>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(end_to_end, leaves_thorough_arms_out_of_the_quick_tier_unless_named) {
  const auto has_it = [](const process_result& seen) {
    return seen.stdout_text.find("thorough") != std::string::npos;
  };
  EXPECT_TRUE(has_it(run({"road.ends", "-v"})));
  EXPECT_FALSE(has_it(run({"road.ends", "-v", "--tier", "quick"})));
  EXPECT_FALSE(has_it(run({"road.ends", "-v"}, {{"CUFAULT_TIER", "quick"}})));
  EXPECT_TRUE(has_it(run({"road.ends/thorough", "-v", "--tier", "quick"})));
}

TEST_F(end_to_end, takes_under_ctest_what_its_options_say_from_the_environment) {
  const std::string old = (fs::path(FAKE_CUBLAS_DIR) / "old").string();
  ASSERT_EQ(
      cufault({"run", "road.create", "--records", (folder / "records").string()}, {{"CUFAULT_CUBLAS", old}})
          .exit_code,
      0);
  EXPECT_EQ(keys_of(load_record(files(".jsonl").at(0))).at("cublas"), "12.4.0");
  const auto order = [&](const std::map<std::string, std::string>& environment) {
    return order_of_arms(run({"road.create", "--seed", "2", "--jobs", "1", "-v"}, environment));
  };
  const std::string as_listed = order({}), shuffled = order({{"CUFAULT_SHUFFLE", "1"}});
  EXPECT_NE(shuffled, as_listed);
  EXPECT_EQ(order({{"CUFAULT_SHUFFLE", "1"}}), shuffled);
}

TEST_F(end_to_end, stacks_do_not_differ_by_variables_that_choose_no_library) {
  const std::string old = (fs::path(FAKE_CUBLAS_DIR) / "old").string();
  ASSERT_EQ(cufault({"run", "road.create", "--records", (folder / "records").string()},
                    {{"CUFAULT_CUBLAS", old}, {"CUFAULT_TIER", "full"}, {"CUFAULT_JOBS", "1"}})
                .exit_code,
            0);
  const auto variables = load_record(files(".jsonl").at(0)).stack->at("environment");
  EXPECT_EQ(variables.at("CUFAULT_CUBLAS"), old);
  EXPECT_FALSE(variables.contains("CUFAULT_TIER")) << variables;
  EXPECT_FALSE(variables.contains("CUFAULT_JOBS")) << variables;
}

TEST_F(end_to_end, runs_every_arm_in_exactly_one_part_and_the_controls_in_all) {
  const auto arms_of = [&](const char* part, const char* parts) {
    fs::remove_all(folder / "records");
    EXPECT_EQ(run({"road.create", "--part", part, parts}).exit_code, 0);
    const record r = load_record(files(".jsonl").at(0));
    std::multiset<std::string> names;
    for (const arm_result& a : r.cases.at(0).arms) names.insert(a.name);
    return names;
  };
  const auto whole = arms_of("1", "1");
  auto dealt = arms_of("1", "2");
  const auto second = arms_of("2", "2");
  EXPECT_THAT(dealt, ::testing::Contains("control"));
  EXPECT_THAT(second, ::testing::Contains("control"));
  dealt.insert(second.begin(), second.end());
  dealt.erase(dealt.find("control"));
  EXPECT_EQ(dealt, whole);
}

TEST_F(end_to_end, records_no_part_for_which_no_arm_is_left_or_that_is_none) {
  EXPECT_EQ(run({"road.create", "--part", "9", "9"}).exit_code, 77);
  EXPECT_TRUE(files(".jsonl").empty());
  for (const auto& [part, parts] : {std::pair{"0", "2"}, {"3", "2"}, {"1", "0"}, {"1", "x"}}) {
    expect_refused(run({"road.create", "--part", part, parts}), "--part");
  }
}

class leaving_out : public end_to_end {
 protected:
  struct made {
    std::set<std::string> arms;
    std::uint64_t left_out = 0;
    std::string text;
    fs::path file;
  };
  made of(const std::vector<std::string>& words, const std::string& kept = "last") {
    fs::remove_all(folder / "records");
    const auto seen = run(words);
    const record r = load_record(files(".jsonl").at(0));
    made m{{}, r.left_out, seen.stdout_text, folder / (kept + ".jsonl")};
    fs::copy_file(files(".jsonl").at(0), m.file, fs::copy_options::overwrite_existing);
    EXPECT_EQ(r.cases.size(), 1U);
    for (const arm_result& a : r.cases.at(0).arms) m.arms.insert(a.name);
    return m;
  }
};

TEST_F(leaving_out, cells_with_a_remedy_where_nothing_fails_by_a_record_of_this_stack) {
  const made all = of({"matrix.harmless"}, "all");
  EXPECT_EQ(all.arms.size(), 1U + 8 * 5) << "nothing is recorded yet";
  EXPECT_EQ(all.left_out, 0U);
  ASSERT_EQ(add(all.file).exit_code, 0);
  const made some = of({"matrix.harmless"}, "some");
  EXPECT_THAT(some.arms, ElementsAre("control", "crashing.cold", "crashing.warm", "first.cold", "first.warm",
                                     "second.cold", "second.warm", "third.cold", "third.warm"));
  EXPECT_EQ(some.left_out, 8U * 4);
  EXPECT_THAT(some.text, HasSubstr("32 arms with a remedy were not run: without it nothing fails, by a "
                                   "record of this stack. CASE/ARM runs one, --tier nightly all.\n"));
  EXPECT_THAT(of({"matrix.harmless", "--json"}).text, HasSubstr("\"left_out\": 32"));
  EXPECT_EQ(of({"matrix.harmless", "--part", "1", "8"}).left_out, 4U);

  EXPECT_EQ(of({"matrix.harmless", "--tier", "nightly"}).arms, all.arms);
  EXPECT_EQ(of({"matrix.harmless", "--workspace-config", ":16:8"}).arms, all.arms);
  const made with_one = of({"matrix.harmless", "matrix.harmless/first.cold+retry"});
  EXPECT_EQ(with_one.arms.size(), some.arms.size() + 1) << "what is named itself runs";
  EXPECT_EQ(with_one.left_out, 8U * 4 - 1);

  const auto gate = [&](const made& baseline, const made& candidate) {
    return cufault({"gate", "--baseline", baseline.file.string(), "--candidate", candidate.file.string()});
  };
  EXPECT_EQ(gate(all, some).exit_code, 0) << "that nothing fails is in the candidate";
  EXPECT_EQ(gate(some, all).exit_code, 0);
}

TEST_F(leaving_out, nothing_by_a_record_of_another_stack) {
  const fs::path made = of({"matrix.harmless"}, "all").file;
  record elsewhere = load_record(made);
  (*elsewhere.stack)["keys"]["cublas"] = "13.2.0";
  write(made, elsewhere);
  ASSERT_EQ(add(made).exit_code, 0);
  EXPECT_EQ(of({"matrix.harmless"}).left_out, 0U);
}

TEST_F(end_to_end, shuffles_by_the_seed_and_judges_alike) {
  add_what_is_seen();
  const auto order = [&](const char* seed) {
    fs::remove_all(folder / "records");
    const auto seen =
        run({"road.create", "--mode", "gate", "--shuffle", "--seed", seed, "--jobs", "1", "-v"});
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
    const record r = load_record(files(".jsonl").back());
    std::set<std::string> names;
    for (const arm_result& a : r.cases.at(0).arms) names.insert(a.name);
    EXPECT_THAT(names, ElementsAre("control", "dead_end", "fault", "remedy"));
    return order_of_arms(seen);
  };
  EXPECT_EQ(order("1"), order("1"));
  // Written down: another standard library or machine draws the same.
  EXPECT_EQ(order("1"), "remedy control dead_end fault ");
  EXPECT_EQ(order("4"), "control dead_end fault remedy ");
}

TEST_F(end_to_end, repeats_the_data_of_a_run_by_its_seed) {
  run({"road.create", "--seed", "42"});
  EXPECT_EQ(load_record(files(".jsonl").at(0)).seed, 42U);
}

TEST_F(end_to_end, names_an_unknown_case) {
  expect_refused(run({"road.nowhere"}),
                 "no case, family or CASE/ARM is called road.nowhere; `cufault list` names them\n");
  EXPECT_THAT(run({"road.craete"}).stderr_text, HasSubstr("; did you mean road.create?\n"));
  EXPECT_THAT(run({"road.create/fualt"}).stderr_text, HasSubstr("; did you mean road.create/fault?\n"));
}

TEST_F(end_to_end, says_which_tier_has_what_was_named) {
  const auto seen = run({"sweep.road"});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_EQ(seen.stdout_text, "nothing to run in the full tier; --tier nightly would run sweep.road\n");
}

}  // namespace
}  // namespace cufault
