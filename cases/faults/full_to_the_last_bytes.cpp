// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Small allocations, too, which find room in pieces of memory that the driver has mapped already.
// Why          The driver maps memory in pieces of 2 MiB; allocations of a few bytes share one.
// Documented   Nowhere. This fault fills each piece down to allocations of 512 bytes.
#include "cases/faults/full_device.hpp"
#include "harness/matrix/world.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

namespace cufault {
namespace {

/// What is left when no piece can be mapped any more, in ever smaller allocations.
class small_blocks {
 public:
  small_blocks() { hold(); }
  void hold() {
    constexpr std::size_t first = std::size_t{1} << 20, last = 512;
    for (std::size_t bytes = first; bytes >= last; bytes /= 2)
      for (void* p = nullptr; cudaMalloc(&p, bytes) == cudaSuccess;) held_.push_back(p);
    cudaGetLastError();
  }
  ~small_blocks() { release(); }
  small_blocks(const small_blocks&) = delete;
  small_blocks& operator=(const small_blocks&) = delete;
  void release() {
    for (void* p : held_) cudaFree(p);
    held_.clear();
  }

 private:
  std::vector<void*> held_;
};

const register_fault here{{.name = "full_to_the_last_bytes",
                           .summary = "device memory is held by the program down to the last 512 bytes",
                           .kind = "memory",
                           .cells = isolation::lasting,
                           .memory = memory_class::exclusive,
                           .provoke = [](world& w) {
                             device_squeeze& bulk = w.keep<device_squeeze>(0U);
                             small_blocks& rest = w.keep<small_blocks>();
                             w.undo_by([&] {
                               rest.release();
                               bulk.release();
                             });
                             w.renew_by([&] {
                               bulk.renew();
                               rest.hold();
                             });
                           }}};

}  // namespace
}  // namespace cufault
