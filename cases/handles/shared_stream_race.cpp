// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Two threads share a handle, and each sets its own stream before its call: the work of one lands on the stream of
//              the other. Every call succeeds; who waits for its own stream reads what is not there yet.
// Why          The stream belongs to the handle. Between a thread's cublasSetStream and its call another thread may set another.
// Documented   cuBLAS documentation, 2.1.3 Thread Safety: sharing a handle is allowed and not recommended; care with its
//              configuration. pytorch#6962, cupy#1109, FasterTransformer#340.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: where the other thread sets its stream in between, the product is not there in
//              time; with nothing to order two threads, 1 to 146 of 4000 products in 11 runs of 60.
// What helps   A handle for each thread; a lock held from cublasSetStream to the end of the call.
#include "harness/kit/held_streams.hpp"
#include "harness/kit/own_stream.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <array>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>

namespace cufault {
namespace {

cublasHandle_t warm_handle() {
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(product(handle));  // loads its kernel now, which may wait for the whole device
  return handle;
}

std::unique_lock<std::mutex> locked(std::mutex* lock) {
  return lock != nullptr ? std::unique_lock(*lock) : std::unique_lock<std::mutex>();
}

/// This thread sets `mine` and multiplies; another sets `theirs` on `other` once `mine` is set. Without a lock the order is forced: mine,
/// theirs, the product. `theirs` is blocked, so that work on it is incomplete after this thread has waited for `mine`.
product_result interleave(cublasHandle_t handle, cudaStream_t mine, cublasHandle_t other, cudaStream_t theirs,
                          std::mutex* lock) {
  product_result result;
  product_operands on;
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on, mine));
  const held_streams waiting({theirs});
  std::binary_semaphore mine_is_set{0}, theirs_is_set{0};
  cublasStatus_t second_set = CUBLAS_STATUS_SUCCESS;
  std::thread second([&, device = trial::current().device()] {
    cudaSetDevice(device);
    mine_is_set.acquire();
    const auto held = locked(lock);
    second_set = cublasSetStream(other, theirs);
    theirs_is_set.release();
  });
  {
    const auto held = locked(lock);
    result.status = cublasSetStream(handle, mine);
    mine_is_set.release();
    if (lock == nullptr) theirs_is_set.acquire();
    if (result.status == CUBLAS_STATUS_SUCCESS) result.status = sgemm(handle, on);
  }
  second.join();
  if (result.status == CUBLAS_STATUS_SUCCESS) result.status = second_set;
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  if ((result.waited = cudaStreamSynchronize(mine)) != cudaSuccess) return result;
  product_check check;
  if ((result.waited = check_product(&check)) == cudaSuccess) result.right = check.right();
  return result;
}

product_result take_turns(cublasHandle_t handle, cublasHandle_t other, std::mutex* lock = nullptr) {
  const own_stream mine, theirs;
  const product_result result = interleave(handle, mine.get(), other, theirs.get(), lock);
  for (const cublasHandle_t used : {handle, other})
    cublasSetStream(used, nullptr);  // the handles outlive the streams
  return result;
}

// ---- the race itself, without a forced order ----

constexpr int rounds = 2'000;
constexpr std::size_t cleared = 1 << 21;

struct share {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  cudaError_t waited = cudaSuccess;
  /// Number of products that were missing or old when the thread had waited for its own stream.
  int misplaced = 0;
};

/// Clears numbers[1] and following, then sets numbers[1] = round * numbers[0] * numbers[0], where numbers[0] is 1.
share multiply_often(cublasHandle_t shared, cudaStream_t mine, float* numbers) {
  share seen;
  const float none = 0;
  for (int round = 1; round <= rounds && seen.status == CUBLAS_STATUS_SUCCESS && seen.waited == cudaSuccess;
       ++round) {
    const auto factor = static_cast<float>(round);
    float product_seen = 0;
    launch_fill(numbers + 1, cleared, 0,
                mine);  // long enough for a product on the other stream to come first
    cublasSetStream(shared, mine);
    seen.status = cublasSgemm(shared, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &factor, numbers, 1, numbers, 1,
                              &none, numbers + 1, 1);
    cudaMemcpyAsync(&product_seen, numbers + 1, sizeof product_seen, cudaMemcpyDeviceToHost, mine);
    seen.waited = cudaStreamSynchronize(mine);
    if (product_seen != factor) ++seen.misplaced;
  }
  return seen;
}

product_result race(trial& t, cublasHandle_t shared) {
  const std::array<own_stream, 2> streams;
  std::array<share, 2> shares;
  float* numbers = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&numbers, 2 * (cleared + 1) * sizeof *numbers));
  CUFAULT_REQUIRE(launch_fill(numbers, 2 * (cleared + 1), 1, nullptr));
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  {
    std::latch start(2);
    std::array<std::jthread, 2> threads;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i] = std::jthread([&, i] {
        cudaSetDevice(t.device());
        start.arrive_and_wait();
        shares[i] = multiply_often(shared, streams[i].get(), numbers + (cleared + 1) * i);
      });
    }
  }
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  CUFAULT_REQUIRE(cudaFree(numbers));
  cublasSetStream(shared, nullptr);
  t.measure("products", 2 * rounds);
  t.measure("products not there in time", shares[0].misplaced + shares[1].misplaced);
  const share& worse =
      shares[0].status != CUBLAS_STATUS_SUCCESS || shares[0].waited != cudaSuccess ? shares[0] : shares[1];
  return {worse.status, worse.waited, shares[0].misplaced + shares[1].misplaced == 0};
}

// ---- control ----

void control(trial& t) {
  context_with_faults(t);
  const cublasHandle_t handle = warm_handle(), others = warm_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_turn_on_two_handles", take_turns(handle, others));
  CUFAULT_OBSERVE(cublasDestroy(others));
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

// ---- faults ----

void interleaved(trial& t) {
  context_with_faults(t);
  const cublasHandle_t shared = warm_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_turn", take_turns(shared, shared));
}

void raced(trial& t) {
  context_with_faults(t);
  const cublasHandle_t shared = warm_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_a_race", race(t, shared));
}

// ---- remedies ----

void handle_each(trial& t) {
  context_with_faults(t);
  const cublasHandle_t shared = warm_handle(), others = warm_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_turn", take_turns(shared, shared));
  t.apply("a handle for each thread");
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_turn_on_two_handles", take_turns(shared, others));
}

void lock_both(trial& t) {
  context_with_faults(t);
  const cublasHandle_t shared = warm_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_turn", take_turns(shared, shared));
  t.apply("a lock held over cublasSetStream and the call");
  std::mutex lock;
  CUFAULT_OBSERVE_AS("cublasSgemm", "streams_set_in_turn_under_a_lock", take_turns(shared, shared, &lock));
}

// ---- the case ----

void shared_stream_race(failure_case& c) {
  c.control("each thread with a handle of its own", control);

  c.fault("interleaved", "one thread sets its stream between the other's cublasSetStream and call",
          interleaved);
  arm& racing = c.fault(
      "racing",
      "two threads set their streams and multiply in no order: products not there in time are counted, and "
      "a count of 0 proves nothing",
      raced);
  racing.races =
      "whether one thread sets its stream between the other's cublasSetStream and call is up to the "
      "scheduler";
  racing.rate_depends_on_load = true;
  racing.repeats = 20;

  c.remedy("handle_each", "a handle for each thread", handle_each);
  c.remedy("lock_both", "a lock over cublasSetStream and the call", lock_both);
  c.in_tier = {"control", "interleaved", "handle_each", "lock_both"};
  c.share_process_of({"control", "interleaved", "handle_each", "lock_both"});
}

const register_case here("handles.shared_stream_race",
                         "threads that share a handle, each with a stream of its own", {"F-LIF-07"},
                         shared_stream_race);

}  // namespace
}  // namespace cufault
