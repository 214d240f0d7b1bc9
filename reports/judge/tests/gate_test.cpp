// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What gates and comparisons say of records: reports/answers/tests/gates.txt.
#include "reports/judge/comparison.hpp"
#include "reports/model/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;

bool everything(std::size_t /*record*/, const std::string& /*case_name*/, const std::string& /*arm*/) {
  return true;
}

const comparison_terms plain{.today = "2026-11-22", .asked = everything};

comparison compare(const record& before, const record& now, const comparison_terms& terms) {
  return cufault::compare(std::array{before, now}, terms);
}

TEST(gate, counts_what_the_candidate_was_not_asked_for) {
  record base;
  base.cases = {{.name = "memory.leak"}};
  for (const char* name : {"control", "fault", "other"})
    base.cases[0].arms.push_back(arm(arm_kind::fault, {trial({no_memory})}, name));
  record fewer = base;
  fewer.cases[0].arms.pop_back();
  const auto asked_for_faults = [](std::size_t, const std::string&, const std::string& arm) {
    return arm == "fault";
  };
  const comparison all = compare(base, fewer, {.today = "2026-11-22", .asked = asked_for_faults});
  EXPECT_EQ(exit_code(exit_reasons(all)), 0);
  EXPECT_EQ(all.not_asked, 1U);
  fewer.cases[0].arms.pop_back();
  const comparison red = compare(base, fewer, {.today = "2026-11-22", .asked = asked_for_faults});
  EXPECT_EQ(exit_code(exit_reasons(red)), 1);
  EXPECT_EQ(red.arms.back().found.v, verdict::absent);
  EXPECT_EQ(red.arms.back().found.why, "asked for, and not in the record");
  EXPECT_EQ(exit_code(exit_reasons(compare(base, fewer, {.today = "2026-11-22"}))), 0)
      << "a stack was asked for what it has";
}

/// "259 as before, 55 CHANGED, 16 not asked for".
std::string counts_of(const comparison& all) {
  std::string text = std::to_string(same_in(all)) + " as before";
  for (const verdict v : {verdict::changed, verdict::gone, verdict::worsened, verdict::remedy_broken,
                          verdict::absent, verdict::unresolved, verdict::unrecorded}) {
    const auto count = std::count_if(all.arms.begin(), all.arms.end(),
                                     [&](const compared_arm& a) { return a.found.v == v; });
    if (count > 0) text += ", " + std::to_string(count) + " " + to_string(v);
  }
  return text + ", " + std::to_string(all.not_asked) + " not asked for";
}

TEST(gate, of_committed_records_tells_versions_of_cublas_apart) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  const auto gate = [&](const char* before, const char* after) {
    return compare(load_record(recorded / before), load_record(recorded / after), {.today = "2026-11-22"});
  };
  const char* const last = "h200-580.159.04-cublas-13.10.0-other-12.0.1";
  EXPECT_EQ(counts_of(gate("h200-580.159.04-cublas-12.0.1-other-13.10.0", last)),
            "230 as before, 50 CHANGED, 4 GONE, 19 NEW, 2 not asked for");
  const auto upgrade = gate("h200-580.159.04-cublas-12.4.5", "h200-580.159.04-cublas-12.8.4");
  EXPECT_EQ(counts_of(upgrade), "527 as before, 32 CHANGED, 2 GONE, 26 NEW, 2078 not asked for");
  EXPECT_EQ(exit_code(exit_reasons(upgrade)), 1);
  std::vector<std::string> gone;
  for (const auto& a : upgrade.arms)
    if (a.found.v == verdict::gone) gone.push_back(a.case_name + "/" + a.arm);
  EXPECT_THAT(gone,
              ElementsAre("capture.workspace/per_thread_stream", "numbers.reduced_precision/as_proposed"));
  EXPECT_EQ(upgrade.stacks[0].name, "files of the libraries");  // one has none
  EXPECT_EQ(upgrade.stacks[1].name, "cublas");
}

TEST(gate, of_every_committed_stack_with_itself_finds_nothing_changed) {
  int stacks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CUFAULT_RECORDED)) {
    if (!entry.is_directory()) continue;
    const record r = load_record(entry.path());
    const auto report = compare(r, r, plain);
    EXPECT_EQ(exit_code(exit_reasons(report)), 0) << entry.path();
    EXPECT_TRUE(report.stacks.empty()) << entry.path();
    for (const auto& a : report.arms)
      EXPECT_TRUE(is_same(a.found.v)) << entry.path() << ": " << a.case_name << "/" << a.arm;
    ++stacks;
  }
  EXPECT_GE(stacks, 7);
}

std::vector<std::string> lines_of(const comparison& report, const std::string& family) {
  std::vector<std::string> lines;
  for (const auto& a : report.arms)
    if (a.case_name.starts_with(family))
      lines.push_back(a.case_name + "/" + a.arm + " " + to_string(a.found.v) + " " + a.found.why);
  return lines;
}

// Neither the order of cases and arms nor what else is in the records makes a difference.
TEST(gate, of_committed_records_depends_on_no_order_and_on_no_other_family) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  record before = load_record(recorded / "h200-580.159.04-cublas-12.0.1-other-13.10.0");
  record after = load_record(recorded / "h200-580.159.04-cublas-13.10.0-other-12.0.1");
  const auto straight = compare(before, after, plain);
  EXPECT_EQ(exit_code(exit_reasons(straight)), 1);
  EXPECT_EQ(exit_code(exit_reasons(compare(before, before, plain))), 0);
  std::mt19937 random(7);
  for (record* r : {&before, &after}) {
    std::shuffle(r->cases.begin(), r->cases.end(), random);
    for (case_result& c : r->cases) std::shuffle(c.arms.begin(), c.arms.end(), random);
  }
  EXPECT_EQ(lines_of(compare(before, after, plain), ""), lines_of(straight, ""));
  for (record* r : {&before, &after})
    std::erase_if(r->cases, [](const case_result& c) { return !c.name.starts_with("memory."); });
  EXPECT_EQ(lines_of(compare(before, after, plain), ""), lines_of(straight, "memory."));
  EXPECT_FALSE(lines_of(straight, "memory.").empty());
}

}  // namespace
}  // namespace cufault
