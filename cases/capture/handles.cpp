// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate while this thread captures a stream into a graph; and the capture itself, where another thread makes a
//              call meanwhile that is none of its business: cudaMalloc, cublasCreate, cublasDestroy.
// Why          These calls allocate, free or wait for the device, which a capture cannot record. The runtime counts them as unsafe, and
//              one of them in the wrong place invalidates what was captured so far.
// Documented   CUDA Runtime API, cudaThreadExchangeStreamCaptureMode: which threads are kept from unsafe calls in which mode. CUDA
//              Programming Guide: a device must not be waited for while one of its streams captures; cuBLAS documentation:
//              cublasDestroy waits for the device. Reported: pytorch#99397, rccl#2022, llama.cpp#13990 and #14288, vllm#48053.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: in this thread cublasCreate returns NOT_INITIALIZED in the global and the
//              thread-local mode, SUCCESS in the relaxed one. In another thread cudaMalloc returns 900, cublasCreate NOT_INITIALIZED,
//              cublasDestroy SUCCESS, and after any of them the next captured product returns INTERNAL_ERROR and cudaStreamEndCapture
//              901. Either mode helps against cudaMalloc and cublasCreate, as does the relaxed one in the other thread, and none against
//              cublasDestroy; the lock from begin to end helps against all three, one round each call not against cublasDestroy.
// What helps   Recommended: creating handles, and a first product, before the capture; the thread-local or the relaxed mode; a lock that
//              keeps other threads out from begin to end. A lock round each call alone is reported not to help.
#include "cases/capture/recording.hpp"
#include "harness/kit/products.hpp"

#include <array>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <string>
#include <thread>

namespace cufault {
namespace {

// ---- created while this thread captures ----

void create_and_capture(recording& r) {
  if (CUFAULT_OBSERVE(cublasCreate(&r.handle)) != CUBLAS_STATUS_SUCCESS) return;
  CUFAULT_OBSERVE(cublasSetStream(r.handle, r.stream));
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
}

void create_within(recording& r, cudaStreamCaptureMode mode) {
  begin(r, mode);
  create_and_capture(r);
  end_and_replay(r);
}

void create_before(recording& r) {
  CUFAULT_OBSERVE(cublasCreate(&r.handle));
  CUFAULT_OBSERVE(cublasSetStream(r.handle, r.stream));
  CUFAULT_OBSERVE_AS("cublasSgemm", "eager", multiply_at_once(r));
  capture_and_replay(r);
}

// ---- what another thread does meanwhile ----

/// A thread that has the device current before anything is captured, and works once, when it is told to.
class second_thread {
 public:
  explicit second_thread(int device)
      : thread_([this, device] {
          cudaSetDevice(device);
          ready_.count_down();
          work_.get_future().get()();
        }) {
    ready_.wait();
  }
  ~second_thread() {
    if (!started_) start([] {});
  }
  second_thread(const second_thread&) = delete;
  second_thread& operator=(const second_thread&) = delete;

  void start(std::function<void()> work) {
    started_ = true;
    work_.set_value(std::move(work));
  }
  void join() { thread_.join(); }

 private:
  bool started_ = false;
  std::latch ready_{1};
  std::promise<std::function<void()>> work_;
  std::jthread thread_;
};

void allocate(cublasHandle_t /*theirs*/) {
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, 1 << 20));
}

void create(cublasHandle_t /*theirs*/) {
  cublasHandle_t handle = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&handle));
}

void destroy(cublasHandle_t theirs) {
  CUFAULT_OBSERVE(cublasDestroy(theirs));
}

struct call_beside {
  std::string name, words;
  void (*make)(cublasHandle_t theirs);
};
const std::array calls{call_beside{"allocate", "cudaMalloc", allocate},
                       call_beside{"create", "cublasCreate", create},
                       call_beside{"destroy", "cublasDestroy of another handle", destroy}};

enum class lock { none, of_each_call, of_the_capture };
struct manner {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  cudaStreamCaptureMode theirs = cudaStreamCaptureModeGlobal;  ///< that the other thread is in
  lock held = lock::none;
};

/// The other thread calls between two products. Whatever the manner, no two calls are made at the same time.
void capture_beside(const trial& t, recording& r, const call_beside& call, const manner& how) {
  const cublasHandle_t theirs = new_handle();
  std::mutex mutex;
  const auto held_if = [&](bool needed) {
    return needed ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
  };
  const auto multiply = [&] {
    const auto held = held_if(how.held == lock::of_each_call);
    CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  };
  second_thread other(t.device());
  auto held = held_if(how.held == lock::of_the_capture);
  begin(r, how.mode);
  multiply();
  other.start([&] {
    const auto turn = held_if(how.held != lock::none);
    cudaStreamCaptureMode mode = how.theirs;
    cudaThreadExchangeStreamCaptureMode(&mode);
    call.make(theirs);
  });
  if (!held.owns_lock()) other.join();
  multiply();
  const bool is_graph = end(r);
  if (held.owns_lock()) {
    held.unlock();
    other.join();
  }
  if (is_graph && r.captured) instantiate_and_replay(r);
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  const auto other_thread_calls = [&](const call_beside& call) {
    second_thread other(t.device());
    other.start([&, theirs = new_handle()] { call.make(theirs); });
    other.join();
  };
  recording r;
  for (const call_beside& call : calls) other_thread_calls(call);
  create_before(r);
  for (const call_beside& call : calls) other_thread_calls(call);
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(r));
}

// ---- faults ----

void created_within(trial& t, cudaStreamCaptureMode mode) {
  t.open_context();
  recording r;
  create_within(r, mode);
}

void beside(trial& t, const call_beside& call) {
  t.open_context();
  recording r;
  warm_up(r);
  capture_beside(t, r, call, {});
}

// ---- remedies and dead ends ----

void create_first(trial& t) {
  t.open_context();
  recording r;
  t.apply("create the handle and compute one product before the capture");
  create_before(r);
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(r));
}

void create_after(trial& t) {
  t.open_context();
  recording r;
  create_within(r, cudaStreamCaptureModeGlobal);
  t.apply("end the capture, create the handle and compute one product, capture again");
  create_before(r);
}

void create_again(trial& t) {
  t.open_context();
  recording r;
  begin(r);
  CUFAULT_OBSERVE(cublasCreate(&r.handle));
  t.apply("cublasCreate again in the same capture");
  create_and_capture(r);
  end_and_replay(r);
}

void clear_and_retry(trial& t) {
  t.open_context();
  recording r;
  create_within(r, cudaStreamCaptureModeGlobal);
  t.apply("cudaGetLastError(), then the same in a new capture");
  cudaGetLastError();
  create_within(r, cudaStreamCaptureModeGlobal);
}

struct answer {
  std::string name, words;
  manner how;
};
const std::array answers{
    answer{"thread_local", "the thread-local mode", {.mode = cudaStreamCaptureModeThreadLocal}},
    answer{"relaxed", "the relaxed mode", {.mode = cudaStreamCaptureModeRelaxed}},
    answer{"their_mode", "the relaxed mode in the other thread", {.theirs = cudaStreamCaptureModeRelaxed}},
    answer{"lock", "a lock from begin to end", {.held = lock::of_the_capture}}};
/// Reported in vain where the other thread's call was cublasDestroy.
const answer each_call_locked{"lock_each", "a lock round each call", {.held = lock::of_each_call}};

void answered(trial& t, const call_beside& call, const answer& with) {
  t.open_context();
  recording r;
  warm_up(r);
  capture_beside(t, r, call, {});
  t.apply(with.words);
  capture_beside(t, r, call, with.how);
}

// ---- the case ----

failure_case handles() {
  failure_case c;
  c.name = "capture.handles";
  c.summary =
      "handles and memory created and destroyed during a capture, by the thread that captures and by another";
  c.failures = {"F-CAP-01", "F-CAP-05"};
  c.add("control", arm_kind::control, "all of the calls, before and after the capture", control);

  const auto within = [&](const std::string& mode_name, const std::string& words,
                          cudaStreamCaptureMode mode) {
    c.add("create_" + mode_name, arm_kind::fault, "cublasCreate during a capture in the " + words + " mode",
          [mode](trial& t) { created_within(t, mode); });
  };
  within("global", "global", cudaStreamCaptureModeGlobal);
  within("thread_local", "thread-local", cudaStreamCaptureModeThreadLocal);
  within("relaxed", "relaxed", cudaStreamCaptureModeRelaxed);
  c.add("create_first", arm_kind::remedy, "the handle created and warmed up before the capture", create_first)
      .against = "create_global";
  c.add("create_after", arm_kind::remedy,
        "the handle created and warmed up once the capture that failed has ended", create_after);
  c.add("create_again", arm_kind::dead_end, "cublasCreate again in the same capture", create_again);
  c.add("clear_and_retry", arm_kind::dead_end, "the last error cleared, then the same in a new capture",
        clear_and_retry);

  const auto answer_by = [&](arm_kind kind, const call_beside& call, const answer& with) {
    c.add(with.name + "_" + call.name, kind, call.words + " in another thread: " + with.words,
          [&call, &with](trial& t) { answered(t, call, with); });
  };
  for (const call_beside& call : calls) {
    c.add("beside_" + call.name, arm_kind::fault,
          call.words + " in another thread during a capture in the global mode",
          [&call](trial& t) { beside(t, call); });
    for (const answer& with : answers) answer_by(arm_kind::remedy, call, with);
  }
  answer_by(arm_kind::dead_end, calls.back(), each_call_locked);
  c.in_tier = {"control", "create_global", "create_first", "beside_allocate", "thread_local_allocate"};
  return c;
}

const register_case here{handles()};

}  // namespace
}  // namespace cufault
