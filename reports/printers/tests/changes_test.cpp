// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/changes.hpp"

#include "reports/printers/tests/golden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace cufault {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Made up: no GPU returned anything of this.
change_report example_of_changes() {
  change_report all{.gpu = "NVIDIA H200", .driver = "580.1"};
  all.found.releases = {{"12.4.5", 300, 0, 0}, {"13.1.0", 310, 298, 2}, {"13.5.1", 310, 310, 64, 305, 60}};
  all.found.steady = 234;
  all.found.by_cufault = {"arguments.lt/control"};
  all.found.changes = {
      {.how = harm::wrong_numbers,
       .after = "12.4.5",
       .at_latest = "13.1.0",
       .since = "12.4.5",
       .until = "13.5.1",
       .from = "SUCCESS, right numbers",
       .to = "SUCCESS, wrong numbers",
       .of = "types",
       .calls = {{"cublasZgemv", 1}},
       .arms = {"types.wide/far_apart"},
       .example = "cublasZgemv N: SUCCESS, numbers right → SUCCESS, numbers wrong",
       .severe = true},
      {.how = harm::other,
       .after = "13.1.0",
       .at_latest = "13.5.1",
       .since = "12.4.5",
       .until = "13.5.1",
       .from = "EXECUTION_FAILED",
       .to = "INTERNAL_ERROR",
       .of = "matrix.kernel_*",
       .calls = {{"cublasGemmEx", 2}, {"cublasSgemm", 12}},
       .arms = {"matrix.kernel_assertion/gemv.cold.arrived", "matrix.kernel_trap/gemv.cold.arrived"},
       .where = "where cold: 2 cells",
       .driver_before = "cuLaunchKernel: LAUNCH_FAILED (Sticky error detected)"},
      {.how = harm::other,
       .after = "12.4.5",
       .at_latest = "13.1.0",
       .since = "12.4.5",
       .until = "13.5.1",
       .what = "values",
       .details = {"device memory per handle: 268575266 → 67242016"},
       .of = "memory",
       .arms = {"memory.handle_leak/leak"},
       .made_up = true},
      {.how = harm::better,
       .after = "13.1.0",
       .at_latest = "13.5.1",
       .since = "13.1.0",
       .until = "13.5.1",
       .from = "EXECUTION_FAILED",
       .to = "SUCCESS",
       .of = "sticky",
       .calls = {{"cublasSgemm", 1}},
       .arms = {"sticky.device_fault/trap"},
       .left_out = true}};
  all.files = {
      {"cublas: search path",
       {{"12.4.5.8", "13.5.1.27", "DT_RUNPATH $ORIGIN"}, {"13.10.0.20", "13.10.0.20", "DT_RPATH $ORIGIN"}}},
      {"cublas: GPU code", {{"12.4.5.8", "13.10.0.20", "sm_90"}}}};
  all.notes = {{.id = "a",
                .release = "13.1.0.3",
                .toolkit = "13.0 Update 2",
                .section = "known",
                .says = "A gemv may be wrong.",
                .harm = "wrong_numbers",
                .address = "https://notes.invalid/a",
                .calls = {"cublasZgemv"},
                .verdict = "confirmed",
                .why = "Wrong from 13.1.0 on.",
                .arms = {"types.wide/far_apart"}},
               {.id = "b",
                .release = "13.5.1.27",
                .toolkit = "13.3",
                .section = "known",
                .says = "A product may hang.",
                .harm = "hang",
                .address = "https://notes.invalid/b",
                .verdict = "not_tried"}};
  return all;
}

std::string printed_changes(table_style style, const std::string& release = {}) {
  std::ostringstream out;
  print_changes(out, example_of_changes(), release, style, 100);
  return out.str();
}

TEST(page_of_changes, is_printed) {
  expect_golden("changes.md", printed_changes(table_style::markdown));
  expect_golden("changes.txt", printed_changes(table_style::text));
  expect_golden("changes.json", to_json(example_of_changes(), "").dump(1) + "\n");
}

TEST(page_of_changes, of_one_release_has_its_changes_by_their_numbers) {
  const std::string text = printed_changes(table_style::markdown, "13.5.1");
  EXPECT_THAT(text, HasSubstr("| 2 | 12.4.5–13.1.0 → 13.5.1 | EXECUTION_FAILED → INTERNAL_ERROR |"));
  EXPECT_THAT(text, Not(HasSubstr("wrong numbers")));
  EXPECT_THAT(text, Not(HasSubstr("Facts of the files")));
  EXPECT_THAT(text, HasSubstr("A product may hang."));
  const auto json = to_json(example_of_changes(), "13.5.1");
  ASSERT_EQ(json["changes"].size(), 1);
  EXPECT_EQ(json["changes"][0]["number"], 2);
}

TEST(page_of_changes, counts_what_it_leaves_out_by_release) {
  const std::string row = "| 13.5.1 | 310 | 64 of 310 | 60 of 305 | 2 changes";
  EXPECT_THAT(printed_changes(table_style::markdown), HasSubstr(row + ", 1 shown | 2 |"));
  change_report all = example_of_changes();
  all.found.changes[3].left_out = false;
  std::ostringstream out;
  print_changes(out, all, "13.5.1", table_style::markdown, 100);
  EXPECT_THAT(out.str(), HasSubstr(row + " | 2, 4 |"));
  EXPECT_THAT(out.str(), HasSubstr("| 4 | 13.1.0 → 13.5.1 | EXECUTION_FAILED → SUCCESS |"));
  EXPECT_THAT(out.str(), Not(HasSubstr("left out")));
}

TEST(page_of_changes, without_notes_and_files_does_not_speak_of_them) {
  change_report all = example_of_changes();
  all.files.clear();
  all.notes.clear();
  std::ostringstream out;
  print_changes(out, all, "", table_style::markdown, 100);
  EXPECT_THAT(out.str(), Not(HasSubstr("Facts of the files")));
  EXPECT_THAT(out.str(), Not(HasSubstr("release notes")));
}

}  // namespace
}  // namespace cufault
