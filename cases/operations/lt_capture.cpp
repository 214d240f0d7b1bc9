// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul while its stream is captured. Its kernel is loaded before, as for graph_capture.
#include "cases/operations/captured_stream.hpp"

namespace cufault::operations {
namespace {

class captured_matmul final : public by_lt_handle {
 public:
  captured_matmul() {
    CUFAULT_REQUIRE(problem_.heuristic(lt(), workspace_bytes, nullptr, 1));
    if (problem_.results().empty()) throw not_provoked("the heuristic knows no algorithm for this product");
    prepare_numbers();
    CUFAULT_REQUIRE(multiply_on_stream());
    CUFAULT_REQUIRE(stream_.wait());
  }
  void prepare() override {
    stream_.end();
    prepare_numbers();
  }
  void enter() override { stream_.begin(); }
  status_record make() override { return record_of(multiply_on_stream()); }
  product_result check() override {
    if (const product_result made = stream_.instantiate(); made.waited != cudaSuccess) return made;
    const cudaError_t launched = stream_.launch();
    if (launched != cudaSuccess) return {.waited = launched};
    return p_.finish(CUBLAS_STATUS_SUCCESS);
  }
  product_result multiply() override {
    stream_.end();
    return by_lt_handle::multiply();
  }

 private:
  void prepare_numbers() {
    p_.reset();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // its stream does not wait for the legacy one
  }
  cublasStatus_t multiply_on_stream() {
    return problem_.multiply(lt(), p_.operands(), &problem_.results().front().algo, workspace(),
                             workspace_bytes, stream_.get());
  }
  checked_product p_{usual_product()};
  lt_problem problem_{p_.described()};
  captured_stream stream_;
};

const register_operation here{{.name = "lt_capture",
                               .step = {"cublasLtMatmul", "captured"},
                               .summary = "cublasLtMatmul under capture",
                               .fresh = fresh<captured_matmul>,
                               .handle = own_handle::cublaslt,
                               .uses_private_stream = true,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
