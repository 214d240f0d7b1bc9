// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <stdexcept>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string first = "GPU-0a9df86c-2207-BB46-a036-5b510318cd98", second = "GPU-1b-2c";

/// Variables that CTest sets for a test with RESOURCE_GROUPS "gpus:1".
class given_by_ctest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("CTEST_RESOURCE_GROUP_COUNT", "1", 1);
    setenv("CTEST_RESOURCE_GROUP_0", "gpus", 1);
  }
  void TearDown() override {
    for (const char* name :
         {"CTEST_RESOURCE_GROUP_COUNT", "CTEST_RESOURCE_GROUP_0", "CTEST_RESOURCE_GROUP_0_GPUS"})
      unsetenv(name);
  }
  static std::vector<int> devices(const char* allocated) {
    setenv("CTEST_RESOURCE_GROUP_0_GPUS", allocated, 1);
    return devices_given_by_ctest({first, second});
  }
};

TEST(resource_spec, has_a_gpu_under_a_name_that_ctest_allows) {
  const auto spec = resource_spec({first, second});
  EXPECT_EQ(spec["version"], nlohmann::ordered_json::parse(R"({"major": 1, "minor": 0})"));
  const auto& gpus = spec["local"][0]["gpus"];
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0]["id"], "gpu_0a9df86c_2207_bb46_a036_5b510318cd98");
  EXPECT_EQ(gpus[1]["id"], "gpu_1b_2c");
  EXPECT_EQ(gpus[1]["slots"], slots_of_a_gpu);
}

TEST(resource_spec, lets_cases_run_where_there_is_no_gpu) {
  const auto spec = resource_spec({});
  ASSERT_EQ(spec["local"][0]["gpus"].size(), 1U);
  EXPECT_EQ(spec["local"][0]["gpus"][0]["id"], "none");
}

TEST_F(given_by_ctest, is_the_number_of_the_gpu_that_is_named) {
  EXPECT_THAT(devices("id:gpu_1b_2c,slots:1"), ElementsAre(1));
  EXPECT_THAT(devices("id:gpu_1b_2c,slots:100;id:gpu_0a9df86c_2207_bb46_a036_5b510318cd98,slots:100"),
              ElementsAre(1, 0));
  EXPECT_THAT(devices("id:gpu_1b_2c,slots:1;id:gpu_1b_2c,slots:1"), ElementsAre(1));
}

TEST_F(given_by_ctest, is_nothing_where_the_file_has_no_gpu) {
  EXPECT_TRUE(ctest_allocates());
  EXPECT_THAT(devices("id:none,slots:1"), IsEmpty());
}

TEST_F(given_by_ctest, is_refused_by_name_where_that_gpu_is_gone) {
  try {
    devices("id:gpu_77,slots:1");
    FAIL() << "it was taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("gpu_77, which is not here; write its resource spec file again"));
  }
}

TEST_F(given_by_ctest, is_refused_where_it_cannot_be_read) {
  EXPECT_THROW(devices("gpu_1b_2c"), std::invalid_argument);
  EXPECT_THROW(devices("id:gpu_1b_2c"), std::invalid_argument);
  EXPECT_THROW(devices("id:,slots:1"), std::invalid_argument);
  for (const char* count : {"x", "-1", "99999999999", "1x"}) {
    setenv("CTEST_RESOURCE_GROUP_COUNT", count, 1);
    EXPECT_THROW(devices("id:gpu_1b_2c,slots:1"), std::invalid_argument) << count;
  }
}

TEST(not_given_by_ctest, is_nothing) {
  EXPECT_FALSE(ctest_allocates());
  EXPECT_THAT(devices_given_by_ctest({first}), IsEmpty());
}

}  // namespace
}  // namespace cufault
