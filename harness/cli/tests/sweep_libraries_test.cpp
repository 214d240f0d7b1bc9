// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault sweep --library` of a command: calls of libraries are failed.
#include "harness/cli/tests/sweep_program_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(sweep_program, calls_of_a_library_are_failed_in_place_of_the_driver_s) {
  const std::vector<std::string> all{"report",          "handle",        "products",
                                     "library_version", "print_product", "nested"};
  const swept seen = sweep({"--library", "cublas"}, all);
  EXPECT_EQ(seen.process.exit_code, 1) << seen.process.stderr_text;
  EXPECT_EQ(seen.of("sweep").at(0)["libraries"], json({"cublas"}));
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cublasCreate_v2 crashed", "cublasSgemm_v2 reported",
                                                    "cublasGetVersion_v2 swallowed",
                                                    "cublasSgemm_v2 other_output", "cublasGemmEx swallowed"));
  for (const json& r : seen.of("row")) {
    EXPECT_EQ(r["library"], "injector_swept");
    EXPECT_EQ(r["injections"], 1);
    if (r["outcome"] == "crashed") {
      EXPECT_EQ(r["code"], "ALLOC_FAILED");
      EXPECT_EQ(r["repeatable"], true);
    }
    if (r["outcome"] == "reported") {
      EXPECT_EQ(r["code"], "EXECUTION_FAILED");
    }
  }
  EXPECT_THAT(sweep({}, all).outcomes(), ElementsAre("cuInit reported")) << "without it only the driver's";
}

TEST_F(sweep_program, calls_of_two_libraries_are_told_apart_by_who_calls) {
  const swept seen = sweep({"--library", "cublasLt", "--library", "cublas"}, {"nested"});
  EXPECT_EQ(seen.process.exit_code, 0) << seen.process.stderr_text;
  EXPECT_EQ(seen.of("sweep").at(0)["libraries"], json({"cublas", "cublasLt"}));
  std::map<std::string, std::string> callers;
  for (const json& s : seen.of("site")) callers[s["function"]] = s["library"];
  EXPECT_EQ(callers, (std::map<std::string, std::string>{{"cublasGemmEx", "injector_swept"},
                                                         {"cublasLtMatmul", "libcublas.so.13"}}));
  EXPECT_THAT(
      cufault({"--library", "cublasLt", "--library", "cublas"}, {swept_program, "nested"}).stdout_text,
      HasSubstr("2 calls of cublas and cublasLt at 2 call sites"));
}

TEST_F(sweep_program, libraries_that_are_opened_and_called_by_pointer_are_listed) {
  const auto by = [&](const std::string& how, const std::string& file) {
    return cufault({"--library", "cublas"}, {unlinked_probe, how, blas + file, "2"});
  };
  EXPECT_THAT(by("dlsym", "/bundled/libcublas-1a2b3c.so.13").stdout_text,
              HasSubstr("other_output cublasSgemm_v2 at injector_blas_probe"));
  EXPECT_THAT(by("plugin", "/libinjector_blas_user_new.so").stdout_text,
              HasSubstr("other_output cublasSgemm_v2 at libinjector_blas_user_new.so"));
}

TEST_F(sweep_program, device_memory_that_stays_after_a_library_s_failure_is_found) {
  const swept seen = sweep({"--library", "cublas"}, {"leak_at_product"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cublasSgemm_v2 leaked"));
  EXPECT_EQ(seen.of("row").at(0)["left"]["device_allocations"], 1);
}

TEST_F(sweep_program, every_call_of_a_library_is_failed_by_each_status) {
  const swept seen = sweep({"--library", "cublas", "--depth", "every", "-j", "2"}, {"products"});
  EXPECT_EQ(seen.process.exit_code, 0);
  std::map<int, int> codes;
  for (const json& r : seen.of("row")) {
    EXPECT_EQ(r["outcome"], "reported");
    ++codes[r["ordinal"].get<int>()];
  }
  EXPECT_EQ(codes, (std::map<int, int>{{1, 9}, {2, 9}, {3, 9}})) << "cuBLAS has nine statuses of failure";
  const swept grouped = sweep({"--library", "cublas", "--depth", "grouped"}, {"products"});
  EXPECT_THAT(grouped.of("row"), SizeIs(2));
  EXPECT_EQ(grouped.of("group").at(0)["calls"], 3);
}

TEST_F(sweep_program, the_line_of_a_library_s_row_repeats_it) {
  const swept seen = sweep({"--library", "cublas"}, {"products"});
  const std::string again = seen.of("row").at(0)["again"], inject = "cufault inject ";
  ASSERT_THAT(again, HasSubstr(inject + "--fail cublasSgemm_v2@"));
  spawn_options shell;
  shell.argv = {"/bin/sh", "-c",
                "exec " + tested_command + " inject --require 1 " + again.substr(inject.size())};
  const auto repeated = run_process(shell, {});
  EXPECT_EQ(repeated.exit_code, 4);
  EXPECT_THAT(repeated.stderr_text, HasSubstr("swept: a product was not made"));
}

TEST_F(sweep_program, a_record_of_a_library_goes_on_with_that_library_alone) {
  const std::string record = folder / "sweep.jsonl";
  EXPECT_EQ(cufault({"--library", "cublas", "--budget", "0.000001", "--resume", record},
                    {swept_program, "products"})
                .exit_code,
            3);
  const auto other = cufault({"--resume", record}, {swept_program, "products"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.stderr_text, HasSubstr("it was made with another --library"));
  const auto rest = cufault({"--library", "cublas", "--resume", record}, {swept_program, "products"});
  EXPECT_EQ(rest.exit_code, 0) << rest.stderr_text;
  EXPECT_THAT(rest.stdout_text, HasSubstr("1 rows: 1 reported; 0 not acceptable"));
}

TEST_F(sweep_program, parts_hold_for_libraries_too) {
  std::vector<std::string> parts;
  for (const char* part : {"1/2", "2/2"})
    for (const std::string& each :
         sweep({"--library", "cublas", "--shard", part}, {"products", "library_version"}).outcomes())
      parts.push_back(each);
  EXPECT_THAT(parts, UnorderedElementsAre("cublasSgemm_v2 reported", "cublasGetVersion_v2 swallowed"));
}

TEST_F(sweep_program, a_library_that_is_not_called_or_not_known_is_named) {
  const auto not_called = cufault({"--library", "cudart"}, {swept_program, "products"});
  EXPECT_EQ(not_called.exit_code, 77);
  EXPECT_THAT(not_called.stderr_text, HasSubstr("no function of cudart that could be seen"));
  const auto unknown = cufault({"--library", "cufft"}, {swept_program, "products"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.stderr_text, HasSubstr("--library cufft: one of cudart, cublas, cublasLt"));
}

}  // namespace
}  // namespace cufault
