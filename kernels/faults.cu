// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/compare.hpp"
#include "kernels/faults.hpp"
#include "kernels/launch.cuh"

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>

// Keeps assert() in every build, because it is the fault.
#undef NDEBUG
#include <cassert>

namespace cufault {
namespace {

/// Device memory that faults use; the compiler cannot know values from the host.
__device__ __align__(16) float target[8];

/// A clock whose rate does not depend on the device clocks.
__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

class deadline {
 public:
  __device__ explicit deadline(unsigned ms) : end_(nanoseconds() + ms * std::uint64_t{1'000'000}) {}
  __device__ bool passed() const { return nanoseconds() >= end_; }

 private:
  std::uint64_t end_;
};

__global__ void break_down(device_fault which, float* valid, float* invalid, int index, unsigned after_ms) {
  for (const deadline end(after_ms); !end.passed();) __nanosleep(1000);
  switch (which) {
    case device_fault::assertion:
      assert(index < static_cast<int>(sizeof target / sizeof target[0]));
      *valid = target[index];
      break;
    case device_fault::illegal_address:
      *invalid = 1;
      break;
    case device_fault::misaligned_address:
      asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(valid + 1), "f"(1.0F) : "memory");
      break;
    case device_fault::trap:
      __trap();
  }
}

constexpr int hungry_values = 128;

/// Reads all values before it writes the first, so that each needs a register. Does not spill: a stack would use device memory.
__global__ void hungry(volatile float* values) {
  float held[hungry_values];
#pragma unroll
  for (int i = 0; i < hungry_values; ++i) held[i] = values[i];
#pragma unroll
  for (int i = 0; i < hungry_values; ++i) values[i] = held[hungry_values - 1 - i];
}

__global__ void wait(const volatile int* flag, unsigned at_most_ms) {
  for (const deadline end(at_most_ms); *flag == 0 && !end.passed();) __nanosleep(1000);
}

constexpr unsigned occupying_block = 1024;
__global__ void occupy(volatile occupying_flags* flags, unsigned at_most_ms) {
  if (threadIdx.x == 0) {
    flags->runs = 1;
    for (const deadline end(at_most_ms); flags->stop == 0 && !end.passed();) __nanosleep(1000);
  }
  __syncthreads();
}

__global__ void delay(unsigned ms) {
  for (const deadline end(ms); !end.passed();) __nanosleep(1000);
}

__global__ void set(float* to, std::size_t count, float value) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i] = value;
}

constexpr int scribblers = 16 * 256;  // enough to be everywhere at once, few enough to leave room
__global__ void scribble(volatile std::uint32_t* to, std::size_t words, unsigned ms) {
  const deadline end(ms);
  do {
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += scribblers) {
      to[i] = poison_bits;
    }
  } while (!end.passed());
}

}  // namespace

cudaError_t load_faults() {
  cudaFuncAttributes ignored;
  const auto load = [&](auto... kernels) {
    cudaError_t first = cudaSuccess;
    (void)(((first = cudaFuncGetAttributes(&ignored, kernels)) == cudaSuccess) && ...);
    return first;
  };
  return load(break_down, hungry, wait, occupy, delay, set, scribble);
}

cudaError_t launch_fault(device_fault which, cudaStream_t stream, unsigned after_ms) {
  void* valid = nullptr;
  if (cudaError_t e = cudaGetSymbolAddress(&valid, target)) return e;
  constexpr std::uintptr_t nowhere = 4096;  // the first pages never hold an allocation
  constexpr int out_of_range = 1'000'000;
  return launch(threads(1, stream), break_down, which, static_cast<float*>(valid),
                reinterpret_cast<float*>(nowhere), out_of_range, after_ms);
}

// Refused launches use the function behind <<<>>>, which has its own error codes.

cudaError_t launch_with_too_many_resources(cudaStream_t stream) {
  float* values = nullptr;
  std::array<void*, 1> arguments{&values};
  return cudaLaunchKernel(reinterpret_cast<const void*>(hungry), 1, 1024, arguments.data(), 0, stream);
}

cudaError_t launch_with_bad_configuration(cudaStream_t stream) {
  unsigned ms = 0;
  std::array<void*, 1> arguments{&ms};
  return cudaLaunchKernel(reinterpret_cast<const void*>(delay), 1, 2048, arguments.data(), 0, stream);
}

cudaError_t launch_with_too_much_shared_memory(cudaStream_t stream) {
  unsigned ms = 0;
  std::array<void*, 1> arguments{&ms};
  return cudaLaunchKernel(reinterpret_cast<const void*>(delay), 1, 1, arguments.data(), 1 << 30, stream);
}

cudaError_t launch_wait(const volatile int* flag, cudaStream_t stream, unsigned at_most_ms) {
  return launch(threads(1, stream), wait, flag, at_most_ms);
}

cudaError_t launch_occupying(volatile occupying_flags* flags, cudaStream_t stream, unsigned at_most_ms) {
  int device = 0, multiprocessors = 0, blocks = 0;
  if (cudaError_t e = cudaGetDevice(&device)) return e;
  if (cudaError_t e = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device))
    return e;
  if (cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, occupy, occupying_block, 0))
    return e;
  cudaLaunchConfig_t shape{};
  shape.gridDim = static_cast<unsigned>(multiprocessors * blocks);
  shape.blockDim = occupying_block;
  shape.stream = stream;
  return launch(shape, occupy, flags, at_most_ms);
}

cudaError_t launch_delay(cudaStream_t stream, unsigned ms) {
  return launch(threads(1, stream), delay, ms);
}

cudaError_t launch_fill(float* to, std::size_t count, float value, cudaStream_t stream) {
  return launch(threads(count, stream), set, to, count, value);
}

cudaError_t launch_scribble(void* to, std::size_t bytes, unsigned ms, cudaStream_t stream) {
  return launch(threads(scribblers, stream), scribble, static_cast<volatile std::uint32_t*>(to),
                bytes / sizeof(std::uint32_t), ms);
}

}  // namespace cufault
