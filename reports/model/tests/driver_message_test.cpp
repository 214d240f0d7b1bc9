// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/driver_message.hpp"

#include <gtest/gtest.h>

namespace cufault {
namespace {

TEST(driver_message, of_a_return_has_function_and_code) {
  const auto parts = driver_message_parts_of("Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2");
  EXPECT_EQ(parts.function, "cuMemFree_v2");
  EXPECT_EQ(parts.code, "LAUNCH_FAILED");
  EXPECT_EQ(parts.text, "");
}

TEST(driver_message, of_a_reason_has_only_words) {
  const auto parts = driver_message_parts_of("Sticky error detected\n");
  EXPECT_EQ(parts.function, "");
  EXPECT_EQ(parts.code, "");
  EXPECT_EQ(parts.text, "Sticky error detected");
}

TEST(driver_message, may_hold_both) {
  const auto parts =
      driver_message_parts_of("event is of another context, Returning 400 from cuEventRecord.");
  EXPECT_EQ(parts.function, "cuEventRecord");
  EXPECT_EQ(parts.code, "400");
  EXPECT_EQ(parts.text, "event is of another context");
}

TEST(driver_message, that_only_resembles_a_return_is_a_reason) {
  for (const char* text :
       {"Returning soon", "Returning 5", "Returning 5 (CUDA_ERROR_X from cuA", "Returning 5 from ",
        "Returning 5 (CUDA_ERROR_X) from cuA and more", "xReturning 5 (CUDA_ERROR_X) from cuA"}) {
    EXPECT_EQ(driver_message_parts_of(text).function, "") << text;
    EXPECT_NE(driver_message_parts_of(text).text, "") << text;
  }
  EXPECT_EQ(driver_message_parts_of("").text, "");
}

TEST(driver_message, is_described_in_one_line) {
  EXPECT_EQ(describe(driver_message{.function = "cuEventRecord", .code = "INVALID_HANDLE", .text = "why"}),
            "cuEventRecord: INVALID_HANDLE (why)");
  EXPECT_EQ(describe(driver_message{.text = "why"}), "why");
  EXPECT_EQ(describe(driver_message{.function = "cuInit", .code = "NO_DEVICE"}), "cuInit: NO_DEVICE");
}

TEST(driver_log_line, is_read_with_time_thread_and_severity) {
  const auto line = driver_log_line_of(
      "[22:12:03.576][140216122601792][CUDA][E] Returning 710 (CUDA_ERROR_ASSERT) from cuKernelGetFunction");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->time, "22:12:03.576");
  EXPECT_EQ(line->thread, "140216122601792");
  EXPECT_EQ(line->severity, "E");
  EXPECT_EQ(line->message.function, "cuKernelGetFunction");
  EXPECT_EQ(line->message.code, "ASSERT");
}

TEST(driver_log_line, may_name_the_function_in_a_field) {
  const auto line =
      driver_log_line_of("1: [22:21:32.099][25642][CUDA][E][cuLogsDumpToMemory] buffer cannot be NULL\r");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->message.function, "cuLogsDumpToMemory");
  EXPECT_EQ(line->message.code, "");
  EXPECT_EQ(line->message.text, "buffer cannot be NULL");
}

TEST(driver_log_line, is_no_other_line_with_brackets) {
  for (const char* text :
       {"", "[CUDA][E] x", "][CUDA][E] x", "[a][b][CUDA][E] x", "[22:21:32.099][CUDA][E] x",
        "[22:21:32.099][1][CUDA][E", "[22-21-32.099][1][CUDA][E] x", "[22:21:32.099][1][cublasLt][E] x"})
    EXPECT_FALSE(driver_log_line_of(text)) << text;
}

}  // namespace
}  // namespace cufault
