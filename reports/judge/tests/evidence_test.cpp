// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is committed must be evidence: lines that say what their trials saw, made by committed code, and judged as the table says.
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/base/tests/input_examples.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;

// Suites called every_* run in one process (CMakeLists.txt), since each reads all records.

/// By the name of its folder.
const std::map<std::string, record>& stacks() {
  static const std::map<std::string, record> all = [] {
    std::map<std::string, record> read;
    for (const auto& path : records_in({CUFAULT_RECORDED})) read[path.filename()] = load_record(path);
    return read;
  }();
  return all;
}

const arm_result* find(const record& r, const std::string& case_name, const std::string& arm_name) {
  static std::map<const record*, std::map<std::string, const arm_result*>> all;
  auto& arms = all[&r];
  if (arms.empty())
    for (const auto& c : r.cases)
      for (const auto& a : c.arms) arms.emplace(join_key(c.name, a.name), &a);
  const auto known = arms.find(join_key(case_name, arm_name));
  return known == arms.end() ? nullptr : known->second;
}

template <class Look>
void each_recorded_arm(Look look) {
  for (const auto& [stack, r] : stacks())
    for (const auto& c : r.cases)
      for (const auto& a : c.arms) look(stack, c, a);
}

/// Of those that claims rest on, the measurements that a gate does not compare, and why.
const std::map<std::string, std::string>& uncompared_measurements() {
  static const std::map<std::string, std::string> all{
      {"CUDA version of the driver", "a fact of the stack"},
      {"CUDA version of the runtime", "a fact of the stack"},
      {"CUDA libraries that are neither the pair's nor the driver's", "what else the program has loaded"},
      {"architecture of the device", "a fact of the stack"},
      {"architecture of the PTX", "a fact of the build"},
      {"version that cublasLtGetVersion says", "a fact of the stack"},
      {"device memory in all", "a fact of the GPU"},
      {"device memory free after the failure", "what the squeeze left: it differs by GPU and by trial"},
      {"characters printed", "what a kernel printed before its process ended"},
      {"places in the source that stderr names", "what a kernel printed before its process ended"},
      {"launches that returned an error", "races"},
      {"part of the sweep", "says what was left out"},
      {"memory of a step of training *", "a framework's allocator decides: its spread is not known yet"},
      {"time of a linear layer *", "a time"},
      // Counts of rows. Each row is compared as a step.
      {"went wrong: *", "counts rows"},
      {"went wrong and was found beforehand: *", "counts rows"},
      {"wrong *: *", "counts rows"},
      {"of no documented table, *", "counts rows"},
      {"drivers accepted or refused against the rule of versions", "counts rows"},
  };
  return all;
}

/// Names and patterns of names, as rules of claims have them, below `rules`.
void add_measurements(const nlohmann::json& rules, std::set<std::string>& names) {
  for (const auto& [key, value] : rules.items()) {
    if (key == "measurement" || key == "sum" || key == "largest" || key == "measured") {
      for (const auto& name : value.is_array() ? value : nlohmann::json::array({value}))
        names.insert(name.get<std::string>());
    } else if (value.is_structured()) {
      add_measurements(value, names);
    }
  }
}

TEST(every_measurement, that_a_claim_rests_on_is_compared_by_a_gate_or_has_a_reason_why_not) {
  std::ifstream file(CUFAULT_CLAIMS_FILE);
  std::set<std::string> names;
  add_measurements(nlohmann::json::parse(file), names);
  ASSERT_GT(names.size(), 40U);
  std::set<std::string> reasons;
  for (const std::string& name : names) {
    const bool compared = std::ranges::any_of(compared_measurements(), [&](const compared_measurement& c) {
      return ::fnmatch(std::string(c.names).c_str(), name.c_str(), 0) == 0;
    });
    const auto why = std::ranges::find_if(uncompared_measurements(), [&](const auto& one) {
      return ::fnmatch(one.first.c_str(), name.c_str(), 0) == 0;
    });
    const bool not_compared = why != uncompared_measurements().end();
    EXPECT_TRUE(compared || not_compared)
        << name
        << ": add it to compared_measurements() in reports/judge/judge.cpp, or here to "
           "uncompared_measurements() with a reason";
    EXPECT_FALSE(compared && not_compared) << name << ": compared, in spite of the reason " << why->second;
    if (not_compared) reasons.insert(why->first);
  }
  for (const auto& [name, why] : uncompared_measurements())
    EXPECT_TRUE(reasons.contains(name)) << name << ": no claim rests on it";
}

// Nothing reads "saw", so that nothing else would notice.
TEST(every_line, says_what_its_trials_saw_and_is_in_its_place) {
  std::size_t lines = 0;
  for (const auto& of_stack : stacks())
    for (const auto& entry : fs::directory_iterator(fs::path(CUFAULT_RECORDED) / of_stack.first)) {
      if (entry.path().extension() != ".jsonl" || entry.path().filename() == "cost.jsonl") continue;
      std::pair<std::string, std::string> before;
      each_line(read_text(entry.path()), [&](std::string_view line, int number, bool /*whole*/) {
        const std::string where = entry.path().string() + ":" + std::to_string(number);
        const json_cursor at{parse_json(where, line, number)};
        const std::pair key(at.at("case").string(), at.at("arm").string());
        const std::string begin =
            R"({"case":")" + key.first + R"(","arm":")" + key.second + R"(","expected":)";
        EXPECT_TRUE(line.starts_with(begin)) << where << ": begins with something else";
        EXPECT_LT(before, key) << where << ": lines are sorted by case and arm";
        EXPECT_EQ(family_of_case(key.first), entry.path().stem()) << where;
        before = key;
        const arm_result* const arm = find(of_stack.second, key.first, key.second);
        ASSERT_NE(arm, nullptr) << where;
        const std::string said = R"(,"saw":)" + dump_json(saw(*arm)) + ",";
        EXPECT_NE(line.substr(0, line.find(R"("trials":)")).find(said), line.npos) << where << ": " << said;
        ++lines;
      });
    }
  EXPECT_GT(lines, 20'000U);
}

/// "STACK: 12 OK, 3 CHANGED": what each stack comes to, judged by all of them.
std::string verdicts_of_stacks() {
  const baselines all({CUFAULT_RECORDED});
  std::string table;
  for (const auto& [folder, r] : stacks()) {
    std::map<verdict, std::size_t> counts;
    std::vector<case_result> judged = r.cases;
    for (case_result& c : judged) {
      judge(c, all, keys_of(r));
      for (const arm_result& a : c.arms) ++counts[a.judged];
    }
    // A gate is green on what the stack itself shows.
    for (const exit_reason& reason : exit_reasons(judged, run_mode::gate, 0))
      ADD_FAILURE() << folder << ": " << reason.why << ": " << testing::PrintToString(reason.arms);
    table += folder + "\n";
    for (const auto& [v, count] : counts) table += "  " + std::to_string(count) + " " + to_string(v) + "\n";
  }
  EXPECT_EQ(all.problems(), std::vector<std::string>{});
  return table;
}

// A change of the judge shows in the difference of this file: read it before it is committed.
TEST(every_stack, is_judged_as_the_committed_table_says) {
  examples::expect_golden(CUFAULT_STACK_VERDICTS, verdicts_of_stacks());
}

TEST(every_recorded_arm, was_made_by_a_committed_cufault) {
  int read = 0;
  each_recorded_arm([&](const std::string& stack, const case_result& c, const arm_result& a) {
    const auto where = stack + ": " + c.name + "/" + a.name;
    ++read;
    EXPECT_FALSE(a.runs.empty()) << where;
    EXPECT_FALSE(a.trials.empty()) << where;
    for (const auto& run : a.runs) {
      EXPECT_FALSE(run.dirty) << where << " was made by a tree that differs from every commit";
      EXPECT_NE(run.commit, "unknown") << where;
      EXPECT_FALSE(run.commit.empty()) << where;
      EXPECT_FALSE(run.started.empty()) << where;
    }
  });
  EXPECT_GT(read, 0);
}

TEST(every_stack, lies_in_the_folder_that_it_is_filed_in) {
  ASSERT_FALSE(stacks().empty());
  for (const auto& [folder, r] : stacks()) EXPECT_EQ(stack_folder_name(*r.stack), folder);
}

TEST(every_recorded_case, has_a_control_that_would_fail_if_wrong_numbers_were_taken_for_right_ones) {
  std::set<std::string> cases, proved;
  each_recorded_arm([&](const std::string& stack, const case_result& c, const arm_result& a) {
    if (keys_of(stacks().at(stack))["cublas"] != "13.1.0") return;
    cases.insert(c.name);
    if (a.kind != arm_kind::control) return;
    for (const auto& o : a.trials)
      for (const auto& call : o.calls)
        if (call.what.numbers == numbers_found::right) proved.insert(c.name);
  });
  std::set<std::string> unproved;
  std::set_difference(cases.begin(), cases.end(), proved.begin(), proved.end(),
                      std::inserter(unproved, unproved.begin()));
  EXPECT_EQ(unproved, std::set<std::string>{});
}

TEST(every_claim_of_a_recorded_arm, is_in_the_ledger) {
  std::set<std::string> known;
  for (const claim& c : load_claims(CUFAULT_CLAIMS_FILE)) known.insert(c.id);
  int named = 0;
  const auto check = [&](const std::string& id, const std::string& where) {
    ++named;
    EXPECT_TRUE(known.contains(id)) << where << " names " << id;
  };
  each_recorded_arm([&](const std::string& stack, const case_result& c, const arm_result& a) {
    const auto where = stack + ": " + c.name + "/" + a.name;
    for (const auto& id : a.claims) check(id, where);
  });
  EXPECT_GT(named, 0);
}

/// Arms of rules that no record has yet.
const std::set<std::string>& arms_to_be_recorded() {
  static const std::set<std::string> all{"environment.mixed_libraries/newer_pair"};
  return all;
}

// A rule about an arm that is no more, or is spelt otherwise, would never speak.
TEST(every_rule_of_a_claim, is_about_arms_that_are_recorded) {
  std::set<std::pair<std::string, std::string>> arms;
  each_recorded_arm(
      [&](const std::string&, const case_result& c, const arm_result& a) { arms.emplace(c.name, a.name); });
  int rules = 0;
  for (const claim& c : load_claims(CUFAULT_CLAIMS_FILE))
    for (const claim_rule& each : c.rules)
      for (const std::string& glob : each.arms) {
        if (!c.awaits.empty() && glob.starts_with("pytorch.")) continue;  // what it waits for
        const claim_rule rule{.arms = {glob}};
        ++rules;
        const bool recorded =
            std::ranges::any_of(arms, [&](const auto& arm) { return is_about(rule, arm.first, arm.second); });
        EXPECT_NE(recorded, arms_to_be_recorded().contains(glob)) << c.id << ": " << glob;
      }
  EXPECT_GT(rules, 0);
}

TEST(every_claim, is_judged_alike_by_the_same_observation_of_each_stack) {
  std::set<std::string> words;
  for (const auto& [folder, loaded] : stacks()) {
    record r = loaded;
    for (case_result& c : r.cases) judge(c, {}, keys_of(r));
    for (const claim_verdict& v : judge_claims(load_claims(CUFAULT_CLAIMS_FILE), std::vector{r}))
      for (const claim_evidence& e : v.evidence)
        if (v.what.id == "S2-4" && e.arm == "no_room_for_workspace") words.insert(e.says);
  }
  EXPECT_EQ(words, std::set<std::string>{"partly"}) << "the query succeeds, the caller's allocation fails";
}

TEST(every_record, marks_what_a_stand_in_made) {
  int made_up = 0;
  each_recorded_arm([&](const std::string& stack, const case_result& c, const arm_result& a) {
    const bool says_so =
        std::ranges::any_of(std::array{"stand-in", "made-up", "made up"},
                            [&](const char* words) { return a.summary.find(words) != a.summary.npos; });
    made_up += is_made_up(a) ? 1 : 0;
    const bool control = a.kind == arm_kind::control;
    EXPECT_TRUE(control || !says_so || is_made_up(a)) << stack << ": " << c.name << "/" << a.name;
    EXPECT_FALSE(control && is_made_up(a)) << stack << ": " << c.name << "/" << a.name;
  });
  EXPECT_GT(made_up, 0);
}

// Git and packages compress: what a folder takes in a checkout says little. Fifty stacks may take 10 MB compressed: then this bar is raised.
TEST(committed_data, takes_less_than_1800_kb_compressed) {
  const fs::path reports = fs::path(CUFAULT_RECORDED).parent_path();
  const std::string command =
      "cd '" + reports.string() +
      "' && tar -c recorded | if command -v xz > /dev/null; then xz -3; else gzip -9; fi | wc -c";
  std::FILE* sum = popen(command.c_str(), "r");
  ASSERT_NE(sum, nullptr);
  long bytes = 0;
  EXPECT_EQ(std::fscanf(sum, "%ld", &bytes), 1);
  EXPECT_EQ(pclose(sum), 0);
  EXPECT_GT(bytes, 100'000);
  EXPECT_LT(bytes, 1'800'000) << "the bar for all files of reports/recorded";
}

}  // namespace
}  // namespace cufault
