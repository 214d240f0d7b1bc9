// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate, after streams were created by the hundred and never destroyed. Tried besides: cublasLt handles and events.
// Why          A stream keeps memory of the device and of the host until it is destroyed.
// Documented   CUDA Runtime API, cudaStreamCreate and cudaEventCreate: destroy what was created. Leaks in the field are of more than
//              cuBLAS handles: LeetCUDA#414, TransformerEngine#1372, #1389, TensorRT-LLM#8533. memory.handle_leak has the handles.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a stream takes 560 KiB of the device and 16 KiB of the host. With 465 of them 257
//              MiB are full: the next is cudaErrorMemoryAllocation, and cublasCreate ALLOC_FAILED. 2000 cublasLt handles and 100000
//              events take nothing of the device, and of the host 6 and 605 bytes each; cublasCreate succeeds.
// What helps   Destroying them. The arms leave only a corner of the device free, so that small costs show.
#include "harness/squeeze.hpp"
#include "harness/trial.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <type_traits>
#include <vector>

namespace cufault {
namespace {

constexpr std::uint64_t room = 256_MiB;  // a handle and its first product fit several times
constexpr std::size_t light_handles = 2'000, streams = 5'000, events = 100'000;

cublasStatus_t create(cublasLtHandle_t* light) {
  return cublasLtCreate(light);
}
cudaError_t create(cudaStream_t* stream) {
  return cudaStreamCreate(stream);
}
cudaError_t create(cudaEvent_t* event) {
  return cudaEventCreate(event);
}

cublasStatus_t destroy(cublasLtHandle_t light) {
  return cublasLtDestroy(light);
}
cudaError_t destroy(cudaStream_t stream) {
  return cudaStreamDestroy(stream);
}
cudaError_t destroy(cudaEvent_t event) {
  return cudaEventDestroy(event);
}

// The loops are observed whole: each returns the first status that was not success.

template <class Thing>
auto create_many(std::vector<Thing>& things, std::size_t most) {
  decltype(destroy(Thing{})) status{};
  while (things.size() < most) {
    Thing thing = nullptr;
    if (status = create(&thing); record_of(status).value != 0) break;
    things.push_back(thing);
  }
  return status;
}

template <class Thing>
auto destroy_all(std::vector<Thing>& things) {
  decltype(destroy(Thing{})) status{};
  for (; !things.empty(); things.pop_back()) {
    if (status = destroy(things.back()); record_of(status).value != 0) break;
  }
  return status;
}

template <class Thing>
struct leaked {
  std::vector<Thing> things;
  double device_bytes = 0;  ///< that all but the first took
};

template <class Thing>
leaked<Thing> leak(trial& t, std::size_t most) {
  leaked<Thing> all;
  std::vector<Thing>& things = all.things;
  things.reserve(most);
  require(create_many(things, 1));  // the first one of a process may set up more than itself
  const std::size_t device_before = free_device_memory(), host_before = resident_host_memory();
  observe(create_many(things, most));
  t.sample("leaked");
  t.measure("created", static_cast<double>(things.size()));
  all.device_bytes = static_cast<double>(device_before) - static_cast<double>(free_device_memory());
  if (const auto further = static_cast<double>(things.size() - 1); further > 0) {
    t.measure("device memory each", all.device_bytes / further, "bytes");
    t.measure("host memory each",
              (static_cast<double>(resident_host_memory()) - static_cast<double>(host_before)) / further,
              "bytes");
  }
  return all;
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  cublasLtHandle_t light = nullptr;
  observe(cublasLtCreate(&light));
  cudaStream_t stream = nullptr;
  observe(cudaStreamCreate(&stream));
  cudaEvent_t event = nullptr;
  observe(cudaEventCreate(&event));
  create_and_multiply();
  observe(cudaEventDestroy(event));
  observe(cudaStreamDestroy(stream));
  observe(cublasLtDestroy(light));
}

// ---- faults ----

template <class Thing>
void leak_and_work(trial& t, std::size_t most) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  const auto all = leak<Thing>(t, most);
  const cublasStatus_t created = create_and_multiply();
  // S0-11 is about handles: of what else leaks it says nothing.
  if constexpr (std::is_same_v<Thing, cublasLtHandle_t>)
    t.conclude(
        "S0-11", created != CUBLAS_STATUS_SUCCESS,
        fmt::format("{} leaked cublasLt handles, the first apart, took {} of the {} KiB of device memory "
                    "that were left free; cublasCreate: {}",
                    all.things.size(), all.device_bytes / 1_KiB, held.free_bytes() / 1_KiB,
                    record_of(created).name));
}

// ---- remedies ----

template <class Thing>
void destroy_and_work(trial& t, std::size_t most) {
  t.open_context();
  const auto device = current_device_memory();
  const squeeze held(*device, room);
  auto all = leak<Thing>(t, most);
  create_and_multiply();
  t.apply("destroy what leaked, create again");
  observe(destroy_all(all.things));
  t.sample("destroyed");
  create_and_multiply();
}

// ---- the case ----

failure_case leak_others() {
  failure_case c;
  c.name = "handles.leak_others";
  c.summary =
      "cublasLt handles, streams and events that are created and never destroyed, in a corner of the device";
  c.failures = {"F-LIF-03"};
  c.add("control", arm_kind::control, "one of each, then a handle and its product", control);

  c.add("light_handles", arm_kind::fault, "cublasLt handles leak",
        [](trial& t) { leak_and_work<cublasLtHandle_t>(t, light_handles); }, {"S0-11"});
  c.add("streams", arm_kind::fault, "streams leak",
        [](trial& t) { leak_and_work<cudaStream_t>(t, streams); });
  c.add("events", arm_kind::fault, "events leak", [](trial& t) { leak_and_work<cudaEvent_t>(t, events); });

  c.add("destroy_light_handles", arm_kind::remedy, "destroy the cublasLt handles, create again",
        [](trial& t) { destroy_and_work<cublasLtHandle_t>(t, light_handles); });
  c.add("destroy_streams", arm_kind::remedy, "destroy the streams, create again",
        [](trial& t) { destroy_and_work<cudaStream_t>(t, streams); });
  c.add("destroy_events", arm_kind::remedy, "destroy the events, create again",
        [](trial& t) { destroy_and_work<cudaEvent_t>(t, events); });
  return c;
}

const register_case here{leak_others()};

}  // namespace
}  // namespace cufault
