// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/benchmarks/remedy_cost/products.hpp"

#include <cuda_runtime.h>

namespace cufault::remedy_cost {

/// Times work by CUDA events in the legacy stream of the context in which it was made. Throws setup_failed.
class device_timer {
 public:
  /// Returns when the device has done the work.
  template <class Work>
  double milliseconds(Work&& work) const {
    must("cudaEventRecord", cudaEventRecord(begin_.get()));
    work();
    must("cudaEventRecord", cudaEventRecord(end_.get()));
    must("cudaEventSynchronize", cudaEventSynchronize(end_.get()));
    float taken = 0;
    must("cudaEventElapsedTime", cudaEventElapsedTime(&taken, begin_.get(), end_.get()));
    return taken;
  }

 private:
  class event {
   public:
    event() { must("cudaEventCreate", cudaEventCreate(&event_)); }
    ~event() { cudaEventDestroy(event_); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    [[nodiscard]] cudaEvent_t get() const { return event_; }

   private:
    cudaEvent_t event_ = nullptr;
  };
  event begin_, end_;
};

}  // namespace cufault::remedy_cost
