// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Requirements on every linked operation of cases/operations. None is made, since that needs a GPU.
#include "harness/kit/operation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace cufault {
namespace {

TEST(operations, are_enough) {
  EXPECT_GE(all_operations().size(), 45U);
}

TEST(operations, are_steps_of_functions_that_are_known) {
  ASSERT_FALSE(all_operations().empty());
  for (const operation_type& each : all_operations())
    for (const step_name& step : {each.step, each.product}) {
      EXPECT_EQ(defect_of(step), "") << each.name;
      EXPECT_NE(library_of(step.api), "") << each.name << ": " << step.api;
    }
}

TEST(operations, have_no_step_in_common) {
  ASSERT_FALSE(all_operations().empty());
  std::map<std::string, std::string> by_step;
  for (const operation_type& each : all_operations()) {
    const auto [found, is_new] = by_step.emplace(describe(each.step), each.name);
    EXPECT_TRUE(is_new) << each.name << " and " << found->second << " are both " << found->first;
    EXPECT_NE(describe(each.step), describe(each.product)) << each.name;
  }
}

TEST(operations, that_take_managed_memory_say_so) {
  for (const operation_type& o : all_operations())
    EXPECT_EQ(o.takes_managed_memory, o.step.api == "cudaMallocManaged") << o.name;
}

TEST(operations, are_represented_by_some) {
  const auto few = std::count_if(all_operations().begin(), all_operations().end(),
                                 [](const operation_type& each) { return each.representative; });
  EXPECT_GE(few, 8);
  EXPECT_LE(few, 16) << "each remedy is tried with each of them";
}

/// Records and expectations name them.
TEST(operations, that_are_recorded_keep_their_names_and_steps) {
  const std::map<std::string, step_name> recorded{{"cublas_create", {"cublasCreate"}},
                                                  {"cublas_destroy", {"cublasDestroy"}},
                                                  {"fp8", {"cublasLtMatmul", "fp8_first_algorithm"}},
                                                  {"geam", {"cublasSgeam"}},
                                                  {"gemm_batched", {"cublasSgemmBatched"}},
                                                  {"gemm_ex_bfloat16", {"cublasGemmEx", "bf16"}},
                                                  {"gemm_ex_half", {"cublasGemmEx", "fp16"}},
                                                  {"gemm_grouped", {"cublasSgemmGroupedBatched"}},
                                                  {"gemm_strided_batched", {"cublasGemmStridedBatchedEx"}},
                                                  {"gemv", {"cublasSgemv"}},
                                                  {"get_matrix", {"cublasGetMatrix"}},
                                                  {"graph_capture", {"cublasSgemm", "captured"}},
                                                  {"graph_replay", {"cudaGraphLaunch"}},
                                                  {"int8", {"cublasGemmEx", "int8"}},
                                                  {"lt_algo_get_ids", {"cublasLtMatmulAlgoGetIds"}},
                                                  {"lt_create", {"cublasLtCreate"}},
                                                  {"lt_heuristic", {"cublasLtMatmulAlgoGetHeuristic"}},
                                                  {"lt_matmul", {"cublasLtMatmul", "first_algorithm"}},
                                                  {"set_matrix", {"cublasSetMatrix"}},
                                                  {"set_stream", {"cublasSetStream"}},
                                                  {"set_workspace", {"cublasSetWorkspace"}},
                                                  {"sgemm", {"cublasSgemm"}},
                                                  {"split_k", {"cublasSgemm", "long_k"}},
                                                  {"trsm", {"cublasStrsm"}}};
  for (const auto& [name, step] : recorded) {
    const operation_type* of = find_operation(name);
    ASSERT_NE(of, nullptr) << name;
    EXPECT_EQ(of->step, step) << name;
  }
}

}  // namespace
}  // namespace cufault
