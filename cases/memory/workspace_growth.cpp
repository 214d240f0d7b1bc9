// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate or a product, in a program that has a handle for each of its streams or threads, as frameworks do.
// Why          Each handle allocates its own workspace on the device, even if it is never used beside another.
// Documented   cuBLAS documentation, cublasSetWorkspace and "Results reproducibility": the default pool, and CUBLAS_WORKSPACE_CONFIG
//              as :SIZE_IN_KIB:COUNT. Reported as memory that grows: pytorch#95668, #99835, #100919, #184084, #85447,
//              TransformerEngine#1715, onnxruntime#16512. One source document says that the variable does not help (S2-12).
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a handle takes 64 MiB, the first one 66 MiB, a product nothing more. 1 GiB holds
//              15 handles; the next cublasCreate is ALLOC_FAILED. With :4096:8 a handle takes 32 MiB, with :0:0 and :16:8 nothing, and
//              the first one 2 MiB: half as many again work. 16 streams of one handle at once take 90 MiB, whatever the
//              variable says, and work with nothing left free. A malformed value: workspace_config_malformed of the matrix.
// What helps   Recommended: a smaller workspace by CUBLAS_WORKSPACE_CONFIG; fewer handles.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

namespace cufault {
namespace {

/// Memory that the handles have to fill, small for speed.
constexpr std::uint64_t memory_to_fill = 1_GiB;
constexpr std::size_t more_than_the_room_holds = 2000;
constexpr std::size_t streams_at_once = 16;
constexpr std::size_t recommended = 32_MiB;       // documented for a workspace of the caller
constexpr product_extents long_k{96, 64, 16384};  // cuBLAS splits it, which needs a workspace
constexpr const char* wanted_variable = "CUFAULT_HANDLES";

/// Memory of the device taken by the work since the last reading; negative if memory was returned.
class device_memory_meter {
 public:
  explicit device_memory_meter(trial& t) : trial_(t), last_(free_device_memory()) {}
  double taken_by(const std::string& what) {
    const std::size_t now = free_device_memory();
    const double bytes = static_cast<double>(last_) - static_cast<double>(now);
    trial_.measure("device memory taken by " + what, bytes, "bytes");
    last_ = now;
    return bytes;
  }

 private:
  trial& trial_;
  std::size_t last_;
};

std::vector<cudaStream_t> new_streams(std::size_t count) {
  std::vector<cudaStream_t> streams(count);
  for (cudaStream_t& stream : streams)
    CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return streams;
}

/// Products that can be in flight together.
std::deque<large_product> new_products(std::size_t count) {
  std::deque<large_product> products;
  while (products.size() < count) products.emplace_back(long_k);
  return products;
}

// ---- one handle on many streams ----

product_result multiply_on(cudaStream_t stream, cublasHandle_t handle, large_product& work) {
  const product_result result{.status = cublasSetStream(handle, stream)};
  return result.status == CUBLAS_STATUS_SUCCESS ? work.multiply(handle) : result;
}

product_result multiply_in_turn(cublasHandle_t handle, const std::vector<cudaStream_t>& streams,
                                large_product& work) {
  product_result result{.right = true};
  for (std::size_t i = 0; i < streams.size() && result.ok(); ++i)
    result = multiply_on(streams[i], handle, work);
  return result;
}

/// A product on each stream; the first one still waits when the last is queued.
product_result multiply_at_once(cublasHandle_t handle, const std::vector<cudaStream_t>& streams,
                                std::deque<large_product>& works) {
  constexpr unsigned queueing_ms = 100;
  product_result result{.right = true};
  for (std::size_t i = 0; i < streams.size(); ++i) {
    CUFAULT_REQUIRE(launch_delay(streams[i], queueing_ms));
    if (const cublasStatus_t status = cublasSetStream(handle, streams[i]); status != CUBLAS_STATUS_SUCCESS)
      return {.status = status};
    works[i].start(handle);  // finish reports its status
  }
  for (large_product& work : works) {
    if (const product_result finished = work.finish(); result.ok()) result = finished;
  }
  return result;
}

// ---- a handle for each stream ----

struct worker {
  cudaStream_t stream = nullptr;
  cublasHandle_t handle = nullptr;
};

/// Adds workers until there are `wanted` or something fails; each multiplies once.
product_result add_workers(std::vector<worker>& workers, std::size_t wanted, large_product& work) {
  product_result result{.right = true};
  while (workers.size() < wanted && result.ok()) {
    worker w;
    result.waited = cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking);
    if (result.waited != cudaSuccess) break;
    result.status = cublasCreate(&w.handle);
    if (result.status != CUBLAS_STATUS_SUCCESS) break;
    workers.push_back(w);
    result = multiply_on(w.stream, w.handle, work);
  }
  return result;
}

cublasStatus_t dismiss(std::vector<worker>& workers) {
  cublasStatus_t first = CUBLAS_STATUS_SUCCESS;
  for (const worker& w : workers) {
    const cublasStatus_t status = cublasDestroy(w.handle);
    if (first == CUBLAS_STATUS_SUCCESS) first = status;
    cudaStreamDestroy(w.stream);
  }
  workers.clear();
  return first;
}

/// As many workers as fit.
std::vector<worker> fill_with_workers(trial& t, large_product& work) {
  std::vector<worker> workers;
  CUFAULT_OBSERVE_AS("cublasCreate", "stream_handle_and_product_each",
                     add_workers(workers, more_than_the_room_holds, work));
  t.measure("handles created", static_cast<double>(workers.size()), "handles");
  return workers;
}

/// The number of workers that remedies must make possible.
std::size_t half_as_many_again(const std::vector<worker>& workers) {
  return workers.size() + workers.size() / 2;
}

// ---- memory of everything ----

/// The table for one setting. Observes the calls.
void footprint(trial& t) {
  const auto streams = new_streams(streams_at_once);
  auto works = new_products(streams_at_once);
  void* workspace = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&workspace, recommended));
  cublasHandle_t handle = nullptr, further = nullptr;
  large_product& work = works.front();
  device_memory_meter m(t);
  if (CUFAULT_OBSERVE(cublasCreate(&handle)) != CUBLAS_STATUS_SUCCESS) return;
  m.taken_by("the first handle");
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", work.multiply(handle));
  m.taken_by("its first product");
  if (CUFAULT_OBSERVE(cublasCreate(&further)) != CUBLAS_STATUS_SUCCESS) return;
  m.taken_by("a further handle");
  CUFAULT_OBSERVE_AS("cublasSgemm", "on_streams_in_turn", multiply_in_turn(handle, streams, work));
  m.taken_by(fmt::format("{} streams of one handle, in turn", streams_at_once));
  CUFAULT_OBSERVE_AS("cublasSgemm", "on_streams_at_once", multiply_at_once(handle, streams, works));
  m.taken_by(fmt::format("{} streams of one handle, at once", streams_at_once));
  CUFAULT_OBSERVE(cublasSetWorkspace(handle, workspace, recommended));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", work.multiply(handle));
  m.taken_by("giving a handle a workspace of the caller's");
  CUFAULT_OBSERVE(cublasSetStream(handle, streams.front()));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", work.multiply(handle));
  m.taken_by("dropping that by cublasSetStream");
  CUFAULT_OBSERVE(cublasDestroy(further));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  m.taken_by("destroying both handles");
  for (cudaStream_t stream : streams) CUFAULT_REQUIRE(cudaStreamDestroy(stream));
  CUFAULT_REQUIRE(cudaFree(workspace));
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  footprint(t);
  large_product work(long_k);
  std::vector<worker> workers;
  CUFAULT_OBSERVE_AS("cublasCreate", "stream_handle_and_product_each", add_workers(workers, 4, work));
  CUFAULT_OBSERVE_AS("cublasDestroy", "all", dismiss(workers));
}

// ---- faults ----

void handle_for_each_stream(trial& t) {
  t.open_context();
  large_product work(long_k);
  const memory_pressure held(memory_to_fill);
  t.sample("squeezed");
  fill_with_workers(t, work);
}

void streams_of_one_handle(trial& t) {
  context_with_faults(t);
  const auto streams = new_streams(streams_at_once);
  auto works = new_products(streams_at_once);
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(works.front().multiply(handle));
  const memory_pressure held(0);
  t.sample("squeezed");
  if (CUFAULT_OBSERVE_AS("cublasSgemm", "on_streams_in_turn",
                         multiply_in_turn(handle, streams, works.front()))
          .ok())
    CUFAULT_OBSERVE_AS("cublasSgemm", "on_streams_at_once", multiply_at_once(handle, streams, works));
}

// ---- remedies ----

/// First with the default, then half as many handles again in a process with the setting.
void smaller_workspace(trial& t, const char* setting) {
  t.open_context();
  if (t.stage() == 1) footprint(t);
  large_product work(long_k);
  std::size_t wanted = 0;
  {
    const memory_pressure held(memory_to_fill);
    t.sample("squeezed");
    if (t.stage() == 1) {
      std::vector<worker> workers;
      wanted = std::strtoul(std::getenv(wanted_variable), nullptr, 10);
      CUFAULT_OBSERVE_AS("cublasCreate", "stream_handle_and_product_each",
                         add_workers(workers, wanted, work));
      t.measure("handles wanted", static_cast<double>(wanted), "handles");
      t.measure("handles created with the setting", static_cast<double>(workers.size()), "handles");
      return;
    }
    auto workers = fill_with_workers(t, work);
    wanted = half_as_many_again(workers);
    CUFAULT_REQUIRE(dismiss(workers));
  }
  t.apply(fmt::format("a new process with CUBLAS_WORKSPACE_CONFIG={}, half as many handles again", setting));
  t.continue_in_new_process(
      {{"CUBLAS_WORKSPACE_CONFIG", setting}, {wanted_variable, std::to_string(wanted)}});
}

// ---- the case ----

void workspace_growth(failure_case& c) {
  c.control("two handles, 16 streams, four handles with a stream each", control, {"S0-6"});

  c.fault("handle_for_each_stream", "a handle and a product for one stream after another, in 1 GiB",
          handle_for_each_stream);
  c.fault("streams_of_one_handle", "16 streams of one handle, with nothing left free", streams_of_one_handle);
  for (const auto& [name, setting] :
       {std::pair{"workspace_0", ":0:0"}, {"workspace_16", ":16:8"}, {"workspace_4096", ":4096:8"}}) {
    c.remedy(name, fmt::format("half as many handles again with CUBLAS_WORKSPACE_CONFIG={}", setting),
             [setting = setting](trial& t) { smaller_workspace(t, setting); }, {"S2-12"});
  }

  for (const char* squeezed : {"handle_for_each_stream", "streams_of_one_handle"})
    add_counterpart(c, squeezed);
}

const register_case here(
    "memory.workspace_growth",
    "device memory that workspaces take, by handle, by stream and by CUBLAS_WORKSPACE_CONFIG", {"F-MEM-04"},
    workspace_growth);

}  // namespace
}  // namespace cufault
