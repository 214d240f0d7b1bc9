// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Most calls after a kernel of the program failed: an assertion on an index, an illegal address, a misaligned one, a trap. An
//              unrelated call reports it: cublasCreate, a product, an allocation.
// Why          Such an error stays in the context, and arrives when the kernel runs, not at its launch.
// Documented   CUDA Runtime API, cudaError_t 700, 710, 716 and 719: the process must be terminated and
//              relaunched. Reported as cuBLAS failures of several names: pytorch#44624, pytorch#98975,
//              serve#1993, LMFlow#114, cuda-samples#108; as a server that goes on answering: ds4#759.
// Measured     Straight behind the launch cublasCreate and cublasLtCreate fail, a product is queued and returns
//              SUCCESS. Later both kinds fail; the heuristic and cublasDestroy still return SUCCESS.
// What helps   Documented: a new process. Recommended as well, and measured here: blocking launches, to find the
//              culprit; catching and clearing the error, more memory, cudaDeviceReset. kernel_* of the matrix has
//              more, with every operation.
#include "cases/sticky/what_is_told.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <array>

namespace cufault {
namespace {

/// Damage that a kernel can do to its context.
struct damage {
  device_fault which;
  const char* name;
  const char* words;
  bool common;  ///< has every arm
};
constexpr std::array damages{
    damage{device_fault::assertion, "assertion", "an assertion on an index fails", true},
    damage{device_fault::illegal_address, "illegal_address", "a store outside of every allocation", true},
    damage{device_fault::misaligned_address, "misaligned_address", "a vector access at an odd address",
           false},
    damage{device_fault::trap, "trap", "a kernel traps", false}};

/// When the error arrives: while the next calls are made, or after them, unless they wait for the device.
enum class arrival { any_moment, later };

/// A program's objects when one of its kernels fails: used handles, and operands.
struct handles_and_operands {
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t lt = nullptr;
  lt_problem problem;
  product_operands operands;

  handles_and_operands() {
    CUFAULT_REQUIRE(cublasCreate(&handle));
    CUFAULT_REQUIRE(product(handle));
    CUFAULT_REQUIRE(cublasLtCreate(&lt));
    CUFAULT_REQUIRE(problem.heuristic(lt));
    CUFAULT_REQUIRE(prepare_product(fresh_seed(), &operands));
    CUFAULT_REQUIRE(problem.multiply(lt, operands));
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
  }
};

cublasStatus_t lt_heuristic(handles_and_operands& ready) {
  return ready.problem.heuristic(ready.lt);
}

cublasStatus_t lt_matmul(handles_and_operands& ready) {
  return ready.problem.multiply(ready.lt, ready.operands);
}

/// Valid calls, which did not cause the error.
void observe_valid_calls(handles_and_operands& ready) {
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k_unchecked", sgemm(ready.handle, ready.operands));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm_unchecked", lt_matmul(ready));
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", lt_heuristic(ready));
  observed_handle();
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, 1_MiB));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  CUFAULT_OBSERVE(cublasDestroy(ready.handle));
}

/// A server whose answer is whatever its buffer holds after a request.
class server {
 public:
  server() {
    CUFAULT_REQUIRE(cublasCreate(&handle_));
    CUFAULT_REQUIRE(cudaMalloc(&on_device_, 2 * sizeof(float)));
  }
  /// The square of the question, by cuBLAS. Returns the first failing status, for callers that check it.
  product_result answer(float question) {
    const float one = 1, zero = 0;
    product_result result;
    const cudaError_t asked = cudaMemcpy(on_device_, &question, sizeof question, cudaMemcpyHostToDevice);
    const cublasStatus_t multiplied = cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one,
                                                  on_device_, 1, on_device_, 1, &zero, on_device_ + 1, 1);
    const cudaError_t answered = cudaMemcpy(&answer_, on_device_ + 1, sizeof answer_, cudaMemcpyDeviceToHost);
    if (asked == cudaSuccess) result.status = multiplied;
    result.waited = asked != cudaSuccess ? asked : answered;
    result.right = answer_ == question * question;
    return result;
  }

 private:
  cublasHandle_t handle_ = nullptr;
  float* on_device_ = nullptr;
  float answer_ = 0;
};

constexpr int requests = 10;

/// Ignores every status.
product_result answer_requests(server& careless) {
  product_result all;
  all.right = true;
  for (int question = 1; question <= requests; ++question)
    all.right = careless.answer(static_cast<float>(question)).right && all.right;
  return all;
}

// ---- controls ----

void open(trial& t) {
  context_with_faults(t);
}

/// A kernel that stays inside its table.
void look_up_in_range() {
  constexpr std::size_t rows = 1000;
  float* table = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&table, rows * sizeof(float)));
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fill", launch_fill(table, rows, 1, nullptr));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
}

void control(trial& t) {
  open(t);
  handles_and_operands ready;
  server careless;
  look_up_in_range();
  CUFAULT_OBSERVE_AS("cublasSgemm", "requests_status_ignored", answer_requests(careless));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(ready.handle));
  observe_valid_calls(ready);
}

// ---- faults ----

/// The kernel fails and the program checks before it uses cuBLAS.
void break_and_look(const damage& d) {
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fault", launch_fault(d.which));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
}

void without_a_handle(trial& t, const damage& d) {
  open(t);
  break_and_look(d);
  observed_handle();
  observed_lt_handle();
}

void with_a_handle(trial& t, const damage& d) {
  open(t);
  handles_and_operands ready;
  break_and_look(d);
  observe_valid_calls(ready);
}

/// The kernel fails without a check. `innocent` observes one call; the wait after it reports the error.
template <class Call>
void unchecked(trial& t, const damage& d, arrival when, Call&& innocent) {
  constexpr unsigned after_any_call_ms = 1000;
  cudaError_t launched = cudaSuccess;
  const printed_text printed = printed_by([&] {
    // Not observed: reporting it would give the kernel time.
    launched = launch_fault(d.which, nullptr, when == arrival::later ? after_any_call_ms : 0);
    innocent();
    CUFAULT_OBSERVE(cudaDeviceSynchronize());
  });
  if (launched != cudaSuccess) t.measure("launches that returned an error", 1);
  measure_places(t, printed);
}

void unchecked_create(trial& t, const damage& d, arrival when) {
  open(t);
  unchecked(t, d, when, [] {
    cublasHandle_t handle = nullptr;
    return CUFAULT_OBSERVE(cublasCreate(&handle));
  });
}

void unchecked_lt_create(trial& t, const damage& d, arrival when) {
  open(t);
  unchecked(t, d, when, [] {
    cublasLtHandle_t lt = nullptr;
    return CUFAULT_OBSERVE(cublasLtCreate(&lt));
  });
}

void unchecked_gemm(trial& t, const damage& d, arrival when) {
  open(t);
  handles_and_operands ready;
  unchecked(t, d, when, [&] {
    return CUFAULT_OBSERVE_AS("cublasSgemm", "split_k_unchecked", sgemm(ready.handle, ready.operands));
  });
}

void unchecked_lt_matmul(trial& t, const damage& d, arrival when) {
  open(t);
  handles_and_operands ready;
  unchecked(t, d, when, [&] {
    return CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm_unchecked", lt_matmul(ready));
  });
}

void with_blocking_launches(trial& t, const damage& d) {
  open(t);
  const printed_text printed = printed_by([&] {
    CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fault", launch_fault(d.which));
    observed_handle();
  });
  measure_places(t, printed);
}

void answers_from_a_dead_context(trial& t) {
  open(t);
  server careless;
  CUFAULT_OBSERVE_AS("cublasSgemm", "requests_status_ignored", answer_requests(careless));
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fault", launch_fault(device_fault::illegal_address));
  CUFAULT_OBSERVE_AS("cublasSgemm", "requests_status_ignored", answer_requests(careless));
}

// ---- remedies ----

/// The first step of remedies and dead ends: a used handle, then a kernel that damages the context.
cublasHandle_t break_context(const damage& d) {
  cublasHandle_t handle = nullptr, further = nullptr;
  CUFAULT_REQUIRE(load_faults());
  CUFAULT_REQUIRE(cublasCreate(&handle));
  CUFAULT_REQUIRE(product(handle));
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "fault", launch_fault(d.which));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  CUFAULT_OBSERVE(cublasCreate(&further));
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

enum class index_check { none, on_the_host };

/// Looks up three rows of a table of 1000. The last index is out of range: the kernel of launch_fault() asserts on it.
cudaError_t look_up(index_check check) {
  constexpr int rows = 1000;
  float* table = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&table, rows * sizeof(float)));
  for (const int index : {3, 7, 1'000'000}) {
    const bool in_range = index < rows;
    if (check == index_check::on_the_host && !in_range) continue;
    if (const cudaError_t e =
            in_range ? launch_fill(table + index, 1, 1, nullptr) : launch_fault(device_fault::assertion);
        e != cudaSuccess)
      return e;
  }
  return cudaSuccess;
}

/// The same indices twice: unchecked, then checked in a new process, since nothing works in the old one.
void index_checked_on_the_host(trial& t) {
  open(t);
  const bool checked = t.stage() > 0;
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "look_up",
                     look_up(checked ? index_check::on_the_host : index_check::none));
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  create_and_multiply();
  if (checked) return;
  t.apply("check each index on the host and skip what is out of range; in a new process");
  t.continue_in_new_process();
}

// ---- dead ends ----

void carry_on(trial& t, const damage& d) {
  t.open_context();
  const cublasHandle_t handle = break_context(d);
  t.apply("cudaGetLastError() twice and carry on, as after catching an exception");
  cudaGetLastError();
  cudaGetLastError();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  create_and_multiply();
}

void reset_the_device(trial& t, const damage& d) {
  t.open_context();
  break_context(d);
  t.apply("cudaDeviceReset() in this process, create again");
  CUFAULT_OBSERVE(cudaDeviceReset());
  create_and_multiply();
}

void more_memory(trial& t, const damage& d) {
  t.open_context();
  void* cache = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&cache, 256_MiB));
  break_context(d);
  t.apply("cudaFree of 256 MiB, create again");
  CUFAULT_OBSERVE(cudaFree(cache));
  create_and_multiply();
}

// ---- the case ----

void device_fault_case(failure_case& c) {
  c.control("a kernel that breaks nothing, then all the calls", control);

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
      return c.fault(fmt::format("{}_{}_{}", later ? "later" : "racing", call, name),
                     fmt::format("{}{}; {} straight behind the launch, unchecked", words,
                                 later ? ", a second into its kernel" : "", call),
                     [body, d, when](trial& t) { body(t, d, when); }, {"S1-3"});
    };

    std::vector<std::string> of_an_index;
    if (d.which == device_fault::assertion) of_an_index = {"S3-7"};
    add_for("no_handle", arm_kind::fault, "then handles are created", without_a_handle, of_an_index);
    add_for("with_handle", arm_kind::fault, "then handles are used", with_a_handle, of_an_index);

    for (const auto& [call, body] : {std::pair{"create", &unchecked_create},
                                     {"lt_create", &unchecked_lt_create},
                                     {"gemm", &unchecked_gemm},
                                     {"lt_matmul", &unchecked_lt_matmul}}) {
      arm& a = add_unchecked(call, body, arrival::any_moment);
      a.repeats = 20;
      a.races = "the kernel's error may arrive before the call, in it, or after it";
      a.rate_depends_on_load = true;
    }

    add_for("new_process", arm_kind::remedy, "go on in a new process", new_process);
    add_for("carry_on", arm_kind::dead_end, "clear the last error and carry on", carry_on, {"S1-5"});
    add_for("reset", arm_kind::dead_end, "cudaDeviceReset in this process", reset_the_device);
    if (!d.common) continue;

    add_unchecked("create", unchecked_create, arrival::later);
    add_unchecked("gemm", unchecked_gemm, arrival::later);
    add_for("blocking", arm_kind::fault, "with CUDA_LAUNCH_BLOCKING=1", with_blocking_launches, {"S1-3"})
        .environment["CUDA_LAUNCH_BLOCKING"] = "1";
  }
  const damage assertion = damages.front();
  c.dead_end("more_memory", "an assertion fails; cudaFree of some memory, create again",
             [assertion](trial& t) { more_memory(t, assertion); });
  c.remedy("checked_index", "check the same indices on the host before the launch",
           index_checked_on_the_host);

  c.fault("careless_server", "a server that looks at no status goes on answering",
          answers_from_a_dead_context);
  c.in_tier = {"control",
               "no_handle_assertion",
               "new_process_assertion",
               "with_handle_illegal_address",
               "carry_on_illegal_address",
               "reset_illegal_address",
               "blocking_illegal_address",
               "no_handle_trap",
               "checked_index"};
}

const register_case here("sticky.device_fault",
                         "a kernel of the program breaks, and cuBLAS calls that did nothing wrong fail",
                         {"F-STK-01", "F-STK-02", "F-STK-03", "F-STK-04", "F-STK-07"}, device_fault_case);

}  // namespace
}  // namespace cufault
