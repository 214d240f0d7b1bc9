// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <string>

namespace cufault {
namespace {

TEST(target, is_passed_on_to_a_process_of_cufault_s_own) {
  const target where{.cublas = "/a b/libcublas.so",
                     .cublaslt = "",
                     .device = 3,
                     .others = {{"a", ""}, {"cusolver", "/c d"}}};
  EXPECT_THAT(argv_of_child("/bin/cufault", {"probe-stack", "x"}, where),
              testing::ElementsAre("/bin/cufault", "probe-stack", "x", "--parent", std::to_string(getpid()),
                                   "--device", "3", "--cublas", "/a b/libcublas.so", "--cublaslt", "",
                                   "--cusolver", "/c d"));
}

}  // namespace
}  // namespace cufault
