// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetVector: every second element of pageable memory, for which the call waits.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class set_vector final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    for (std::size_t i = 0; i < count; ++i) from_[2 * i] = static_cast<float>(expected_[i]);
    to_.poison();
  }
  status_record make() override {
    return record_of(cublasSetVector(count, sizeof(float), from_.data(), 2, to_.data(), 1));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, expected_); }

 private:
  static constexpr int count = 7680;
  std::vector<float> from_ = std::vector<float>(std::size_t{2} * count, -99.0F);
  guarded_array to_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_operation here{{.name = "set_vector",
                               .step = {"cublasSetVector"},
                               .summary = "cublasSetVector",
                               .fresh = fresh<set_vector>}};

}  // namespace
}  // namespace cufault::operations
