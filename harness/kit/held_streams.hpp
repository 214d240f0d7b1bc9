// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <cuda_runtime.h>

#include <utility>
#include <vector>

namespace cufault {

/// Blocks streams until one signal releases all of them: a kernel on each waits for the host, at most `at_most_ms`. The destructor also
/// releases them and waits.
class held_streams {
 public:
  explicit held_streams(std::vector<cudaStream_t> streams, unsigned at_most_ms = 20'000)
      : streams_(std::move(streams)) {
    CUFAULT_REQUIRE(cudaHostAlloc(&flag_, sizeof *flag_, cudaHostAllocDefault));
    *flag_ = 0;
    for (cudaStream_t each : streams_) CUFAULT_REQUIRE(launch_wait(flag_, each, at_most_ms));
  }
  ~held_streams() {
    let_go();
    for (cudaStream_t each : streams_) cudaStreamSynchronize(each);
    cudaFreeHost(flag_);
  }
  held_streams(const held_streams&) = delete;
  held_streams& operator=(const held_streams&) = delete;

  void let_go() { *static_cast<volatile int*>(flag_) = 1; }

 private:
  std::vector<cudaStream_t> streams_;
  int* flag_ = nullptr;
};

}  // namespace cufault
