// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Every call after a kernel of the program itself broke: an assertion on an index, an illegal
//              address, a misaligned one, a trap. The call that shows it is an innocent one: cublasCreate, a
//              product, an allocation.
// Why          Such an error belongs to the context and stays, and it arrives when the kernel runs, not when
//              it is launched.
// Documented   CUDA Runtime API, cudaError_t 700, 710, 716 and 719: the process must be terminated and
//              relaunched. Reported as cuBLAS failures of several names: pytorch#44624, pytorch#98975,
//              serve#1993, LMFlow#114, cuda-samples#108; as a server that goes on answering: ds4#759.
// What helps   Documented: a new process. Recommended as well, and measured here: blocking launches or a
//              check before cuBLAS, to find the culprit; catching and clearing the error, another handle,
//              more memory, cudaDeviceReset.
#include "harness/lt_problem.hpp"
#include "harness/squeeze.hpp"
#include "harness/trial.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <array>

namespace cufault {
namespace {

/// What a kernel can do to its context, and the error documented for it.
struct damage {
  device_fault which;
  cudaError_t documented;
  const char* name;
  const char* words;
  bool common;  ///< has every arm
};
constexpr std::array damages{
    damage{device_fault::assertion, cudaErrorAssert, "assertion", "an assertion on an index fails", true},
    damage{device_fault::illegal_address, cudaErrorIllegalAddress, "illegal_address",
           "a store outside of every allocation", true},
    damage{device_fault::misaligned_address, cudaErrorMisalignedAddress, "misaligned_address",
           "a vector access at an odd address", false},
    damage{device_fault::trap, cudaErrorLaunchFailure, "trap", "a kernel traps", false}};

/// When the error arrives: while the next calls are made, or after them, unless they wait for the device.
enum class arrival { any_moment, later };

/// What a program has in hand when one of its kernels breaks: handles that have worked, and operands.
struct equipment {
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t light = nullptr;
  lt_problem problem;
  product_operands operands;

  equipment() {
    require(cublasCreate(&handle));
    require(product(handle));
    require(cublasLtCreate(&light));
    require(problem.heuristic(light));
    require(prepare_product(fresh_seed(), &operands));
    require(problem.multiply(light, operands));
    require(cudaDeviceSynchronize());
  }
};

cublasStatus_t lt_heuristic(equipment& ready) {
  return ready.problem.heuristic(ready.light);
}

cublasStatus_t lt_matmul(equipment& ready) {
  return ready.problem.multiply(ready.light, ready.operands);
}

/// Calls that did nothing wrong. Returns what the product by cuBLAS returned.
cublasStatus_t innocent_calls(equipment& ready) {
  const cublasStatus_t multiplied = observe(sgemm(ready.handle, ready.operands));
  observe(lt_matmul(ready));
  observe(lt_heuristic(ready));
  cublasHandle_t further = nullptr;
  observe(cublasCreate(&further));
  void* memory = nullptr;
  observe(cudaMalloc(&memory, 1_MiB));
  observe(cudaDeviceSynchronize());
  observe(cublasDestroy(ready.handle));
  return multiplied;
}

/// A server that looks at no status: what lies in its buffer after a request is the answer.
class careless_server {
 public:
  careless_server() {
    require(cublasCreate(&handle_));
    require(cudaMalloc(&on_device_, 2 * sizeof(float)));
  }
  /// The square of the question, by cuBLAS.
  float answer(float question) {
    const float one = 1, zero = 0;
    cudaMemcpy(on_device_, &question, sizeof question, cudaMemcpyHostToDevice);
    cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, on_device_, 1, on_device_, 1, &zero,
                on_device_ + 1, 1);
    cudaMemcpy(&answer_, on_device_ + 1, sizeof answer_, cudaMemcpyDeviceToHost);
    return answer_;
  }

 private:
  cublasHandle_t handle_ = nullptr;
  float* on_device_ = nullptr;
  float answer_ = 0;
};

product_result answer_requests(careless_server& server) {
  product_result all;
  all.right = true;
  for (int question = 1; question <= 10; ++question) {
    const auto x = static_cast<float>(question);
    all.right = server.answer(x) == x * x && all.right;
  }
  return all;
}

// ---- controls ----

void open(trial& t) {
  t.open_context();
  require(load_faults());
}

/// A kernel that stays inside of its table.
void look_up_in_range() {
  constexpr std::size_t rows = 1000;
  float* table = nullptr;
  require(cudaMalloc(&table, rows * sizeof(float)));
  observe(launch_fill(table, rows, 1, nullptr));
  observe(cudaDeviceSynchronize());
}

void control(trial& t) {
  open(t);
  equipment ready;
  careless_server server;
  look_up_in_range();
  observe(answer_requests(server));
  observe(product(ready.handle));
  innocent_calls(ready);
}

// ---- faults ----

/// Out of memory, illegal memory access, invalid argument, launch failure.
bool is_named_by_s1_2(cudaError_t e) {
  return e == cudaErrorMemoryAllocation || e == cudaErrorIllegalAddress || e == cudaErrorInvalidValue ||
         e == cudaErrorLaunchFailure;
}

/// The kernel breaks and the program looks, as a check before cuBLAS would: is the error among those that S1-2
/// calls the common ones?
void break_and_look(trial& t, const damage& d) {
  observe(launch_fault(d.which));
  const cudaError_t told = observe(cudaDeviceSynchronize());
  t.conclude("S1-2", is_named_by_s1_2(told), fmt::format("{}: {}", d.words, record_of(told).name));
}

void index_gives_invalid_value(trial& t, const damage& d, const char* call, cublasStatus_t status) {
  if (d.which != device_fault::assertion) return;
  t.conclude("S3-7", status == CUBLAS_STATUS_INVALID_VALUE,
             fmt::format("{} after the assertion on the index: {}", call, record_of(status).name));
}

void without_a_handle(trial& t, const damage& d) {
  open(t);
  break_and_look(t, d);
  cublasHandle_t handle = nullptr;
  const cublasStatus_t created = observe(cublasCreate(&handle));
  cublasLtHandle_t light = nullptr;
  observe(cublasLtCreate(&light));
  index_gives_invalid_value(t, d, "cublasCreate", created);
}

void with_a_handle(trial& t, const damage& d) {
  open(t);
  equipment ready;
  break_and_look(t, d);
  index_gives_invalid_value(t, d, "cublasSgemm", innocent_calls(ready));
}

/// The kernel breaks and nobody looks: `innocent` observes one call, and the wait after it brings the error.
template <class Call>
void unchecked(trial& t, const damage& d, arrival when, const char* call, Call&& innocent) {
  constexpr unsigned after_any_call_ms = 1000;
  // Not observed: telling it would give the kernel time.
  const cudaError_t launched = launch_fault(d.which, nullptr, when == arrival::later ? after_any_call_ms : 0);
  const cublasStatus_t first = innocent();
  const cudaError_t waited = observe(cudaDeviceSynchronize());
  t.conclude("S1-3", launched == cudaSuccess && (first != CUBLAS_STATUS_SUCCESS || waited != cudaSuccess),
             fmt::format("the launch: {}, {}: {}, cudaDeviceSynchronize: {}", record_of(launched).name, call,
                         record_of(first).name, record_of(waited).name));
}

void unchecked_create(trial& t, const damage& d, arrival when) {
  open(t);
  unchecked(t, d, when, "cublasCreate", [] {
    cublasHandle_t handle = nullptr;
    return observe(cublasCreate(&handle));
  });
}

void unchecked_lt_create(trial& t, const damage& d, arrival when) {
  open(t);
  unchecked(t, d, when, "cublasLtCreate", [] {
    cublasLtHandle_t light = nullptr;
    return observe(cublasLtCreate(&light));
  });
}

void unchecked_gemm(trial& t, const damage& d, arrival when) {
  open(t);
  equipment ready;
  unchecked(t, d, when, "cublasSgemm", [&] { return observe(sgemm(ready.handle, ready.operands)); });
}

void unchecked_lt_matmul(trial& t, const damage& d, arrival when) {
  open(t);
  equipment ready;
  unchecked(t, d, when, "cublasLtMatmul", [&] { return observe(lt_matmul(ready)); });
}

void with_blocking_launches(trial& t, const damage& d) {
  open(t);
  const cudaError_t launched = observe(launch_fault(d.which));
  cublasHandle_t handle = nullptr;
  const cublasStatus_t created = observe(cublasCreate(&handle));
  t.conclude("S1-3", launched == cudaSuccess,
             fmt::format("with blocking launches, the launch: {}, cublasCreate: {}", record_of(launched).name,
                         record_of(created).name));
}

void answers_from_a_dead_context(trial& t) {
  open(t);
  careless_server server;
  observe(answer_requests(server));
  observe(launch_fault(device_fault::illegal_address));
  observe(answer_requests(server));
}

// ---- remedies ----

/// What the remedies and dead ends start with: a handle that has worked, and then nothing works.
cublasHandle_t break_context(const damage& d) {
  cublasHandle_t handle = nullptr, further = nullptr;
  require(load_faults());
  require(cublasCreate(&handle));
  require(product(handle));
  observe(launch_fault(d.which));
  observe(cudaDeviceSynchronize());
  observe(cublasCreate(&further));
  return handle;
}

void new_process(trial& t, const damage& d) {
  t.open_context();
  if (t.stage() == 0) {
    break_context(d);
    t.apply("go on in a new process");
    t.continue_in_new_process();
    return;
  }
  create_and_multiply();
}

void index_checked_on_the_host(trial& t) {
  open(t);
  t.apply("an index that was checked on the host");
  look_up_in_range();
  create_and_multiply();
}

void fail_fast(trial& t) {
  if (t.stage() == 0) {
    answers_from_a_dead_context(t);
    t.apply("end at the first failing status, answer from a new process");
    t.continue_in_new_process();
    return;
  }
  t.open_context();
  careless_server server;
  observe(answer_requests(server));
}

// ---- dead ends ----

void carry_on(trial& t, const damage& d) {
  t.open_context();
  const cublasHandle_t handle = break_context(d);
  t.apply("catch the exception, cudaGetLastError() twice, carry on");
  cudaGetLastError();
  cudaGetLastError();
  observe(product(handle));
  create_and_multiply();
}

void another_handle(trial& t, const damage& d) {
  t.open_context();
  const cublasHandle_t handle = break_context(d);
  t.apply("destroy the handle, create another");
  observe(cublasDestroy(handle));
  create_and_multiply();
}

void reset_the_device(trial& t, const damage& d) {
  t.open_context();
  break_context(d);
  t.apply("cudaDeviceReset() in this process, create again");
  observe(cudaDeviceReset());
  create_and_multiply();
}

void more_memory(trial& t, const damage& d) {
  t.open_context();
  void* cache = nullptr;
  require(cudaMalloc(&cache, 256_MiB));
  break_context(d);
  t.apply("free 256 MiB, create again");
  observe(cudaFree(cache));
  create_and_multiply();
}

// ---- the case ----

failure_case device_fault_case() {
  failure_case c;
  c.name = "sticky.device_fault";
  c.summary = "a kernel of the program breaks, and cuBLAS calls that did nothing wrong fail";
  c.failures = {"F-STK-01", "F-STK-02", "F-STK-03", "F-STK-04", "F-STK-07"};
  c.add("control", arm_kind::control, "a kernel that breaks nothing, then all the calls", control);

  for (const damage& d : damages) {
    const std::string name = d.name, words = d.words;
    const auto add_for = [&](const char* what, arm_kind kind, const char* summary,
                             void (*body)(trial&, const damage&),
                             std::vector<std::string> claims = {}) -> arm& {
      return c.add(
          fmt::format("{}_{}", what, name), kind, fmt::format("{}; {}", words, summary),
          [body, d](trial& t) { body(t, d); }, std::move(claims));
    };
    const auto add_unchecked = [&](const char* call, void (*body)(trial&, const damage&, arrival),
                                   arrival when) -> arm& {
      const bool later = when == arrival::later;
      return c.add(fmt::format("{}_{}_{}", later ? "later" : "racing", call, name), arm_kind::fault,
                   fmt::format("{}{} {}, unchecked", words,
                               later ? ", a second into its kernel, behind" : " during", call),
                   [body, d, when](trial& t) { body(t, d, when); }, {"S1-3"});
    };

    std::vector<std::string> looked{"S1-2"};
    if (d.which == device_fault::assertion) looked.emplace_back("S3-7");
    add_for("no_handle", arm_kind::fault, "then handles are created", without_a_handle, looked);
    add_for("with_handle", arm_kind::fault, "then handles are used", with_a_handle, looked);

    for (const auto& [call, body] : {std::pair{"create", &unchecked_create},
                                     {"lt_create", &unchecked_lt_create},
                                     {"gemm", &unchecked_gemm},
                                     {"lt_matmul", &unchecked_lt_matmul}}) {
      arm& a = add_unchecked(call, body, arrival::any_moment);
      a.repeats = 20;
      a.races = "the kernel's error may arrive before the call, in it, or after it";
    }

    add_for("new_process", arm_kind::remedy, "go on in a new process", new_process);
    add_for("carry_on", arm_kind::dead_end, "clear the last error and carry on", carry_on, {"S1-5"});
    add_for("reset", arm_kind::dead_end, "cudaDeviceReset in this process", reset_the_device);
    if (!d.common) continue;

    add_unchecked("create", unchecked_create, arrival::later);
    add_unchecked("gemm", unchecked_gemm, arrival::later);
    add_for("blocking", arm_kind::fault, "with CUDA_LAUNCH_BLOCKING=1", with_blocking_launches, {"S1-3"})
        .environment["CUDA_LAUNCH_BLOCKING"] = "1";
    add_for("another_handle", arm_kind::dead_end, "destroy the handle, create another", another_handle);
  }
  const damage assertion = damages.front();
  c.add("more_memory", arm_kind::dead_end, "an assertion fails; free memory, create again",
        [assertion](trial& t) { more_memory(t, assertion); });
  c.add("checked_index", arm_kind::remedy, "check the index on the host before the launch",
        index_checked_on_the_host)
      .against = "no_handle_assertion";

  c.add("careless_server", arm_kind::fault, "a server that looks at no status goes on answering",
        answers_from_a_dead_context);
  c.add("fail_fast", arm_kind::remedy, "the server ends at the first failing status, and a new one answers",
        fail_fast);
  c.quick = {"control",
             "no_handle_assertion",
             "with_handle_assertion",
             "new_process_assertion",
             "carry_on_assertion",
             "reset_assertion",
             "blocking_assertion",
             "no_handle_illegal_address",
             "with_handle_illegal_address",
             "new_process_illegal_address",
             "carry_on_illegal_address",
             "reset_illegal_address",
             "blocking_illegal_address",
             "no_handle_misaligned_address",
             "no_handle_trap",
             "checked_index",
             "careless_server",
             "fail_fast"};
  return c;
}

const register_case here{device_fault_case()};

}  // namespace
}  // namespace cufault
