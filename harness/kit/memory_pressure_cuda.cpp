// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The part with a GPU: real device memory, and the process that fills it.
#include "harness/kit/memory_pressure.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace cufault {
namespace {

memory_budget installed_budget;

bool set_budget(std::uint64_t bytes) {
  if (installed_budget) installed_budget(bytes);
  return static_cast<bool>(installed_budget);
}

void lift_budget() {
  if (installed_budget) installed_budget(std::nullopt);
}

class cuda_device_memory final : public device_memory {
 public:
  std::uint64_t free_bytes() override {
    std::size_t free = 0, total = 0;
    if (const cudaError_t e = cudaMemGetInfo(&free, &total); e != cudaSuccess) {
      throw std::runtime_error(fmt::format("cudaMemGetInfo returned {}", cudaGetErrorName(e)));
    }
    return free;
  }
  void* allocate(std::uint64_t bytes) override {
    void* p = nullptr;
    if (cudaMalloc(&p, bytes) == cudaSuccess) return p;
    cudaGetLastError();
    return nullptr;
  }
  void release(void* p) override { cudaFree(p); }
  bool limit_to(std::uint64_t bytes) override { return set_budget(bytes); }
  void lift_limit() override { lift_budget(); }
};

}  // namespace

void replace_pressure_by(memory_budget budget) {
  installed_budget = std::move(budget);
}

device_memory& current_device_memory() {
  static cuda_device_memory device;
  return device;
}

stream_ordered_memory::stream_ordered_memory(int device) {
  CUFAULT_REQUIRE(cudaDeviceGetDefaultMemPool(&pool_, device));
  keep(UINT64_MAX);
}

std::uint64_t stream_ordered_memory::free_bytes() {
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  std::size_t free = 0, total = 0;
  CUFAULT_REQUIRE(cudaMemGetInfo(&free, &total));
  return free;
}

void* stream_ordered_memory::allocate(std::uint64_t bytes) {
  void* p = nullptr;
  if (cudaMallocAsync(&p, bytes, nullptr) == cudaSuccess) return p;
  cudaGetLastError();
  return nullptr;
}

void stream_ordered_memory::release(void* p) {
  cudaFreeAsync(p, nullptr);
}

bool stream_ordered_memory::limit_to(std::uint64_t bytes) {
  return set_budget(bytes);
}

void stream_ordered_memory::keep(std::uint64_t bytes) {
  CUFAULT_REQUIRE(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &bytes));
}

void stream_ordered_memory::trim() {
  CUFAULT_REQUIRE(cudaMemPoolTrimTo(pool_, 0));
}

std::uint64_t stream_ordered_memory::reserved_bytes() const {
  std::uint64_t bytes = 0;
  CUFAULT_REQUIRE(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes));
  return bytes;
}

other_process::other_process(int device, std::uint64_t leave_free)
    : device_(device), leave_free_(leave_free) {
  start();
}

namespace {
constexpr const char* moved = "moved: ";  // precedes the process's message about a memory_moved
}

void other_process::start() {
  if (set_budget(leave_free_)) {
    free_ = leave_free_;
    return;
  }
  process_ = std::make_unique<second_process>(std::vector<std::string>{
      "other-process", "--device", std::to_string(device_), "--leave-free", std::to_string(leave_free_)});
  hear();
}

void other_process::hear() {
  const std::string said = process_->hear();
  unsigned long long held = 0, free = 0;
  if (std::sscanf(said.c_str(), "held %llu free %llu", &held, &free) != 2) {
    const std::string ended = release();
    const std::string why = fmt::format("the other process could not take device memory: {}",
                                        said.empty() ? "it said nothing; " + ended : said);
    if (said.starts_with(moved)) throw memory_moved(why);
    throw not_provoked(why);
  }
  held_ = held;
  free_ = free;
}

std::string other_process::release() {
  lift_budget();
  const auto process = std::exchange(process_, nullptr);
  return process ? process->end() : std::string();
}

void other_process::renew() {
  if (!process_) return start();
  if (!process_->ask()) throw not_provoked("the other process that held device memory has ended");
  hear();
}

int other_process::serve(int device, std::uint64_t leave_free) {
  try {
    if (const cudaError_t e = cudaSetDevice(device); e != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(e));
    renewable_pressure held(current_device_memory(), leave_free);
    do held.renew();
    while (second_process::say(
        fmt::format("held {} free {}", held.now().held_bytes(), held.now().free_bytes())));
    return 0;
  } catch (const memory_moved& e) {
    std::printf("%s%s\n", moved, e.what());
    return 1;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}

}  // namespace cufault
