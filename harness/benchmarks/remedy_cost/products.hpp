// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/device_block.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/trial/observe.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cufault/argument_check.hpp"

/// Products for timing: large operands that are filled quickly, and a proof of samples against a float64 sum on the host. checked_product
/// of harness/kit proves every element, which takes too long for 8192 x 8192 x 8192.
namespace cufault::remedy_cost {

/// CUFAULT_REQUIRE for timed calls: costs one comparison if the call succeeds.
template <class Status>
void must(const char* call, Status status) {
  if (status != Status{}) require_call(call, status);
}

struct number_kind {
  const char* name;   ///< "tf32"; the peak of a GPU is called by it
  const char* words;  ///< "TF32"
  cudaDataType ab, c;
  cublasComputeType_t compute;
  cudaDataType scalar;
  double rounding;  ///< of C, relative; 0: small whole numbers give exact results
};
extern const std::array<number_kind, 6> number_kinds;
const number_kind& kind_called(const std::string& name);  ///< throws setup_failed

/// As in cuBLAS: column-major, C is m x n.
struct shape {
  std::int64_t m, n, k;
  [[nodiscard]] std::string name() const;  ///< "4096x1x4096"
  [[nodiscard]] double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

std::size_t element_bytes(cudaDataType type);

/// Device memory that holds small whole numbers. Throws setup_failed.
class filled_block {
 public:
  filled_block(cudaDataType type, std::size_t count, std::uint64_t seed);
  [[nodiscard]] void* data() const { return block_.address(); }
  [[nodiscard]] double number(std::size_t index) const;  ///< what was filled in there

 private:
  device_block block_;
  std::shared_ptr<const std::vector<double>> numbers_;
};

/// A product with its operands, which sides of a comparison may share.
class timed_product {
 public:
  /// `transposed`: A is transposed, as FP8 products require. `batch`: strided, with the smallest strides.
  timed_product(const number_kind& kind, const shape& extents, bool transposed = false,
                std::int64_t batch = 1, std::int64_t leading_dimension_of_a = 0);
  timed_product(const timed_product&) = delete;
  timed_product& operator=(const timed_product&) = delete;
  ~timed_product() = default;

  [[nodiscard]] const argument_check::product& described() const { return described_; }
  [[nodiscard]] double operations() const;
  [[nodiscard]] double bytes() const;  ///< of all operands, each once
  [[nodiscard]] void* c() const { return c_.address(); }
  [[nodiscard]] const number_kind& kind() const { return kind_; }

  void by_gemm_ex(cublasHandle_t handle) const;  ///< throws setup_failed where it is refused
  [[nodiscard]] lt_operands operands() const;

  void poison() const;               ///< C
  [[nodiscard]] bool right() const;  ///< waits; elements of C, drawn from all, against float64

 private:
  const number_kind kind_;
  argument_check::product described_;
  float one_ = 1, zero_ = 0;
  std::int32_t whole_one_ = 1, whole_zero_ = 0;
  filled_block a_, b_;
  std::size_t c_bytes_;
  device_block c_;
};

/// cublasLtMatmul with an algorithm chosen once.
class lt_product_call {
 public:
  /// Throws setup_failed if the heuristic has no algorithm.
  lt_product_call(const timed_product& of, std::size_t workspace_bytes);
  void multiply() const;
  void choose();  ///< asks the heuristic again

 private:
  const timed_product& of_;
  std::size_t workspace_bytes_;
  device_block workspace_;
  std::unique_ptr<cublasLtContext, destroy_by<cublasLtDestroy>> lt_;
  lt_problem problem_;
};

using owned_cublas = std::unique_ptr<cublasContext, destroy_by<cublasDestroy>>;

}  // namespace cufault::remedy_cost
