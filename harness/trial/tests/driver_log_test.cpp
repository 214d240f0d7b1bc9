// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trial/driver_log.hpp"

#include "harness/model/frame.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace cufault {
namespace {

std::string sent;
void take(std::string_view frame) noexcept {
  sent += frame;
}

/// Messages that a parent reads since the call began.
std::vector<driver_message> understood() {
  frame_reader reader;
  reader.feed(encode_frame({{"t", "begin"}, {"api", "cublasCreate"}}) + sent);
  EXPECT_EQ(reader.garbled(), "");
  return reader.so_far().calls.at(0).driver;
}

class driver_log_test : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CUFAULT_DRIVER_LOG");
    ASSERT_NE(driver, nullptr) << dlerror();
    ASSERT_TRUE(driver_log::hear(take));
    sent.clear();
  }
  void say(const char* message) const {
    reinterpret_cast<void (*)(const char*)>(dlsym(driver, "fake_log"))(message);
  }
  void* const driver = dlopen(FAKE_DRIVER_LOG, RTLD_NOW);
};

TEST_F(driver_log_test, registers_once) {
  EXPECT_TRUE(driver_log::hear(take));
  EXPECT_TRUE(driver_log::load_and_hear(take));
  EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(driver, "fake_registrations"))(), 1);
}

TEST_F(driver_log_test, joins_a_reason_with_the_function_that_failed) {
  driver_log::begin_call();
  say("Sticky error detected");
  say("Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2");
  driver_log::end_call();
  EXPECT_EQ(understood(),
            std::vector{(driver_message{
                .function = "cuMemFree_v2", .code = "LAUNCH_FAILED", .text = "Sticky error detected"})});
}

TEST_F(driver_log_test, keeps_one_of_several_reasons_that_begin_alike_and_no_empty_one) {
  driver_log::begin_call();
  say("");
  say("Kernel (a) cannot be found in library");
  say("Kernel (b) cannot be found in library");
  say("No device code available for GPU ISA 90");
  say("Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuModuleLoad");
  driver_log::end_call();
  const auto all = understood();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].text, "Kernel (a) cannot be found in library; No device code available for GPU ISA 90");
  sent.clear();
  driver_log::begin_call();
  say("");
  driver_log::end_call();
  EXPECT_EQ(sent, "");
}

TEST_F(driver_log_test, hears_nothing_between_calls) {
  say("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2");
  driver_log::begin_call();
  driver_log::end_call();
  say("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2");
  EXPECT_EQ(sent, "");
}

TEST_F(driver_log_test, takes_no_reason_from_the_call_before) {
  driver_log::begin_call();
  say("Invalid device number 77 provided");
  driver_log::end_call();
  EXPECT_EQ(understood(), std::vector{driver_message{.text = "Invalid device number 77 provided"}});
  sent.clear();
  driver_log::begin_call();
  say("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2");
  driver_log::end_call();
  EXPECT_EQ(understood(),
            std::vector{(driver_message{.function = "cuMemAlloc_v2", .code = "OUT_OF_MEMORY"})});
}

TEST_F(driver_log_test, counts_repeats_and_keeps_the_first_few) {
  driver_log::begin_call();
  for (int i = 0; i < 1000; ++i) say("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2");
  for (int i = 0; i < 100; ++i) {
    const std::string other = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuOther" + std::to_string(i);
    say(other.c_str());
  }
  driver_log::end_call();
  const auto all = understood();
  ASSERT_EQ(all.size(), driver_log::most_kept);
  EXPECT_EQ(all[0].times, 1000U);
  EXPECT_EQ(all[1].function, "cuOther0");
}

TEST_F(driver_log_test, is_told_before_the_call_returns) {
  driver_log::begin_call();
  say("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2");
  EXPECT_EQ(understood().size(), 1U);
  driver_log::end_call();
}

TEST_F(driver_log_test, says_that_another_thread_failed) {
  driver_log::begin_call();
  std::thread([&] { say("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2"); }).join();
  driver_log::end_call();
  const auto all = understood();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].other_thread);
}

TEST_F(driver_log_test, takes_any_bytes_of_any_length) {
  driver_log::begin_call();
  say("");
  say("\"quoted\" \\ \x01\xff.");
  say("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuY");
  const std::string text(100'000, 'x'), code(5000, 'Y');
  say(fmt::format("{} Returning 1 (CUDA_ERROR_{}) from cuZ", text, code).c_str());
  driver_log::end_call();
  const auto all = understood();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].text, "'quoted' ? ??.");
  EXPECT_EQ(all[1].function, "cuZ");
  EXPECT_TRUE(all[1].text.starts_with("xxx")) << all[1].text;
}

TEST_F(driver_log_test, does_not_hang_a_process_forked_while_a_message_was_taken) {
  driver_log::begin_call();
  std::jthread holds([&] {
    for (int i = 0; i < 20'000; ++i) say("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2");
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      driver_log::begin_call();
      say("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2");
      driver_log::end_call();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  holds.join();
  driver_log::end_call();
}

}  // namespace
}  // namespace cufault
