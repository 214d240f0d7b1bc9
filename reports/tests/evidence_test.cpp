// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is committed must be evidence: no expectation without the record that shows it.
#include "reports/claims.hpp"
#include "reports/expectation.hpp"
#include "reports/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;

const arm_result* find(const record& r, const std::string& case_name, const std::string& arm_name) {
  for (const auto& c : r.cases) {
    for (const auto& a : c.arms) {
      if (c.name == case_name && a.name == arm_name) return &a;
    }
  }
  return nullptr;
}

TEST(every_expectation, has_the_signature_that_the_record_it_names_shows) {
  std::map<std::string, record> records;
  const auto expected = expectation_set::load(CUFAULT_EXPECTATIONS);
  ASSERT_FALSE(expected.all().empty());
  for (const expectation& e : expected.all()) {
    std::vector<std::string> files{e.record};
    if (e.flaky) files.insert(files.end(), e.flaky->also.begin(), e.flaky->also.end());
    arm_result shown;
    for (const std::string& name : files) {
      const fs::path file = fs::path(CUFAULT_RECORDED) / name;
      ASSERT_TRUE(fs::exists(file)) << e.source << " names " << name << ", which is not in reports/recorded";
      if (!records.contains(name)) records[name] = load_record(file);
      const record& r = records[name];
      const arm_result* found = find(r, e.case_name, e.arm);
      ASSERT_NE(found, nullptr) << e.source << ": " << name << " has no " << e.case_name << "/" << e.arm;
      shown.races = found->races;
      shown.trials.insert(shown.trials.end(), found->trials.begin(), found->trials.end());
      EXPECT_TRUE(e.when.hold(keys_of(r))) << e.source << " does not hold on the stack of its own record";
    }
    ASSERT_TRUE(std::all_of(shown.trials.begin(), shown.trials.end(), comparable)) << e.source;
    EXPECT_EQ(describe(arm_signatures(shown)), describe(e.signatures)) << e.source;
    EXPECT_EQ(arm_signatures(shown), e.signatures) << e.source;
    if (!e.flaky) continue;
    EXPECT_EQ(e.flaky->reason, shown.races) << e.source;
    const auto counted = distinct_signatures(shown.trials);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      EXPECT_DOUBLE_EQ(e.flaky->rates.at(i), counted[i].trials / static_cast<double>(shown.trials.size()))
          << e.source;
    }
  }
}

TEST(every_record, can_be_read_came_to_its_end_and_was_made_by_a_committed_cufault) {
  int read = 0;
  for (const auto& entry : fs::directory_iterator(CUFAULT_RECORDED)) {
    if (entry.path().extension() != ".json") continue;
    const record r = load_record(entry.path());
    ++read;
    EXPECT_TRUE(r.complete) << entry.path();
    EXPECT_FALSE(r.dirty) << entry.path() << " was made by a tree that differs from every commit";
    EXPECT_NE(r.commit, "unknown") << entry.path();
  }
  EXPECT_GT(read, 0);
}

TEST(every_recorded_case, has_a_control_that_would_fail_if_wrong_numbers_were_taken_for_right_ones) {
  std::set<std::string> cases, proved;
  for (const auto& entry : fs::directory_iterator(CUFAULT_RECORDED)) {
    if (entry.path().extension() != ".json") continue;
    const record r = load_record(entry.path());
    if (keys_of(r)["cublas"] != "13.1.0") continue;
    for (const auto& c : r.cases) {
      cases.insert(c.name);
      for (const auto& a : c.arms) {
        if (a.kind != arm_kind::control) continue;
        for (const auto& o : a.trials)
          for (const auto& call : o.calls)
            if (call.status == "RIGHT_NUMBERS") proved.insert(c.name);
      }
    }
  }
  std::set<std::string> unproved;
  std::set_difference(cases.begin(), cases.end(), proved.begin(), proved.end(),
                      std::inserter(unproved, unproved.begin()));
  // Their controls look at where something was written, or at memory. With numbers they are not measured yet.
  EXPECT_EQ(unproved,
            (std::set<std::string>{"arguments.copies", "arguments.gemm", "arguments.lt", "arguments.routines",
                                   "arguments.settings", "capture.memory_growth"}));
}

TEST(every_claim_of_a_recorded_arm, is_in_the_ledger) {
  std::map<std::string, bool> known;
  for (const claim& c : load_claims(CUFAULT_CLAIMS_FILE)) known[c.id] = true;
  for (const auto& entry : fs::directory_iterator(CUFAULT_RECORDED)) {
    if (entry.path().extension() != ".json") continue;
    for (const auto& c : load_record(entry.path()).cases) {
      for (const auto& a : c.arms) {
        for (const auto& id : a.claims)
          EXPECT_TRUE(known.contains(id))
              << entry.path() << ": " << c.name << "/" << a.name << " tests " << id;
      }
    }
  }
}

}  // namespace
}  // namespace cufault
