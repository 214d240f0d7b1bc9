// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Processes that use a GPU, from the doctor's stand-in for NVML.
#include "harness/run/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class nvml_users : public testing::Test {
 protected:
  // Once loaded, the loader returns it for this name.
  void SetUp() override { ASSERT_NE(fake_ = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror(); }
  void TearDown() override {
    unsetenv("DOCTOR_FAKE_UNUSED");
    dlclose(fake_);
  }

 private:
  void* fake_ = nullptr;
};

TEST_F(nvml_users, are_those_of_contexts_and_of_graphics_each_once) {
  const nvml management;
  EXPECT_THAT(management.users("GPU-fake"), ElementsAre(7, 8, 9));
  EXPECT_THAT(management.users("GPU-other"), IsEmpty());
  setenv("DOCTOR_FAKE_UNUSED", "1", 1);
  EXPECT_THAT(management.users("GPU-fake"), IsEmpty());
}

TEST(line_of_others, names_the_processes_of_other_programs) {
  EXPECT_EQ(line_of_others(1, {4000000001, 4000000002}, "/cufault"),
            "2 other processes use GPU 1 (pid 4000000001, 4000000002): arms that fill its memory or end with "
            "a fault can "
            "disturb them; see reports/pages/what-a-run-does.md");
  const auto own = std::filesystem::read_symlink("/proc/self/exe");
  const auto this_process = static_cast<unsigned>(getpid());
  EXPECT_EQ(line_of_others(0, {this_process}, own), "");
  EXPECT_EQ(line_of_others(0, {}, own), "");
  EXPECT_THAT(line_of_others(0, {this_process}, "/cufault"),
              testing::StartsWith("1 other process uses GPU 0 (pid "));
}

}  // namespace
}  // namespace cufault
