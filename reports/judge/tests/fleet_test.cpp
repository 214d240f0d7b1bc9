// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/fleet.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

/// Three hosts that agree.
class fleet : public testing::Test {
 protected:
  fleet() {
    for (const char* name : {"n1@a", "n2@a", "n3@a"}) records.emplace_back(name, good(name));
  }
  static record good(const std::string& seed_by) {
    record r;
    r.started = "2026-11-21T07:27:40Z";
    r.seed = std::hash<std::string>()(seed_by);
    r.complete = true;
    *r.stack = {{"gpu", {{"name", "a GPU"}}}, {"keys", {{"driver", "580.1"}}}};
    r.cases = {{.name = "memory.leak", .arms = {arm(arm_kind::fault, {trial({no_memory})}, "fault")}}};
    return r;
  }
  [[nodiscard]] std::vector<host_finding> found() const {
    merging all;
    for (const auto& [name, r] : records) all.add(name, r);
    return check_hosts(all.result(), hosts);
  }
  void expect_only(const std::string& host, const std::string& code) const {
    const auto all = found();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].host, host);
    EXPECT_EQ(all[0].code, code) << all[0].text;
    EXPECT_FALSE(all[0].text.empty());
  }
  record& of_second() { return records[1].second; }
  std::vector<std::pair<std::string, record>> records;
  std::vector<std::string> hosts{"n1", "n2", "n3"};
};

TEST_F(fleet, has_nothing_to_say_where_all_reported_and_agree) {
  EXPECT_TRUE(found().empty());
}

TEST_F(fleet, knows_a_host_by_the_name_of_its_file) {
  EXPECT_EQ(host_of("records/n1@0a-1b"), "n1");
  EXPECT_EQ(host_of("n1"), "n1");
}

TEST_F(fleet, names_a_host_without_a_record) {
  hosts.emplace_back("n4");
  expect_only("n4", "absent");
}

TEST_F(fleet, names_a_record_of_no_host) {
  hosts.pop_back();
  expect_only("n3", "unknown");
}

TEST_F(fleet, names_a_host_that_reported_twice) {
  records.emplace_back("n1@b", good("again"));
  expect_only("n1", "twice");
}

TEST_F(fleet, names_a_host_that_died_in_the_middle) {
  of_second().complete = false;
  expect_only("n2", "unfinished");
}

TEST_F(fleet, names_a_host_without_a_gpu) {
  (*of_second().stack)["gpu"] = nullptr;
  (*of_second().stack)["no_gpu"] = "the driver shows none";
  of_second().cases.clear();
  expect_only("n2", "no_gpu");
}

TEST_F(fleet, names_a_host_on_which_nothing_ran) {
  of_second().cases.clear();
  expect_only("n2", "nothing_ran");
}

TEST_F(fleet, names_a_host_with_another_driver) {
  (*of_second().stack)["keys"]["driver"] = "535.104.05";
  expect_only("n2", "other_stack");
  EXPECT_EQ(found()[0].text, "driver 535.104.05; most have 580.1");
}

TEST_F(fleet, names_both_where_two_have_different_drivers) {
  records.pop_back();
  hosts.pop_back();
  (*of_second().stack)["keys"]["driver"] = "535.104.05";
  ASSERT_EQ(found().size(), 2U);
  EXPECT_EQ(found()[0].text, "driver 580.1; no value has a majority");
}

TEST_F(fleet, names_a_host_whose_clock_is_wrong) {
  of_second().started = "1970-01-01T00:00:07Z";
  expect_only("n2", "clock");
  of_second().started = "2026-11-21T19:27:40Z";
  EXPECT_TRUE(found().empty()) << "half a day is no wrong clock";
}

TEST_F(fleet, names_the_odd_one_out) {
  of_second().cases[0].arms[0].trials = {trial({internal})};
  expect_only("n2", "outlier");
  EXPECT_EQ(found()[0].text, "it differs from most in 1 of 1 arms");
}

}  // namespace
}  // namespace cufault
