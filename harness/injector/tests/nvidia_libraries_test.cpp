// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// NVIDIA's own libraries and runtime between a program and the driver.
#include "harness/injector/tests/injector_fixture.hpp"

namespace cufault {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

/// NVIDIA's libraries on the fake driver. They get as far as looking up its functions and starting it.
class injector_of_libraries : public injector {
 protected:
  void SetUp() override {
    if (folder_of_libraries.empty())
      GTEST_SKIP() << "CUFAULT_TESTED_LIBRARIES names no folder with libraries for the emulated processor";
    for (const std::string& each : {cublas, cublaslt})
      if (!fs::exists(each)) GTEST_SKIP() << each << " is not there";
  }
  const std::string folder_of_libraries =
      from_environment("CUFAULT_TESTED_LIBRARIES", emulated ? "" : TOOLKIT_LIBRARIES);
  const std::string cublas = folder_of_libraries + "/libcublas.so." TOOLKIT_MAJOR,
                    cublaslt = folder_of_libraries + "/libcublasLt.so." TOOLKIT_MAJOR;
  const std::string both = "create " + cublas + " cublasCreate_v2 " + cublaslt + " cublasLtCreate";
};

TEST_F(injector_of_libraries, sees_what_each_cublas_resolves_and_calls) {
  const auto free = without_preload(both);
  EXPECT_THAT(free, ElementsAre(StartsWith("cublasCreate_v2 "), StartsWith("cublasLtCreate ")));
  EXPECT_EQ(lines(both), free);
  const auto all = counts();
  for (const std::string& each : {cublas, cublaslt}) {
    const std::string by = " by " + fs::path(each).filename().string();
    EXPECT_GT(all.at("cuGetProcAddress_v2" + by), 100) << "it asks for hundreds of functions";
    EXPECT_EQ(all.at("cuInit" + by), 1);
    EXPECT_GE(all.at("cuDriverGetVersion" + by), 1);
  }
}

TEST_F(injector_of_libraries, acts_on_the_calls_of_one_of_them) {
  for (const std::string name : {"cublas", "cublasLt"}) {
    fs::remove(log());
    lines(both, rules(R"({"function": "cuInit", "return": "NO_DEVICE", "caller": ")" + name + "\"}"));
    const auto all = events("injected");
    ASSERT_EQ(all.size(), 1U) << name;
    EXPECT_EQ(all[0]["caller"], "lib" + name + ".so." TOOLKIT_MAJOR);
    EXPECT_EQ(all[0]["function"], "cuInit");
  }
  fs::remove(log());
  lines(both, rules(R"({"function": "cuInit", "return": "NO_DEVICE", "caller": "application"})"));
  EXPECT_THAT(events("injected"), IsEmpty());
}

TEST_F(injector_of_libraries, stands_between_a_runtime_and_its_driver) {
  const std::string runtime = tree + "/bin/injector_runtime_probe";
  if (!fs::exists(runtime)) GTEST_SKIP() << "built only with a toolkit of the same processor";
  EXPECT_THAT(lines_of(runtime + " version"), ElementsAre("cudaSuccess 13000"));
  EXPECT_GT(counts().at("cuGetProcAddress_v2 by injector_runtime_probe"), 100);
  EXPECT_THAT(lines_of(runtime + " version", rules(R"({"driver_version": 12020, "caller": "application"})")),
              ElementsAre("cudaSuccess 12020"));
}

/// A runtime starts only on NVIDIA's driver, so this needs a GPU; no library of the toolkit, because it is linked statically.
class injector_of_a_runtime : public injector {
 protected:
  void SetUp() override {
    if (emulated) GTEST_SKIP() << "the toolkit's runtime is for this processor";
  }
};

TEST_F(injector_of_a_runtime, stands_in_front_of_what_it_hands_out) {
  const std::string command =
      " env LD_PRELOAD=" + library + " " + tree + "/bin/injector_runtime_probe entry_points 2>&1";
  const auto free = said_by("CUFAULT_LOG=" + log().string() + command);
  ASSERT_FALSE(free.empty());
  if (free[0].starts_with("no runtime")) GTEST_SKIP() << free[0] << "; this needs a GPU";
  EXPECT_THAT(free, Each(EndsWith(": 0")));
  int calls = 0;
  for (const auto& [what, n] : counts()) calls += what.starts_with("cuMemAlloc") ? n : 0;
  EXPECT_GE(calls, static_cast<int>(free.size()));
  const auto failed =
      said_by("CUFAULT_LOG=" + log().string() + " CUFAULT_FAIL=cuMemAlloc=OUT_OF_MEMORY" + command);
  EXPECT_EQ(failed.size(), free.size());
  EXPECT_THAT(failed, Each(EndsWith(": 2")));
}

}  // namespace
}  // namespace cufault
