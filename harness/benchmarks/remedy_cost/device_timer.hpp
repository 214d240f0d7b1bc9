// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/benchmarks/remedy_cost/products.hpp"

#include <cuda_runtime.h>

#include <memory>

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
  using event = std::unique_ptr<CUevent_st, destroy_by<cudaEventDestroy>>;
  static event new_event() {
    cudaEvent_t created = nullptr;
    must("cudaEventCreate", cudaEventCreate(&created));
    return event(created);
  }
  event begin_ = new_event(), end_ = new_event();
};

}  // namespace cufault::remedy_cost
