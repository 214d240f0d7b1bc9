// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, after hundreds of streams were created and never destroyed. Also tried: cublasLt handles.
// Why          A stream keeps memory of the device and of the host until it is destroyed.
// Documented   CUDA Runtime API, cudaStreamCreate and cudaEventCreate: destroy what was created. Programs leak more than cuBLAS handles:
//              LeetCUDA#414, TransformerEngine#1372, #1389, TensorRT-LLM#8533. memory.handle_leak has the handles.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a stream takes 560 KiB of the device and 16 KiB of the host. 465 of them fill 257
//              MiB: the next is cudaErrorMemoryAllocation, and cublasCreate ALLOC_FAILED. 2000 cublasLt handles take nothing of the device,
//              and of the host 6 bytes each; cublasCreate succeeds.
// What helps   Destroying them. The arms leave only a part of the device free, so that small costs show.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <vector>

namespace cufault {
namespace {

constexpr std::uint64_t memory_left_free = 256_MiB;  // fits a handle and its first product several times
constexpr std::size_t lt_handles = 2'000, streams = 5'000;

cublasStatus_t create(cublasLtHandle_t* lt) {
  return cublasLtCreate(lt);
}
cudaError_t create(cudaStream_t* stream) {
  return cudaStreamCreate(stream);
}

/// Returns the first status other than success.
template <class Thing>
auto create_many(std::vector<Thing>& things, std::size_t most) {
  decltype(create(static_cast<Thing*>(nullptr))) status{};
  while (things.size() < most) {
    Thing thing = nullptr;
    if (status = create(&thing); !record_of(status).ok) break;
    things.push_back(thing);
  }
  return status;
}

template <class Thing>
void leak(trial& t, const char* create_call, std::size_t most) {
  std::vector<Thing> things;
  things.reserve(most);
  CUFAULT_REQUIRE(create_many(things, 1));  // the first one of a process may include one-time costs
  const std::size_t device_before = free_device_memory(), host_before = resident_host_memory();
  observe_call({create_call, "until_failure"}, [&] { return create_many(things, most); });
  t.sample("leaked");
  t.measure("created", static_cast<double>(things.size()));
  const double device_bytes = static_cast<double>(device_before) - static_cast<double>(free_device_memory());
  if (const auto further = static_cast<double>(things.size() - 1); further > 0) {
    t.measure("device memory each", device_bytes / further, "bytes");
    t.measure("host memory each",
              (static_cast<double>(resident_host_memory()) - static_cast<double>(host_before)) / further,
              "bytes");
  }
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  const memory_pressure held(memory_left_free);
  const cublasLtHandle_t lt = observed_lt_handle();
  cudaStream_t stream = nullptr;
  CUFAULT_OBSERVE(cudaStreamCreate(&stream));
  cudaEvent_t event = nullptr;
  CUFAULT_OBSERVE(cudaEventCreate(&event));
  create_and_multiply();
  CUFAULT_OBSERVE(cudaEventDestroy(event));
  CUFAULT_OBSERVE(cudaStreamDestroy(stream));
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- faults ----

template <class Thing>
void leak_and_work(trial& t, const char* create_call, std::size_t most) {
  t.open_context();
  const memory_pressure held(memory_left_free);
  leak<Thing>(t, create_call, most);
  create_and_multiply();
}

// ---- the case ----

void leak_others(failure_case& c) {
  c.control("one of each, then a handle and its product", control);

  c.fault("lt_handles", "cublasLt handles leak",
          [](trial& t) { leak_and_work<cublasLtHandle_t>(t, "cublasLtCreate", lt_handles); }, {"S0-11"});
  c.fault("streams", "streams leak",
          [](trial& t) { leak_and_work<cudaStream_t>(t, "cudaStreamCreate", streams); });
  for (const char* leaking : {"lt_handles", "streams"}) add_counterpart(c, leaking);
}

const register_case here(
    "handles.leak_others",
    "cublasLt handles and streams that are created and never destroyed, in a corner of the device",
    {"F-LIF-03"}, leak_others);

}  // namespace
}  // namespace cufault
