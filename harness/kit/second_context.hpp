// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/binding/driver_api.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {

/// A second context of a device beside the primary one, current while the object lives. Throws setup_failed.
class second_context {
 public:
  explicit second_context(int device) {
    CUdevice its = 0;
    CUFAULT_REQUIRE(driver::cuDeviceGet(&its, device));
    CUFAULT_REQUIRE(driver::cuCtxGetCurrent(&first_));
#if CUDA_VERSION >= 13000
    CUFAULT_REQUIRE(driver::cuCtxCreate(&second_, nullptr, 0U, its));
#else
    CUFAULT_REQUIRE(driver::cuCtxCreate(&second_, 0U, its));
#endif
  }
  ~second_context() {
    driver::cuCtxSetCurrent(first_);
    driver::cuCtxDestroy(second_);
  }
  second_context(const second_context&) = delete;
  second_context& operator=(const second_context&) = delete;

  void make_current() {
    CUFAULT_REQUIRE(driver::cuCtxSetCurrent(second_));
  }
  [[nodiscard]] CUcontext first() const {
    return first_;
  }

 private:
  CUcontext first_ = nullptr, second_ = nullptr;
};

}  // namespace cufault
