// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   The first call of a kernel family, on a device that was filled after the handles had been created.
// Why          A handle holds a workspace, not the kernels: these are loaded when they are first needed, one by one with lazy module
//              loading, a whole module at once with eager.
// Documented   CUDA C++ Programming Guide, lazy loading: the first launch of a kernel may allocate. Users report EXECUTION_FAILED,
//              INTERNAL_ERROR and ALLOC_FAILED for one cause: DeepSpeed#294, gpu4pyscf#124, mmdetection#6549, CNTK#1809.
// Measured     With lazy loading nothing fails, even with 3 MiB free. With eager loading and as little free cublasSgemm returns
//              INTERNAL_ERROR, and goes on doing so once memory is free; gemv, trsm, batches, half precision and cuBLASLt are right.
// What helps   Recommended: run every routine once before the device is filled; CUDA_MODULE_LOADING=EAGER; free memory and try
//              again, with the same handle or a new one. Faults are measured with lazy and with eager loading, remedies where
//              something failed.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_fp16.h>

#include <cmath>
#include <string>
#include <vector>

namespace cufault {
namespace {

constexpr int n = 64, batches = 2;
constexpr std::size_t matrix = std::size_t{n} * n, elements = batches * matrix;
constexpr float one = 1, zero = 0;

/// Matrices of ones and as many for output, in device memory taken before the device is filled: what has to come out of them is
/// a whole number, exact in any type and any order of the sums.
template <class Element>
class ones {
 public:
  ones() {
    const std::vector<Element> filled(elements, Element(1.0F));
    CUFAULT_REQUIRE(cudaMalloc(reinterpret_cast<void**>(&in_), 2 * bytes));
    CUFAULT_REQUIRE(cudaMemcpy(in_, filled.data(), bytes, cudaMemcpyHostToDevice));
    out_ = in_ + elements;
  }
  ~ones() { cudaFree(in_); }
  ones(const ones&) = delete;
  ones& operator=(const ones&) = delete;

  /// Runs call(in, out) on an output that holds `start` everywhere; the output must then begin with `expected`.
  template <class Call>
  product_result run(float start, Call call, const std::vector<float>& expected) {
    std::vector<Element> output(elements, Element(start));
    product_result result;
    if ((result.waited = cudaMemcpy(out_, output.data(), bytes, cudaMemcpyHostToDevice)) != cudaSuccess)
      return result;
    if ((result.status = call(in_, out_)) != CUBLAS_STATUS_SUCCESS) return result;
    if ((result.waited = cudaDeviceSynchronize()) != cudaSuccess) return result;
    if ((result.waited = cudaMemcpy(output.data(), out_, bytes, cudaMemcpyDeviceToHost)) != cudaSuccess)
      return result;
    result.right = true;
    for (std::size_t i = 0; i < expected.size(); ++i)
      result.right = result.right && static_cast<float>(output[i]) == expected[i];
    return result;
  }

 private:
  static constexpr std::size_t bytes = elements * sizeof(Element);
  Element *in_ = nullptr, *out_ = nullptr;
};

product_result gemm_ex_half(cublasHandle_t handle, ones<__half>& operands) {
  const auto call = [=](const __half* in, __half* out) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, in, CUDA_R_16F, n, in, CUDA_R_16F, n,
                        &zero, out, CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
  return operands.run(NAN, call, std::vector<float>(matrix, n));
}

product_result gemv(cublasHandle_t handle, ones<float>& operands) {
  const auto call = [=](const float* in, float* out) {
    return cublasSgemv(handle, CUBLAS_OP_N, n, n, &one, in, n, in, 1, &zero, out, 1);
  };
  return operands.run(NAN, call, std::vector<float>(n, n));
}

product_result trsm(cublasHandle_t handle, ones<float>& operands) {
  const auto call = [=](const float* in, float* out) {
    return cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, n, n,
                       &one, in, n, out, n);
  };
  std::vector<float> expected(matrix, 0.0F);  // the first row solves to 1 and leaves nothing to the others
  for (std::size_t i = 0; i < matrix; i += n) expected[i] = 1;
  return operands.run(1, call, expected);
}

product_result gemm_strided_batched(cublasHandle_t handle, ones<float>& operands) {
  const auto call = [=](const float* in, float* out) {
    return cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, in, n, matrix, in, n,
                                     matrix, &zero, out, n, matrix, batches);
  };
  return operands.run(NAN, call, std::vector<float>(elements, n));
}

/// A program that has made its handles and taken its buffers, and has not computed anything yet.
struct program {
  program() {
    CUFAULT_REQUIRE(cublasCreate(&handle));
    CUFAULT_REQUIRE(cublasLtCreate(&lt));
  }
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t lt = nullptr;
  ones<float> singles;
  ones<__half> halves;
  large_product long_sums{{64, 48, 1 << 16}};
};

// sgemm, gemm_ex_half and cuBLASLt come last: each has an arm in which it is the first.
void every_family(program& p) {
  CUFAULT_OBSERVE_AS("cublasSgemv", "", gemv(p.handle, p.singles));
  CUFAULT_OBSERVE_AS("cublasStrsm", "", trsm(p.handle, p.singles));
  CUFAULT_OBSERVE_AS("cublasSgemmStridedBatched", "", gemm_strided_batched(p.handle, p.singles));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", p.long_sums.multiply(p.handle));
  CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16", gemm_ex_half(p.handle, p.halves));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(p.lt));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(p.handle));
}

void every_family_with_new_handles(program& p) {
  if (CUFAULT_OBSERVE(cublasCreate(&p.handle)) == CUBLAS_STATUS_SUCCESS &&
      CUFAULT_OBSERVE(cublasLtCreate(&p.lt)) == CUBLAS_STATUS_SUCCESS)
    every_family(p);
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  program p;
  t.sample("handles created");
  every_family(p);
  t.sample("every family called");
}

// ---- faults ----

void fill_first(trial& t, void (*first_call)(program&)) {
  t.open_context();
  program p;
  const auto device = current_device_memory();
  const memory_pressure held(*device, static_cast<std::uint64_t>(t.level()) << 20);
  t.sample("squeezed");
  first_call(p);
  t.sample("called");
}

// ---- remedies ----

void warm_up(trial& t) {
  t.open_context();
  program p;
  t.apply("call every family once before the device is filled");
  every_family(p);
  const auto device = current_device_memory();
  const memory_pressure held(*device, 0);
  t.sample("squeezed");
  every_family(p);
}

void new_process(trial& t) {
  t.open_context();
  program p;
  if (t.stage() > 0) {
    every_family(p);
    return;
  }
  {
    const auto device = current_device_memory();
    const memory_pressure held(*device, 0);
    t.sample("squeezed");
    every_family(p);
  }
  t.apply("free the memory, go on in a new process");
  t.continue_in_new_process();
}

void load_lazily(trial& t) {
  t.open_context();
  program p;
  t.apply("CUDA_MODULE_LOADING=LAZY from the start, with as little memory free");
  const auto device = current_device_memory();
  const memory_pressure held(*device, 0);
  t.sample("squeezed");
  every_family(p);
}

// ---- remedies and dead ends that come after the failure ----

void after_the_failure(trial& t, const char* applied, void (*then)(program&, memory_pressure&)) {
  t.open_context();
  program p;
  const auto device = current_device_memory();
  memory_pressure held(*device, 0);
  t.sample("squeezed");
  every_family(p);
  t.apply(applied);
  then(p, held);
}

void release_and_retry(program& p, memory_pressure& held) {
  held.release();
  every_family(p);
}

void release_and_create(program& p, memory_pressure& held) {
  held.release();
  every_family_with_new_handles(p);
}

void retry_alone(program& p, memory_pressure&) {
  every_family(p);
}

void clear_the_last_error(program& p, memory_pressure&) {
  cudaGetLastError();
  every_family(p);
}

void create_alone(program& p, memory_pressure&) {
  CUFAULT_OBSERVE(cublasDestroy(p.handle));
  CUFAULT_OBSERVE(cublasLtDestroy(p.lt));
  every_family_with_new_handles(p);
}

// ---- the case ----

failure_case first_product() {
  failure_case c;
  c.name = "memory.first_product";
  c.summary =
      "the first call of a kernel family on a device that was filled after the handles had been created";
  c.failures = {"F-MEM-02"};
  const level_range little{"MiB asked to stay free", {0, 16, 64}, 0},
      nothing{"MiB asked to stay free", {0}, 0};

  for (const bool eager : {false, true}) {
    const std::string mode = eager ? "eager" : "lazy";
    const auto add = [&](const std::string& name, arm_kind kind, const std::string& summary,
                         std::function<void(trial&)> body, std::optional<level_range> levels = {}) -> arm& {
      arm& a = c.add(name + "_" + mode, kind, summary + ", " + mode + " module loading", std::move(body));
      if (eager) a.environment["CUDA_MODULE_LOADING"] = "EAGER";
      a.levels = std::move(levels);
      return a;
    };
    add("control", arm_kind::control, "every family with the device empty", control);

    const auto fault = [&](const std::string& name, const std::string& summary, void (*call)(program&),
                           const level_range& levels) {
      add(
          name, arm_kind::fault, summary, [call](trial& t) { fill_first(t, call); }, levels);
    };
    fault(
        "sgemm", "cublasSgemm first",
        [](program& p) { CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(p.handle)); }, little);
    fault(
        "gemm_ex", "cublasGemmEx in half precision first",
        [](program& p) { CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16", gemm_ex_half(p.handle, p.halves)); },
        nothing);
    fault(
        "lt", "cublasLtMatmul first, without a workspace",
        [](program& p) { CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(p.lt)); },
        nothing);
    fault("every_family", "one family after the other", every_family, little);
    for (const char* first : {"sgemm_", "gemm_ex_", "lt_", "every_family_"}) add_counterpart(c, first + mode);
    if (!eager) continue;  // where the families fail

    add("warm_up", arm_kind::remedy, "every family once before the device is filled", warm_up).against =
        "every_family_" + mode;
    const auto after = [&](const std::string& name, arm_kind kind, const char* applied,
                           void (*then)(program&, memory_pressure&)) {
      add(name, kind, applied, [=](trial& t) { after_the_failure(t, applied, then); });
    };
    after("release_and_retry", arm_kind::remedy, "free the memory, call again with the same handles",
          release_and_retry);
    after("release_and_create", arm_kind::remedy, "free the memory, call again with new handles",
          release_and_create);
    add("new_process", arm_kind::remedy, "free the memory, go on in a new process", new_process);
    c.add("load_lazily_" + mode, arm_kind::remedy, "CUDA_MODULE_LOADING=LAZY instead", load_lazily).against =
        "every_family_" + mode;

    after("retry_alone", arm_kind::dead_end, "call again, nothing freed", retry_alone);
    after("clear_last_error", arm_kind::dead_end, "cudaGetLastError(), call again, nothing freed",
          clear_the_last_error);
    after("create_alone", arm_kind::dead_end, "destroy the handles and create them again, nothing else freed",
          create_alone);
  }
  return c;
}

const register_case here{first_product()};

}  // namespace
}  // namespace cufault
