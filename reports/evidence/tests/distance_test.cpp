// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/evidence/distance.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using names = std::vector<std::string_view>;

std::optional<int> between(const std::string& key, const std::string& recorded, const std::string& here) {
  const names keys{key};
  return distance({{key, recorded}}, {{key, here}}, keys);
}

TEST(version, has_parts_that_are_compared_as_numbers) {
  EXPECT_EQ(version_from("13.1.0"), (version{13, 1}));
  EXPECT_EQ(version_from("13.1"), version_from("13.1.0"));
  EXPECT_EQ(version_from("13.0"), version{13});
  EXPECT_LT(version_from("13.9"), version_from("13.10"));
  EXPECT_EQ(version_from("0"), version{0});
  for (const char* text : {"", "none", "13.", "13.x", ".1", "13 1"})
    EXPECT_TRUE(version_from(text).empty()) << text;
}

TEST(distance, of_each_row_is_what_the_table_says) {
  ASSERT_GE(distance_table().size(), 12U);
  for (const distance_row& row : distance_table()) {
    EXPECT_FALSE(row.why.empty()) << row.key;
    EXPECT_EQ(between(std::string(row.key), "9.1.2", row.differs == version_part::major ? "10.1.2" : "9.2.2"),
              row.adds)
        << row.key;
  }
  EXPECT_EQ(between("cublas", "13.1.0", "13.10.0"), 10);
  EXPECT_EQ(between("cublas", "12.8.4", "13.1.0"), std::nullopt) << "another major version says nothing";
  EXPECT_EQ(between("compute_capability", "9.0", "8.0"), 200);
  EXPECT_EQ(between("compute_capability", "8.0", "8.9"), 100);
  for (const char* const key : {"driver", "runtime"})
    EXPECT_EQ(between(key, "580.1", "580.2"), std::nullopt) << "no row: who asks for it is told nothing";
}

TEST(distance, of_the_same_minor_version_is_0) {
  EXPECT_EQ(between("cublas", "13.1.0", "13.1.9"), 0);
  EXPECT_EQ(between("cublas", "13.0", "13.0.0"), 0);
  EXPECT_EQ(between("other_cublas", "none", "none"), 0);
  EXPECT_EQ(between("other_cublas", "none", "12.4.5"), std::nullopt);
}

TEST(distance, adds_up_over_keys_and_takes_a_key_that_this_stack_lacks_for_equal) {
  const names keys{"cublas", "compute_capability"};
  const stack_keys recorded{{"cublas", "13.1.0"}, {"compute_capability", "9.0"}};
  EXPECT_EQ(distance(recorded, {{"cublas", "13.2.0"}, {"compute_capability", "10.0"}}, keys), 210);
  EXPECT_EQ(distance(recorded, {{"cublas", "13.1.0"}}, keys), 0);
  EXPECT_EQ(distance(recorded, {}, keys), 0);
  EXPECT_EQ(distance({{"cublas", "13.1.0"}}, recorded, keys), std::nullopt) << "the recorded one lacks it";
  EXPECT_EQ(distance({}, recorded, {}), 0);
}

TEST(keys_that_matter, are_of_the_library_and_where_there_was_a_context_of_the_gpu) {
  arm_result a = arm(arm_kind::fault, {trial({no_memory})});
  EXPECT_EQ(keys_that_matter("memory.leak", a), (names{"cublas", "compute_capability"}));
  EXPECT_EQ(keys_that_matter("pytorch.leak", a), (names{"pytorch", "cublas", "compute_capability"}));
  EXPECT_EQ(keys_that_matter("pytorchx.leak", a), (names{"cublas", "compute_capability"}));
  a.second_cublas = true;
  EXPECT_EQ(keys_that_matter("memory.leak", a), (names{"cublas", "other_cublas", "compute_capability"}));
  a.any_architecture = true;
  EXPECT_EQ(keys_that_matter("memory.leak", a), (names{"cublas", "other_cublas"}));
  arm_result host = arm(arm_kind::fault, {trial({no_memory})});
  host.trials[0].context = "none";
  EXPECT_EQ(keys_that_matter("memory.leak", host), names{"cublas"});
  EXPECT_EQ(keys_that_matter("jax.leak", host), names{"jax"});
  host.trials[0].calls.push_back({.what = {.name = {"cusolverDnCreate"}}});
  EXPECT_EQ(keys_that_matter("memory.leak", host), (names{"cublas", "cusolver"}));
}

}  // namespace
}  // namespace cufault
