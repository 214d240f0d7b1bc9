// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/stack.hpp"

#include "reports/base/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace cufault {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";

json stack_here() {
  return {
      {"gpu", {{"name", "NVIDIA H200"}, {"uuid", uuid}, {"uuid_hashes", {hash_of(uuid)}}}},
      {"devices", {uuid}},
      {"environment", {{"NVIDIA_VISIBLE_DEVICES", uuid + ",MIG" + uuid.substr(3)}, {"CUDA_HOME", "/GPU-0"}}},
      {"cublas", {{"version", "13.7.0"}, {"path", "/lib/libcublas.so.13"}}},
      {"files", {{"cublas", {{"rpath", "$ORIGIN"}, {"gpu_code", {"sm_90a", "compute_120"}}}}}}};
}

TEST(stack_of_a_record, has_hashes_of_uuids_and_no_uuid) {
  const json kept = for_record(stack_here());
  EXPECT_THAT(kept.dump(), Not(HasSubstr(uuid.substr(4))));
  EXPECT_EQ(kept["gpu"]["uuid_hashes"], json::array({hash_of(uuid)}));
  EXPECT_EQ(kept["environment"]["NVIDIA_VISIBLE_DEVICES"],
            "GPU-" + hash_of(uuid) + ",MIG-" + hash_of("MIG" + uuid.substr(3)));
  EXPECT_EQ(kept["environment"]["CUDA_HOME"], "/GPU-0") << "no UUID";
  EXPECT_EQ(kept["files"], stack_here()["files"]);
}

TEST(stack_of_a_record, needs_no_gpu) {
  EXPECT_EQ(for_record({{"gpu", nullptr}, {"no_gpu", "none"}}), (json{{"gpu", nullptr}, {"no_gpu", "none"}}));
}

TEST(driver_of_a_stack, has_the_version_of_its_library) {
  const auto named = [](const std::string& library, const std::string& kernel) {
    json driver{{"library", library}};
    name_driver(driver, kernel);
    return driver.value("version", "") + "/" + driver.value("kernel", "");
  };
  EXPECT_EQ(named("/lib64/libcuda.so.580.159.04", "580.159.04"), "580.159.04/");
  EXPECT_EQ(named("/usr/local/cuda/compat/libcuda.so.580.95.05", "580.159.04"), "580.95.05/580.159.04");
  EXPECT_EQ(named("/lib64/libcuda.so.565.77", "580.159.04"), "565.77/580.159.04");
  EXPECT_EQ(named("/usr/lib/wsl/lib/libcuda.so.1.1", "580.159.04"), "580.159.04/") << "of WSL";
  EXPECT_EQ(named("/tmp/libcuda.so.1", "580.159.04"), "580.159.04/");
  EXPECT_EQ(named("", "580.159.04"), "580.159.04/");
  EXPECT_EQ(named("/lib64/libcuda.so.580.159.04", ""), "/") << "there is no driver";
  json unknown;
  name_driver(unknown, "580.159.04");
  EXPECT_EQ(unknown, (json{{"version", "580.159.04"}}));
}

TEST(printed_stack, has_a_line_for_each_file) {
  std::ostringstream out;
  print_stack(out, stack_here());
  EXPECT_THAT(out.str(),
              HasSubstr("cublas file         search path DT_RPATH $ORIGIN; GPU code sm_90a compute_120; "
                        "build id none\n"));
}

}  // namespace
}  // namespace cufault
