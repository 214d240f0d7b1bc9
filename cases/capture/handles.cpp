// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate while this thread captures a stream into a graph; and the capture itself, where another thread makes a
//              call meanwhile that is none of its business: cudaMalloc, cublasCreate, cublasDestroy. capture_beside of the matrix has
//              every operation in the thread that captures, in three modes.
// Why          These calls allocate, free or wait for the device, which a capture cannot record. The runtime counts them as unsafe, and
//              one of them in the wrong place invalidates what was captured so far.
// Documented   CUDA Runtime API, cudaThreadExchangeStreamCaptureMode: which threads are kept from unsafe calls in which mode. CUDA
//              Programming Guide: a device must not be waited for while one of its streams captures; cuBLAS documentation:
//              cublasDestroy waits for the device. Reported: pytorch#99397, rccl#2022, llama.cpp#13990 and #14288, vllm#48053.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: in this thread cublasCreate returns NOT_INITIALIZED. In another thread cudaMalloc returns 900, cublasCreate NOT_INITIALIZED,
//              cublasDestroy SUCCESS, and after any of them the next captured product returns INTERNAL_ERROR and cudaStreamEndCapture
//              901. The thread-local mode helps against cudaMalloc and cublasCreate, and not against cublasDestroy.
// What helps   Recommended: creating handles, and a first product, before the capture; the thread-local mode.
#include "cases/capture/recording.hpp"
#include "harness/kit/products.hpp"

#include <array>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <thread>

namespace cufault {
namespace {

void create_within(trial& t) {
  t.open_context();
  recording r;
  begin(r);
  if (CUFAULT_OBSERVE(cublasCreate(&r.handle)) == CUBLAS_STATUS_SUCCESS) {
    CUFAULT_OBSERVE(cublasSetStream(r.handle, r.stream));
    CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  }
  end_and_replay(r);
}

void create_before(recording& r) {
  CUFAULT_OBSERVE(cublasCreate(&r.handle));
  CUFAULT_OBSERVE(cublasSetStream(r.handle, r.stream));
  CUFAULT_OBSERVE_AS("cublasSgemm", "eager", multiply_at_once(r));
  capture_and_replay(r);
}

// ---- what another thread does meanwhile ----

/// A thread that makes the device current before the capture, and works once on request.
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
  observed_handle();
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

/// The other thread calls between two products; calls never overlap.
void capture_beside(const trial& t, recording& r, const call_beside& call, cudaStreamCaptureMode mode) {
  const cublasHandle_t theirs = new_handle();
  second_thread other(t.device());
  begin(r, mode);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  other.start([&] { call.make(theirs); });
  other.join();
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  end_and_replay(r);
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

void beside(trial& t, const call_beside& call) {
  recording r = warm_recording(t);
  capture_beside(t, r, call, cudaStreamCaptureModeGlobal);
}

// ---- remedies ----

void create_first(trial& t) {
  t.open_context();
  recording r;
  t.apply("create the handle and compute one product before the capture");
  create_before(r);
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(r));
}

void in_thread_local_mode(trial& t, const call_beside& call) {
  recording r = warm_recording(t);
  capture_beside(t, r, call, cudaStreamCaptureModeGlobal);
  t.apply("the thread-local mode");
  capture_beside(t, r, call, cudaStreamCaptureModeThreadLocal);
}

// ---- the case ----

void handles(failure_case& c) {
  c.control("all of the calls, before and after the capture", control);

  c.fault("create_global", "cublasCreate during a capture in the global mode", create_within);
  c.remedy("create_first", "the handle created and warmed up before the capture", create_first).against =
      "create_global";
  for (const call_beside& call : calls) {
    c.fault("beside_" + call.name, call.words + " in another thread during a capture in the global mode",
            [&call](trial& t) { beside(t, call); });
    c.remedy("thread_local_" + call.name, call.words + " in another thread: the thread-local mode",
             [&call](trial& t) { in_thread_local_mode(t, call); });
  }
  c.in_tier = {"control", "create_global", "create_first", "beside_allocate", "thread_local_allocate"};
}

const register_case here(
    "capture.handles",
    "handles and memory created and destroyed during a capture, by the thread that captures and by another",
    {"F-CAP-01", "F-CAP-05"}, handles);

}  // namespace
}  // namespace cufault
