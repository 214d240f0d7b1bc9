// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA runtime: memory, copies, kernels, streams and events.
#include "cases/operations/operations.hpp"
#include "kernels/faults.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace cufault::operations {
namespace {

constexpr std::size_t count = 65536, mib = 1 << 20;

/// Sets that the operation has no handle.
operation_type of_runtime(operation_type o) {
  o.handle = own_handle::none;
  o.product = by_new_handle;
  return o;
}

/// Memory from the runtime that a kernel can write. Released after each make(), so that it can be made again on a full device.
class runtime_memory final : public without_handle {
 public:
  using allocation = cudaError_t (*)(void** to, std::size_t bytes);
  using release_of = cudaError_t (*)(void* block);
  runtime_memory(allocation allocate, release_of give_back, std::size_t bytes)
      : allocate_(allocate), give_back_(give_back), read_back_(bytes / sizeof(float)) {}
  ~runtime_memory() override { release(); }
  runtime_memory(const runtime_memory&) = delete;
  runtime_memory& operator=(const runtime_memory&) = delete;

  void load_for_check() override { CUFAULT_REQUIRE(load_faults()); }
  void prepare() override { release(); }
  status_record make() override { return record_of(allocate_(&block_, read_back_.size() * sizeof(float))); }
  /// A kernel fills it, and the host reads it back.
  product_result check() override {
    constexpr float value = 42;
    std::fill(read_back_.begin(), read_back_.end(), 0.0F);
    product_result result{.waited =
                              launch_fill(static_cast<float*>(block_), read_back_.size(), value, nullptr)};
    if (result.waited == cudaSuccess) result.waited = cudaDeviceSynchronize();
    if (result.waited == cudaSuccess)
      result.waited =
          cudaMemcpy(read_back_.data(), block_, read_back_.size() * sizeof(float), cudaMemcpyDefault);
    result.right = result.waited == cudaSuccess && std::all_of(read_back_.begin(), read_back_.end(),
                                                               [&](float each) { return each == value; });
    release();
    return result;
  }

 private:
  void release() {
    if (block_ != nullptr) give_back_(block_);
    block_ = nullptr;
  }
  allocation allocate_;
  release_of give_back_;
  void* block_ = nullptr;
  std::vector<float> read_back_;
};

make_operation fresh_memory(runtime_memory::allocation allocate, runtime_memory::release_of give_back,
                            std::size_t bytes = mib) {
  return [=] { return std::make_unique<runtime_memory>(allocate, give_back, bytes); };
}

/// Copies from pageable memory to the device.
class copied final : public without_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    from_.assign(expected_.begin(), expected_.end());
    to_.poison();
  }
  status_record make() override {
    return record_of(cudaMemcpy(to_.data(), from_.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, expected_); }

 private:
  std::vector<float> from_;
  guarded_array to_{CUDA_R_32F, count};
  numbers expected_;
};

class set final : public without_handle {
 public:
  void prepare() override { to_.poison(); }
  status_record make() override { return record_of(cudaMemset(to_.data(), 0, count * sizeof(float))); }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, numbers(count)); }

 private:
  guarded_array to_{CUDA_R_32F, count};
};

/// A kernel of this program.
class fill final : public without_handle {
 public:
  void prepare() override {
    to_.poison();
    value_ = static_cast<float>(fresh_seed() % 1000);
  }
  status_record make() override { return record_of(launch_fill(floats(to_), count, value_, nullptr)); }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, numbers(count, value_)); }

 private:
  guarded_array to_{CUDA_R_32F, count};
  float value_ = 0;
};

/// Follows a kernel that writes to the host: it must have written when the call returns.
class synchronize final : public without_handle {
 public:
  void prepare() override {
    to_.put({0});
    CUFAULT_REQUIRE(launch_delay(nullptr, 5));
    CUFAULT_REQUIRE(launch_fill(to_.data(), 1, 42, nullptr));
  }
  status_record make() override { return record_of(cudaDeviceSynchronize()); }
  product_result check() override { return {.right = to_.holds({42})}; }

 private:
  pinned_array to_{1};
};

/// Records the event and waits for it.
class create_event final : public without_handle {
 public:
  void prepare() override { event_.reset(); }
  status_record make() override {
    cudaEvent_t created = nullptr;
    const cudaError_t status = cudaEventCreate(&created);
    if (status == cudaSuccess) event_.reset(created);
    return record_of(status);
  }
  product_result check() override {
    product_result result{.waited = cudaEventRecord(event_.get(), nullptr)};
    if (result.waited == cudaSuccess) result.waited = cudaEventSynchronize(event_.get());
    result.right = result.waited == cudaSuccess && cudaEventQuery(event_.get()) == cudaSuccess;
    return result;
  }

 private:
  std::unique_ptr<CUevent_st, destroy_by<cudaEventDestroy>> event_;
};

/// Runs a kernel on the stream.
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
    return compared(CUBLAS_STATUS_SUCCESS, to_, numbers(count, 42));
  }

 private:
  static constexpr std::size_t count = 1024;
  owned_stream stream_;
  guarded_array to_{CUDA_R_32F, count};
};

/// The free amount must be below the total.
class ask final : public without_handle {
 public:
  void prepare() override { free_ = total_ = 0; }
  status_record make() override { return record_of(cudaMemGetInfo(&free_, &total_)); }
  product_result check() override { return {.right = free_ < total_}; }

 private:
  std::size_t free_ = 0, total_ = 0;
};

const register_operations here{
    of_runtime({.name = "cuda_malloc",
                .step = {"cudaMalloc", "1_mib"},
                .summary = "cudaMalloc of 1 MiB",
                .fresh = fresh_memory(cudaMalloc, cudaFree),
                .smaller = "cuda_malloc_small",
                .needs_context = false,
                .representative = true}),
    // Less than the driver allocates at once, so that it may succeed on a full device.
    of_runtime({.name = "cuda_malloc_small",
                .step = {"cudaMalloc", "512_bytes"},
                .summary = "cudaMalloc of 512 bytes",
                .fresh = fresh_memory(cudaMalloc, cudaFree, 512),
                .needs_context = false}),
    // On the legacy stream, from the default pool of the device.
    of_runtime({.name = "cuda_malloc_async",
                .step = {"cudaMallocAsync"},
                .summary = "cudaMallocAsync of 1 MiB",
                .fresh = fresh_memory(
                    [](void** to, std::size_t bytes) { return cudaMallocAsync(to, bytes, nullptr); },
                    [](void* block) { return cudaFreeAsync(block, nullptr); }),
                .needs_context = false}),
    of_runtime({.name = "cuda_malloc_managed",
                .step = {"cudaMallocManaged"},
                .summary = "cudaMallocManaged of 1 MiB",
                .fresh = fresh_memory(
                    [](void** to, std::size_t bytes) { return cudaMallocManaged(to, bytes); }, cudaFree),
                .needs_context = false,
                .takes_managed_memory = true}),
    of_runtime(
        {.name = "host_alloc",
         .step = {"cudaHostAlloc"},
         .summary = "cudaHostAlloc of 1 MiB",
         .fresh = fresh_memory(
             [](void** to, std::size_t bytes) { return cudaHostAlloc(to, bytes, cudaHostAllocDefault); },
             cudaFreeHost),
         .needs_context = false}),
    of_runtime({.name = "cuda_memcpy_h2d",
                .step = {"cudaMemcpy", "host_to_device"},
                .summary = "cudaMemcpy to the device",
                .fresh = fresh<copied>}),
    of_runtime({.name = "cuda_memset", .step = {"cudaMemset"}, .fresh = fresh<set>}),
    // Apart: with lazy loading a kernel is loaded at its first launch, and other operations launch this one too.
    of_runtime({.name = "kernel_launch",
                .step = {"cudaLaunchKernelExC", "fill"},
                .summary = "a launch of a kernel",
                .fresh = fresh<fill>,
                .representative = true,
                .apart = true}),
    of_runtime(
        {.name = "device_synchronize", .step = {"cudaDeviceSynchronize"}, .fresh = fresh<synchronize>}),
    of_runtime({.name = "event_create",
                .step = {"cudaEventCreate"},
                .fresh = fresh<create_event>,
                .needs_context = false}),
    of_runtime(
        {.name = "stream_create", .step = {"cudaStreamCreateWithFlags"}, .fresh = fresh<create_stream>}),
    of_runtime(
        {.name = "mem_get_info", .step = {"cudaMemGetInfo"}, .fresh = fresh<ask>, .needs_context = false})};

}  // namespace
}  // namespace cufault::operations
