// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Graphs whose workspace is gone when they run. Nobody is told: the graph computes in memory that is
//              somebody else's by then, or no longer there.
// Why          A captured product keeps the address of the workspace that its handle had: setting another one changes nothing
//              in the graph.
// Documented   cuBLAS documentation, cublasSetWorkspace: the caller provides the memory and calls again after cublasSetStream; CUDA
//              Programming Guide, stream capture: arguments are recorded. Reported: wrong results and illegal addresses in replays,
//              pytorch#193402, #192061 and #193832. Release notes, 12.4 Update 1: after cudaStreamPerThread a later
//              cublasSetWorkspace failed (fixed).
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a replay gives right numbers and overwrites 6156 floats of whoever got the
//              workspace. A workspace that is given back to the device is cudaErrorLaunchFailure. After cudaStreamPerThread nothing
//              fails.
// What helps   Capturing again in a workspace that outlives the last replay.
#include "cases/capture/recording.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "kernels/faults.hpp"

#include <algorithm>
#include <vector>

namespace cufault {
namespace {

/// The default pool's size on most GPUs (documented); a scribbler passes over it in microseconds.
constexpr std::size_t workspace_bytes = 4_MiB;
constexpr std::size_t workspace_floats = workspace_bytes / sizeof(float);
constexpr std::size_t piece = 32_MiB;  // the pool's step of growth, so that the same piece is reused
constexpr float untouched = -12345;

float* memory_from(stream_ordered_memory& pool) {
  void* const memory = pool.allocate(piece);
  if (memory == nullptr) throw setup_failed("the pool has no memory for a workspace");
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  return static_cast<float*>(memory);
}

void put_numbers(float* memory) {
  CUFAULT_REQUIRE(launch_fill(memory, workspace_floats, untouched, nullptr));
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
}

std::size_t overwritten(const float* memory) {
  std::vector<float> now(workspace_floats);
  CUFAULT_REQUIRE(cudaMemcpy(now.data(), memory, workspace_bytes, cudaMemcpyDefault));
  return static_cast<std::size_t>(
      std::count_if(now.begin(), now.end(), [](float f) { return f != untouched; }));
}

/// A warm handle, and a graph of one product in the first 4 MiB of a block.
struct worker {
  recording r{long_extents};
  float* memory = nullptr;

  /// Proves that the graph computes in this workspace.
  void capture_with_workspace(float* workspace) {
    memory = workspace;
    CUFAULT_OBSERVE(cublasSetWorkspace(r.handle, memory, workspace_bytes));
    put_numbers(memory);
    capture_and_replay(r);
    if (r.executable != nullptr && overwritten(memory) == 0)
      throw not_provoked("cublasSgemm takes no workspace for this product: try other extents");
  }
};

/// The same with memory of a pool, as in a framework.
struct pool_worker : worker {
  stream_ordered_memory pool;
  explicit pool_worker(int device) : pool(device) {
    CUFAULT_REQUIRE(load_faults());
    warm_up(r);
    capture_with_workspace(memory_from(pool));
  }
  /// Frees the workspace, and allocates the same memory for another owner.
  float* reallocate_for_another_owner() {
    pool.release(memory);
    float* const next = memory_from(pool);
    if (next != memory)
      throw not_provoked("the pool did not give out the freed memory again: nothing is overwritten");
    return next;
  }
  void give_back() {
    const std::uint64_t before = pool.reserved_bytes();
    pool.release(memory);
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    pool.trim();
    if (pool.reserved_bytes() >= before)
      throw not_provoked("trimming the pool gave nothing back to the device");
  }
};

/// Right if memory unrelated to the graph is as its owner left it, else wrong.
product_result numbers_of_another_owner(trial& t, const float* theirs) {
  const std::size_t wrong = overwritten(theirs);
  t.measure("floats of another owner that were overwritten", static_cast<double>(wrong));
  return {.right = wrong == 0};
}

void replay_beside_another_owner(trial& t, worker& w, float* theirs) {
  put_numbers(theirs);
  if (CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(w.r)).waited == cudaSuccess)
    CUFAULT_OBSERVE_AS("check.memory_unchanged", "", numbers_of_another_owner(t, theirs));
}

/// Replays while the memory's owner writes to it.
product_result replay_while_written(trial& t, worker& w, float* theirs) {
  constexpr int rounds = 10;
  constexpr unsigned written_ms = 30;
  const cudaStream_t stream = new_stream();
  int wrong = 0;
  product_result worst{.right = true};
  for (int i = 0; i < rounds && worst.waited == cudaSuccess; ++i) {
    CUFAULT_REQUIRE(launch_scribble(theirs, workspace_bytes, written_ms, stream));
    const product_result result = replay(w.r);
    if (result.ok()) continue;
    ++wrong;
    worst = result;
  }
  t.measure("replays that went wrong", wrong, "of 10");
  return worst;
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  pool_worker w(t.device());
  float* const theirs = memory_from(w.pool);
  replay_beside_another_owner(t, w, theirs);
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "workspace_written_meanwhile", replay_while_written(t, w, theirs));
  CUFAULT_OBSERVE(cudaGraphExecDestroy(w.r.executable));
  CUFAULT_OBSERVE(cublasDestroy(w.r.handle));
}

// ---- faults ----

void handed_on(trial& t) {
  t.open_context();
  pool_worker w(t.device());
  replay_beside_another_owner(t, w, w.reallocate_for_another_owner());
}

void given_back(trial& t) {
  t.open_context();
  pool_worker w(t.device());
  w.give_back();
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(w.r));
}

void freed(trial& t) {
  t.open_context();
  worker w;
  warm_up(w.r);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, workspace_bytes));
  w.capture_with_workspace(static_cast<float*>(memory));
  CUFAULT_OBSERVE(cudaFree(memory));
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(w.r));
}

void per_thread_stream(trial& t) {
  recording r = warm_recording(t, long_extents);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, workspace_bytes));
  for (cudaStream_t const stream : {cudaStreamPerThread, r.stream}) {
    CUFAULT_OBSERVE(cublasSetStream(r.handle, stream));
    for (int i = 0; i < 2; ++i) CUFAULT_OBSERVE(cublasSetWorkspace(r.handle, memory, workspace_bytes));
    CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(r.handle));
  }
}

// ---- remedies ----

void keep_workspace(trial& t) {
  t.open_context();
  t.apply("give the workspace back after the last replay, when graph and handle have let go of it");
  pool_worker w(t.device());
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(w.r));
  CUFAULT_OBSERVE(cudaGraphExecDestroy(w.r.executable));
  CUFAULT_OBSERVE(cublasSetStream(w.r.handle, w.r.stream));  // restores the library's own workspace
  w.give_back();
  CUFAULT_OBSERVE_AS("cublasSgemm", "eager", multiply_at_once(w.r));
}

void capture_again(trial& t) {
  t.open_context();
  pool_worker w(t.device());
  float* const theirs = w.reallocate_for_another_owner();
  replay_beside_another_owner(t, w, theirs);
  t.apply("capture again, in a workspace that is kept");
  w.capture_with_workspace(memory_from(w.pool));
  replay_beside_another_owner(t, w, theirs);
}

// ---- the case ----

void workspace(failure_case& c) {
  c.control("replays in a workspace that is kept, while another owner uses other memory", control);
  c.fault("handed_on", "freed to the pool and given to another owner, who only keeps numbers in it",
          handed_on);
  c.fault("given_back", "freed to the pool, which gives it back to the device", given_back);
  c.fault("freed", "cudaFree of the workspace before the replay", freed);
  c.fault("per_thread_stream",
          "cublasSetWorkspace again and again, on cudaStreamPerThread and then on another stream",
          per_thread_stream);

  c.remedy("keep_workspace", "the workspace given back after the last replay", keep_workspace).against =
      "given_back";
  c.remedy("capture_again", "a new capture in a workspace that is kept", capture_again);
  c.repeat_undefined({"handed_on", "given_back", "freed"},
                     "a graph computes in memory that is no longer its own");
  c.in_tier = {"control", "handed_on", "capture_again"};
  c.share_process_of({"per_thread_stream"});
}

const register_case here("capture.workspace",
                         "graphs that are launched when the workspace of their capture is gone",
                         {"F-CAP-03", "RN-19"}, workspace);

}  // namespace
}  // namespace cufault
