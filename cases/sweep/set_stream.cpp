// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSetStream, by any one driver call inside of it.
// Why          Any version may make some; cuBLAS 13.1.0 makes none.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

class set_stream final : public by_handle {
 public:
  set_stream() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~set_stream() override {
    cublasSetStream(handle_, nullptr);
    cudaStreamDestroy(stream_);
  }
  status_record make() override { return record_of(cublasSetStream(handle_, stream_)); }
  product_result check() override { return multiply(); }

 private:
  cudaStream_t stream_ = nullptr;
};

const register_case here{sweep_of("set_stream", "cublasSetStream, each driver call failed",
                                  [] { return std::make_unique<set_stream>(); })};

}  // namespace
}  // namespace cufault::sweeping
