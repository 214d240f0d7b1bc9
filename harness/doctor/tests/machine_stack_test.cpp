// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/machine_stack.hpp"

#include "harness/doctor/tests/made_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cufault {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class machine_stack : public made_machine {};

TEST_F(machine_stack, has_the_libraries_that_a_program_gets_before_others) {
  library("/usr/local/cuda/lib64/libcublas.so.12");
  library("/lib64/libcublas.so.13");
  library("/lib64/libcublasLt.so.13");
  library("/lib64/libcudart.so.13");
  versions["/lib64/libcublas.so.13"] = {.version = 130100};
  versions["/usr/local/cuda/lib64/libcublas.so.12"] = {.version = 120805};
  versions["/lib64/libcudart.so.13"] = {.version = 13000};
  const json stack = stack_of(m, {}, 0);
  EXPECT_EQ(stack["cublas"], (json{{"version", "13.1.0"}, {"path", "/lib64/libcublas.so.13"}}));
  EXPECT_EQ(stack["runtime"]["version"], "13.0");
  EXPECT_EQ(stack["files"]["cublaslt"]["soname"], "libcublasLt.so.13");
  ASSERT_EQ(stack["libraries"].size(), 4U);
  EXPECT_EQ(stack["libraries"][1], (json{{"name", "libcublas.so.12"},
                                         {"version", "12.8.5"},
                                         {"path", "/usr/local/cuda/lib64/libcublas.so.12"},
                                         {"found_by", "no search path"}}));
  EXPECT_EQ(stack_of(m, "/usr/local/cuda/lib64", 0)["cublas"]["version"], "12.8.5");
}

TEST_F(machine_stack, has_the_gpu_with_the_memory_that_nvml_tells) {
  driver.devices = {{"first", 90, "0000:3b:00.0"}, {"second", 120, "0000:5e:00.0"}};
  management.gpus = {gpu_state{.bus_id = "00000000:5E:00.0", .total_bytes = 32ULL << 30}};
  EXPECT_EQ(stack_of(m, {}, 0)["gpu"], (json{{"name", "first"}, {"compute_capability", "9.0"}}));
  EXPECT_EQ(stack_of(m, {}, 1)["gpu"],
            (json{{"name", "second"}, {"compute_capability", "12.0"}, {"memory_bytes", 32ULL << 30}}));
  EXPECT_EQ(stack_of(m, {}, 2)["error"], "--device 2: there are devices 0 to 1 here");
  EXPECT_EQ(stack_of(m, {}, 0)["driver"], (json{{"cuda", "13.0"}, {"library", "/lib64/libcuda.so.1"}}));
}

TEST_F(machine_stack, says_why_there_is_no_gpu) {
  const json bare = stack_of(m, {}, 0);
  EXPECT_TRUE(bare["libraries"].empty());
  EXPECT_EQ(bare["error"], "") << "no library is no error";
  driver.initialised = 803;
  EXPECT_THAT(stack_of(m, {}, 0)["no_gpu"].get<std::string>(), HasSubstr("cudaErrorSystemDriverMismatch"));
  driver.why_absent = "libcuda.so.1: no such file";
  const json none = stack_of(m, {}, 0);
  EXPECT_TRUE(none["gpu"].is_null());
  EXPECT_EQ(none["no_gpu"], "libcuda.so.1: no such file");
}

}  // namespace
}  // namespace cufault
