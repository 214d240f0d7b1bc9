// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/sweep_parts.hpp"

#include "reports/model/sweep_names.hpp"
#include "reports/model/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;

/// The row of a function that was made to fail, or of none.
call_record row(const std::string& function, const char* status) {
  call_record c = call("cublasCreate", status);
  c.swept = swept_calls{.function = function, .calls = function == "*" ? 0U : 1U};
  return c;
}

observation part(int which, int of, const std::string& function) {
  observation o = trial({});
  o.calls = {row(function, internal), row("*", right)};
  o.measurements = {{part_of_sweep, static_cast<double>(which), "of " + std::to_string(of)},
                    {clean_calls, 1238, ""},
                    {"rows", 2, ""},
                    {rows_per_second, 8, ""}};
  o.library_log = {"failed: " + function};
  o.stdout_text = function + "\n";
  o.milliseconds = 1000;
  return o;
}

class parts_of_a_sweep : public testing::Test {
 protected:
  observation first = part(1, 3, "cuInit"), second = part(2, 3, "cuMemAlloc_v2"),
              third = part(3, 3, "cuEventCreate");
  [[nodiscard]] std::string why() const { return why_not_whole({&third, &first, &second}); }
};

TEST_F(parts_of_a_sweep, are_told_from_whole_sweeps_and_from_named_rows) {
  EXPECT_EQ(which_part(first), (std::pair{1, 3}));
  EXPECT_TRUE(is_part(first));
  EXPECT_TRUE(is_part(part(0, 1, "cuInit")));
  EXPECT_FALSE(is_part(part(1, 1, "cuInit")));
  EXPECT_FALSE(is_part(trial({right})));
}

TEST_F(parts_of_a_sweep, are_joined_in_their_order_whatever_that_of_their_records) {
  ASSERT_EQ(why(), "");
  const observation whole = joined({&third, &first, &second});
  std::vector<std::string> functions;
  for (const call_record& c : whole.calls) functions.push_back(c.swept->function);
  EXPECT_THAT(functions, ElementsAre("cuInit", "cuMemAlloc_v2", "cuEventCreate", "*"));
  EXPECT_THAT(whole.measurements,
              ElementsAre(measurement{clean_calls, 1238, ""}, measurement{"rows", 6, ""}));
  EXPECT_THAT(whole.library_log,
              ElementsAre("failed: cuInit", "failed: cuMemAlloc_v2", "failed: cuEventCreate"));
  EXPECT_EQ(whole.stdout_text, "cuInit\ncuMemAlloc_v2\ncuEventCreate\n");
  EXPECT_EQ(whole.milliseconds, 3000);
  EXPECT_THAT(whole.notes,
              ElementsAre(note{parts_of_sweep,
                               "3, each swept by a run of its own; the record names one of these runs"}));
  EXPECT_FALSE(is_part(whole));
  EXPECT_TRUE(comparable(whole));
  EXPECT_EQ(whole.context, "usable");
}

TEST_F(parts_of_a_sweep, keep_each_row_in_which_nothing_failed_where_these_differ) {
  second.calls.back() = row("*", wrong);
  const observation whole = joined({&first, &second, &third});
  EXPECT_EQ(whole.calls.size(), 5U);
  EXPECT_EQ(whole.calls.back().what.numbers, numbers_found::wrong);
}

TEST_F(parts_of_a_sweep, compare_equal_to_the_sweep_in_one_run_which_has_another_order_of_rows) {
  const observation parts = joined({&first, &second, &third});
  observation whole = parts;
  std::ranges::reverse(whole.calls);
  EXPECT_EQ(signature_of(whole), signature_of(parts));
  whole.calls.pop_back();
  EXPECT_NE(signature_of(whole), signature_of(parts));
  for (call_record& c : whole.calls) c.swept.reset();
  observation reversed = whole;
  std::ranges::reverse(reversed.calls);
  EXPECT_NE(signature_of(reversed), signature_of(whole)) << "the order of other calls is compared";
}

TEST_F(parts_of_a_sweep, pass_on_what_one_of_them_damaged) {
  second.context = "damaged";
  EXPECT_EQ(joined({&first, &second, &third}).context, "damaged");
}

TEST_F(parts_of_a_sweep, are_not_whole_where_one_is_missing_or_there_twice) {
  EXPECT_EQ(why_not_whole({&first, &second}), "part 3 of 3 is missing");
  EXPECT_EQ(why_not_whole({&third}), "parts 1, 2 of 3 are missing");
  EXPECT_EQ(why_not_whole({&first, &second, &second, &third}), "part 2 is given twice");
  const observation of_four = part(2, 4, "cuInit");
  EXPECT_EQ(why_not_whole({&first, &of_four, &third}), "part 2 is of 4, not of 3");
  const observation fourth = part(4, 3, "cuInit");
  EXPECT_EQ(why_not_whole({&fourth}), "there is no part 4 of 3");
  first.measurements[0].unit = "";
  EXPECT_EQ(why_not_whole({&first}), "there is no part 1 of 0");
  const observation named = part(0, 1, "cuInit");
  EXPECT_EQ(why_not_whole({&named}), "it has only the rows that were named");
}

TEST_F(parts_of_a_sweep, are_not_whole_where_two_have_a_row_or_they_left_out_other_sites) {
  second.calls[0] = first.calls[0];
  EXPECT_EQ(why(), "two parts have the row \"cuInit of :  persistently\"");
  second = part(2, 3, "cuMemAlloc_v2");
  ASSERT_EQ(why(), "");
  second.notes = {{unstable_sites, "cuInit"}};
  EXPECT_EQ(why(), "parts left out other call sites");
}

TEST_F(parts_of_a_sweep, are_not_whole_where_one_did_not_end_or_the_operation_makes_other_calls) {
  second.ended = outcome::timed_out;
  EXPECT_EQ(why(), "part 2 was not completed");
  second.ended = outcome::completed;
  second.measurements[1].value = 1224;
  EXPECT_EQ(why(), "part 2 counts 1224 driver calls of a clean run, not 1238");
}

}  // namespace
}  // namespace cufault
