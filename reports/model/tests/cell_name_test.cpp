// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/cell_name.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace cufault {
namespace {

TEST(cell_name, is_read_as_it_was_written) {
  for (const auto& c :
       {cell_name{"sgemm_64", "warm"}, cell_name{"sgemm_64", "cold", "arrived"},
        cell_name{"cublas_create", "cold", "", 0}, cell_name{"dot_host", "warm", "", 64, "release"},
        cell_name{"dot_host", "warm", "racing", 64, "clear_error"}})
    EXPECT_EQ(cell_named(to_string(c)), c) << to_string(c);
  EXPECT_EQ(to_string({"dot_host", "warm", "", 64, "release"}), "dot_host.warm.64+release");
}

TEST(cell_name, is_not_that_of_another_arm) {
  for (const char* arm :
       {"", "control", "racing_create_trap", "sgemm", "sgemm.", "sgemm.hot", "sgemm.cold.", "sgemm.cold+",
        ".cold", "sgemm.cold.64.64", "sgemm.cold.64.arrived", "sgemm.cold.arrived.arrived", "sgemm.cold.-1",
        "sgemm.cold.064", "sgemm.cold..64", "sgemm.cold+a+b", "Sgemm.cold"})
    EXPECT_FALSE(cell_named(arm)) << arm;
}

TEST(cell_name, has_words) {
  for (const auto& [name, words] : {std::pair{"create.cold", "create, cold"},
                                    {"sgemm_64.warm.arrived", "sgemm_64, warm, arrived"},
                                    {"create.cold.64+release", "create, cold, 64; release"}}) {
    const auto cell = cell_named(name);
    ASSERT_TRUE(cell) << name;
    EXPECT_EQ(in_words(*cell), words);
  }
}

TEST(cell_name, without_its_remedy_is_that_of_the_cell_it_answers) {
  EXPECT_EQ(without_remedy("create.cold.arrived.64+release"), "create.cold.arrived.64");
  EXPECT_EQ(without_remedy("matmul.8+retry"), "matmul.8") << "of a framework";
  EXPECT_EQ(without_remedy("create.cold"), "");
  EXPECT_EQ(without_remedy("control"), "");
}

}  // namespace
}  // namespace cufault
