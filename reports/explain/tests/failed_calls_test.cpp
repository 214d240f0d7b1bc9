// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/failed_calls.hpp"

#include "reports/base/tests/input_examples.hpp"
#include "reports/explain/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::Field;

class failed_calls : public examples::in_directory {
 protected:
  void add(const std::string& file, const std::string& text) const {
    std::ofstream(directory / file, std::ios::app) << text;
  }
  [[nodiscard]] std::vector<said_line> read(const std::string& began = "2026-11-27 22:00:00") const {
    return lines_below(directory, directory, began, directory / "driver.log", 0);
  }
};

const std::string create_said =
    "2026-11-27 cublasCreate_v2#12 [22:21:32.101][7][cublas][E] returned CUBLAS_STATUS_NOT_INITIALIZED to "
    "python3\n";

TEST_F(failed_calls, are_read_with_process_call_and_time) {
  add("rank1.pid42.log", create_said);
  const auto all = read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].when, "2026-11-27 22:21:32.101");
  EXPECT_EQ(all[0].call, "cublasCreate_v2#12");
  EXPECT_EQ(all[0].who, "cublas");
  EXPECT_EQ(all[0].thread, "7");
  EXPECT_EQ(all[0].process, "rank 1, pid 42");
  EXPECT_EQ(all[0].text, "returned CUBLAS_STATUS_NOT_INITIALIZED to python3");
}

TEST_F(failed_calls, of_an_earlier_run_and_lines_that_are_cut_are_left_out) {
  for (std::size_t end = 0; end < create_said.find("[E]"); ++end)
    add("pid1.log", create_said.substr(0, end) + '\n');
  add("pid1.log", "\n[[[[]]]]\n2026-11-27 x [a][b][c][d\n2026-11-27 x [a][b][c] d]\n");
  add("pid2.log", create_said);
  EXPECT_EQ(read().size(), 1U);
  EXPECT_TRUE(read("2026-11-27 22:21:33").empty());
}

TEST_F(failed_calls, come_in_the_order_of_time_over_all_processes) {
  add("pid1.log", create_said);
  add("pid2.log",
      "2026-11-27 - [22:21:32.099][8][CUDA][E] Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2\n");
  EXPECT_THAT(read(), ElementsAre(Field(&said_line::who, "CUDA"), Field(&said_line::who, "cublas")));
}

TEST_F(failed_calls, the_driver_s_own_log_is_read_where_no_process_wrote_its_words) {
  add("driver.log",
      "[22:21:32.099][8][CUDA][E] Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2\nnoise\n");
  add("pid1.log", create_said);
  const auto all = read();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].process, "thread 8");
  const auto first = first_failure_of(all, known(), "", false);
  ASSERT_NE(first.call, nullptr);
  EXPECT_EQ(first.call->call, "cublasCreate_v2#12");
}

TEST_F(failed_calls, the_call_whose_status_the_program_told_is_the_failure) {
  add("pid1.log",
      "2026-11-27 cublasGemmEx#3 [22:21:30.000][7][cublas][E] returned CUBLAS_STATUS_NOT_SUPPORTED to "
      "python3\n" +
          create_said);
  const auto all = read();
  EXPECT_EQ(first_failure_of(all, known(), "CUBLAS_STATUS_NOT_INITIALIZED", false).call, &all[1]);
  EXPECT_EQ(first_failure_of(all, known(), "CUBLAS_STATUS_NOT_SUPPORTED", false).call, &all[0]);
}

}  // namespace
}  // namespace cufault
