// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is committed must be evidence: no expectation without the record that shows it.
#include "reports/base/json_input.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
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

const expectation_set& expectations() {
  static const auto all = expectation_set::load(CUFAULT_EXPECTATIONS, CUFAULT_RECORDED);
  return all;
}

const arm_result* find(const record& r, const std::string& case_name, const std::string& arm_name) {
  for (const auto& c : r.cases)
    for (const auto& a : c.arms)
      if (c.name == case_name && a.name == arm_name) return &a;
  return nullptr;
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
      {"CUDA version of the driver", "a fact of the stack: expectations have conditions on it"},
      {"CUDA version of the runtime", "a fact of the stack: expectations have conditions on it"},
      {"CUDA libraries that are neither the pair's nor the driver's", "what else the program has loaded"},
      {"architecture of the device", "a fact of the stack: expectations have conditions on it"},
      {"architecture of the PTX", "a fact of the build"},
      {"version that cublasLtGetVersion says", "a fact of the stack: expectations have conditions on it"},
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

TEST(every_expectation, is_what_the_records_that_it_points_to_show) {
  ASSERT_FALSE(expectations().all().empty());
  for (expectation e : expectations().all()) {
    try {
      expectations().resolve(e);
    } catch (const input_error& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    EXPECT_FALSE(e.seen.empty()) << e.source;
    EXPECT_FALSE(e.trials.empty()) << e.source;
  }
}

TEST(every_expectation, states_the_rates_that_its_records_show) {
  int racing = 0;
  for (expectation e : expectations().all()) {
    if (!e.flaky) continue;
    ++racing;
    expectations().resolve(e);
    ASSERT_EQ(e.flaky->rates.size(), e.seen.size()) << e.source;
    for (std::size_t i = 0; i < e.seen.size(); ++i) {
      const auto hits = std::count_if(e.trials.begin(), e.trials.end(), [&](const observation& o) {
        return signature_of(o) == e.seen[i].seen;
      });
      EXPECT_DOUBLE_EQ(e.flaky->rates[i], static_cast<double>(hits) / static_cast<double>(e.trials.size()))
          << e.source << ": " << describe(e.seen[i].seen);
    }
    // The record of a stack may be from before the arm was marked as racing: then it has no reason.
    std::string reason;
    for (const auto& stack : e.stacks) {
      const auto* const shown = find(stacks().at(stack), e.case_name, e.arm);
      ASSERT_NE(shown, nullptr) << e.source;
      if (reason.empty()) reason = shown->races;
      EXPECT_TRUE(shown->races.empty() || shown->races == reason) << e.source;
    }
    EXPECT_EQ(e.flaky->reason, reason) << e.source;
  }
  EXPECT_GT(racing, 0);
}

TEST(every_expectation, is_the_one_that_is_found_on_its_own_stacks) {
  ASSERT_FALSE(expectations().all().empty());
  for (const expectation& e : expectations().all())
    for (const auto& stack : e.stacks) {
      ASSERT_TRUE(stacks().contains(stack)) << e.source;
      const auto* const found = expectations().find(e.case_name, e.arm, keys_of(stacks().at(stack)));
      ASSERT_NE(found, nullptr) << e.source << " does not hold on " << stack;
      EXPECT_EQ(found->digest, e.digest) << e.source << ": " << found->source << " is found instead";
    }
}

// Gates passed on these. Filing a record of one of them must not replace what is expected of another.
TEST(every_recorded_arm, is_as_expected_on_stacks_on_which_gates_passed) {
  int judged = 0;
  for (const auto& [folder, r] : stacks()) {
    if (keys_of(r)["cublas"] != "13.1.0" || folder.find("-other-") != folder.npos) continue;
    for (case_result c : r.cases) {
      judge(c, expectations(), keys_of(r));
      for (const arm_result& a : c.arms) {
        ++judged;
        EXPECT_NE(a.judged, verdict::changed) << folder << ": " << c.name << "/" << a.name << ": " << a.why;
        EXPECT_NE(a.judged, verdict::worsened) << folder << ": " << c.name << "/" << a.name << ": " << a.why;
      }
    }
  }
  EXPECT_GT(judged, 9000);
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
  for (const auto& [folder, r] : stacks()) EXPECT_EQ(stack_folder_name(r.stack), folder);
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
        const bool recorded = std::any_of(
            arms.begin(), arms.end(), [&](const auto& arm) { return is_about(rule, arm.first, arm.second); });
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

TEST(every_expectation, of_a_cell_holds_on_the_minor_versions_that_were_recorded_alone) {
  int of_one = 0, of_several = 0;
  for (const expectation& e : expectations().all()) {
    if (!e.case_name.starts_with("matrix.")) continue;
    std::set<std::string> recorded;
    for (const std::string& stack : e.stacks) recorded.insert(keys_of(stacks().at(stack)).at("cublas"));
    ++(recorded.size() > 1 ? of_several : of_one);
    stack_keys stack = keys_of(stacks().at(e.stacks.front()));
    for (const char* version :
         {"12.3.4", "12.4.5", "12.5.3", "13.0.2", "13.1.0", "13.2.0", "13.10.0", "13.11.0"}) {
      stack["cublas"] = version;
      EXPECT_EQ(e.when.hold(stack), recorded.contains(version)) << e.source << ": " << version;
    }
  }
  EXPECT_GT(of_one, 0);
  EXPECT_GT(of_several, 0);
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

/// Bytes of all files, and arms of records, by family: "matrix" of matrix.jsonl.
struct committed {
  std::map<std::string, std::uintmax_t> bytes, arms;
  committed() {
    for (const fs::path folder : {CUFAULT_RECORDED, CUFAULT_EXPECTATIONS})
      for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        const std::string family = entry.path().stem();
        bytes[family] += entry.file_size();
        std::ifstream lines(entry.path());
        if (folder == CUFAULT_RECORDED && entry.path().extension() == ".jsonl")
          for (std::string line; std::getline(lines, line);) {
            const auto said = nlohmann::json::parse(line);
            arms[family] += said.contains("arms") ? said["arms"].size() : said.contains("arm") ? 1 : 0;
          }
      }
  }
};

// Git and packages compress: what a folder takes in a checkout says little.
TEST(committed_data, takes_less_than_1500_kb_compressed) {
  const std::filesystem::path reports = std::filesystem::path(CUFAULT_RECORDED).parent_path();
  const std::string command = "tar -C '" + reports.string() + "' -c recorded expectations | gzip -9 | wc -c";
  std::FILE* sum = popen(command.c_str(), "r");
  ASSERT_NE(sum, nullptr);
  long bytes = 0;
  EXPECT_EQ(std::fscanf(sum, "%ld", &bytes), 1);
  EXPECT_EQ(pclose(sum), 0);
  EXPECT_GT(bytes, 100'000);
  EXPECT_LT(bytes, 1'500'000) << "the bar for all files of reports/recorded and reports/expectations";
}

// JAX has most: of each trial in which it crashes the end of what it printed is kept, with addresses that differ.
TEST(committed_data, of_a_cell_or_of_an_arm_of_a_framework_are_small) {
  committed all;
  for (const auto& [family, most] : std::map<std::string, std::uintmax_t>{
           {"matrix", 550}, {"pytorch", 1500}, {"jax", 3000}, {"cupy", 1700}}) {
    ASSERT_GT(all.arms[family], 0U) << family;
    EXPECT_LT(all.bytes[family] / all.arms[family], most) << family << ", record and expectation of an arm";
  }
}

}  // namespace
}  // namespace cufault
