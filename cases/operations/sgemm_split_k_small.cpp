// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm of 96 x 80 x 112. Its operands are static device memory.
#include "cases/operations/operations.hpp"
#include "kernels/product.hpp"

namespace cufault::operations {
namespace {

class usual final : public by_handle {
 public:
  void prepare() override { CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on_)); }
  status_record make() override { return record_of(cufault::sgemm(handle(), on_)); }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    product_check found;
    if (result.waited == cudaSuccess) result.waited = check_product(&found);
    result.right = result.waited == cudaSuccess && found.right();
    return result;
  }

 private:
  product_operands on_{};
};

const register_operation here{{.name = "sgemm_split_k_small",
                               .step = {"cublasSgemm", "split_k"},
                               .summary = "cublasSgemm of 96 x 80 x 112, split",
                               .fresh = fresh<usual>,
                               .smaller = "sgemm_64",
                               .lower_precision = "gemm_ex_half",
                               .representative = true}};

}  // namespace
}  // namespace cufault::operations
