// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/memory_pressure.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// Takes the rest once no further granule can be mapped, by ever smaller allocations down to 512 bytes, which share granules: then it does
/// not depend on what the process did before whether a small allocation finds room.
class small_blocks {
 public:
  small_blocks() { hold(); }
  ~small_blocks() { release(); }
  small_blocks(const small_blocks&) = delete;
  small_blocks& operator=(const small_blocks&) = delete;
  void hold() {
    constexpr std::size_t first = std::size_t{1} << 20, last = 512;
    // Where not even the smallest finds room, no larger one does: mostly so when this is repeated.
    void* p = nullptr;
    if (cudaMalloc(&p, last) == cudaSuccess) {
      held_.push_back(p);
      for (std::size_t bytes = first; bytes >= last; bytes /= 2)
        while (cudaMalloc(&p, bytes) == cudaSuccess) held_.push_back(p);
    }
    cudaGetLastError();
  }
  void release() {
    for (void* p : held_) cudaFree(p);
    held_.clear();
  }

 private:
  std::vector<void*> held_;
};

/// Device memory held by this process, so that so many bytes are left; 0: not even 512. An object of a world.
class device_memory_pressure {
 public:
  explicit device_memory_pressure(std::uint64_t leave_free) : bulk_(*device_, leave_free) {
    if (leave_free == 0) rest_.emplace();
    left_ = device_->free_bytes();
  }
  void renew() {
    if (device_->free_bytes() != left_) {
      if (rest_) rest_->release();
      bulk_.renew();
    }
    if (rest_) rest_->hold();
    left_ = device_->free_bytes();
  }
  void release() {
    if (rest_) rest_->release();
    bulk_.release();
  }

 private:
  std::unique_ptr<device_memory> device_ = current_device_memory();
  renewable_pressure bulk_;
  std::optional<small_blocks> rest_;
  std::uint64_t left_ = 0;
};

/// All device memory, in the device's default pool: freed by cudaFreeAsync, and nobody has waited for the device since. An object of a world. Throws
/// setup_failed.
class freed_pool_memory {
 public:
  explicit freed_pool_memory(int device) : pool_(device) {}
  /// Again, since what ran meanwhile may have waited for the device.
  void fill_and_free() {
    release();
    renewable_pressure filled(pool_, 0);
    rest_.emplace();  // before the memory is freed: after that, cudaMalloc could take it from the pool
    filled.release();
  }
  void release() {
    rest_.reset();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    pool_.trim();
  }

 private:
  stream_ordered_memory pool_;
  std::optional<small_blocks> rest_;
};

/// Operations are ready, `first` is done, and then the device is full but for the level.
inline fault_type full_device(
    std::string name, std::string summary, std::map<std::string, std::string> environment,
    std::function<void()> first = [] {}) {
  fault_type f;
  f.name = std::move(name);
  f.summary = std::move(summary);
  f.kind = "memory";
  f.levels = {0, 64};
  f.unit = "MiB free";
  f.environment = std::move(environment);
  f.cells = isolation::lasting;
  f.cold_apart = true;
  f.fills_device = true;
  f.memory = memory_class::exclusive;
  f.provoke = [first = std::move(first)](world& w) {
    first();
    auto& held = w.keep<device_memory_pressure>(static_cast<std::uint64_t>(w.level()) << 20);
    w.undo_by([&held] { held.release(); });
    w.renew_by([&held] { held.renew(); });
  };
  return f;
}

}  // namespace cufault
