// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaStreamCreateWithFlags, and a kernel on the stream.
#include "cases/operations/operations.hpp"
#include "kernels/faults.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class create_stream final : public without_handle {
 public:
  void load_for_check() override { CUFAULT_REQUIRE(load_faults()); }
  void prepare() override {
    stream_.reset();
    to_.poison();
  }
  status_record make() override {
    cudaStream_t created = nullptr;
    const cudaError_t status = cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking);
    if (status == cudaSuccess) stream_.reset(created);
    return record_of(status);
  }
  product_result check() override {
    const cudaError_t launched = launch_fill(floats(to_), count, 42, stream_.get());
    if (launched != cudaSuccess) return {.waited = launched};
    return compared(CUBLAS_STATUS_SUCCESS, to_, std::vector<double>(count, 42));
  }

 private:
  static constexpr std::size_t count = 1024;
  owned_stream stream_;
  guarded_array to_{CUDA_R_32F, count};
};

const register_operation here{{.name = "stream_create",
                               .step = {"cudaStreamCreateWithFlags"},
                               .summary = "cudaStreamCreateWithFlags",
                               .fresh = fresh<create_stream>,
                               .handle = own_handle::none,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
