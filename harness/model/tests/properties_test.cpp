// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/properties.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

const std::vector<cufault::case_properties>& cufault::all_properties() {
  static const std::vector<case_properties> all{{"made.*", "nightly", "gpu", memory_class::shared, 10},
                                                {"made.own", "quick", "host", memory_class::shared, 20}};
  return all;
}

namespace cufault {
namespace {

TEST(properties_of_a_case, are_of_its_family_where_it_has_no_line) {
  const failure_case other{.name = "made.other", .memory = memory_class::exclusive};
  const case_properties of_other = properties_of(other);
  EXPECT_EQ(of_other.name, "made.other");
  EXPECT_EQ(of_other.tier, "nightly");
  EXPECT_EQ(of_other.memory, memory_class::exclusive) << "the case says it";
}

TEST(properties_of_a_case, are_of_its_line) {
  const failure_case own{.name = "made.own", .memory = memory_class::exclusive};
  EXPECT_EQ(properties_of(own).tier, "quick");
  EXPECT_EQ(properties_of(own).memory, memory_class::shared) << "the line says it";
}

TEST(properties_of_a_case, are_missed_where_there_is_neither) {
  EXPECT_THROW(properties_of(failure_case{.name = "absent.other"}), std::logic_error);
}

}  // namespace
}  // namespace cufault
