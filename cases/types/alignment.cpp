// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products with an operand, bias vector or workspace at a misaligned address: not aligned to its element, or to the 16 bytes
//              that fast kernels access at once. The result is a status, wrong numbers, or a kernel error that damages the context.
// Why          cuBLAS sees the addresses and can choose a suitable kernel. cuBLASLt chooses before it gets any: the heuristic assumes 256
//              bytes unless told otherwise, and cublasLtMatmul has to check.
// Documented   One source document says CUBLAS_STATUS_INVALID_VALUE (S3-1). cuBLAS documentation,
//              cublasLtMatmulPreferenceAttributes_t: alignments of A to D, by default 256; cublasLtMatmul: rules for 8-bit types,
//              an aligned workspace. Release notes (RN-06, CUB-9577, CUB-9585, CUB-9599): checks of alignment that cublasLtMatmul
//              lacks. Reported: pytorch#98975, onnxruntime#16130, llama.cpp#4075; of the bias, which no attribute speaks of,
//              pytorch#194497 (compute capability 7.5) and marian-dev#778 (8.0, CUDA 11).
// Measured     H200, cuBLAS 13.1.0: cublasSgemm and cublasGemmEx accept an address aligned to its element, 8-bit integers to 4 bytes, and
//              refuse the rest with NOT_SUPPORTED (other routines: arguments/). cuBLASLt that is not told the alignment refuses with
//              NOT_SUPPORTED what its algorithm does not accept. Exception: D in single precision off by 1 or 2 bytes gives
//              cudaErrorMisalignedAddress (in arguments.lt A and B too). Told, it does as cuBLAS; FP8 needs 16 bytes. Only a bias off its
//              element and a workspace off 256 bytes are INVALID_VALUE. A bias at any element is right.
// What helps   Recommended: telling the heuristic the true alignment; copies at aligned addresses. Another handle is tried as a dead end.
#include "cases/types/product_table.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace product_table;

struct operands {
  const char* name;
  element_types types;
  int least_capability = 0;
};
constexpr operands fp32{"fp32", {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F}};
constexpr operands fp16{"fp16", {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F}};
constexpr std::array all_operands{
    fp32, fp16, operands{"bf16", {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF}, 80},
    operands{"int8", {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I}},
    operands{"fp8", {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF}, 89}};

/// Offsets of A, B and C in bytes. Extents are large enough for kernels that access 16 bytes at once; the sums stay exact.
using offsets = std::array<std::size_t, 3>;
checked_product new_product(entry function, const operands& of, const offsets& off_by) {
  if (trial::current().compute_capability() < of.least_capability)
    throw not_provoked(fmt::format("{} needs compute capability {}.{}: take another GPU", of.name,
                                   of.least_capability / 10, of.least_capability % 10));
  return checked_product(turned_product(function, of.types, {128, 96, 64}), {.off_by = off_by});
}

// ---- rows ----

row by_gemm_ex(const operands& of, const std::string& words, const offsets& off_by = {}) {
  return call_row(named_by_words(fmt::format("cublasGemmEx {}{}", of.name, words)), [=](const workbench& on) {
    return new_product(entry::cublas, of, off_by).by_gemm_ex(on.handle);
  });
}

row by_sgemm(const std::string& words, const offsets& off_by = {}) {
  return call_row(named_by_words("cublasSgemm" + words), [=](const workbench& on) {
    checked_product work = new_product(entry::cublas, fp32, off_by);
    return work.by([&] { return sgemm(on.handle, work.described(), work.c.data()); });
  });
}

/// Returns the alignment that the algorithm needs and the first operand with less; empty if all have it.
fact_map missing_alignment(const lt_problem& problem, const checked_product& work) {
  if (problem.results().empty()) return {};
  struct needed {
    cublasLtMatmulAlgoCapAttributes_t which;
    const char* name;
    const guarded_array& of;
  };
  const needed all[]{{CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, "A", work.a},
                     {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, "B", work.b},
                     {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, "C", work.c}};
  for (const auto& [which, name, of] : all) {
    std::uint32_t bytes = 0;
    std::size_t size = 0;
    CUFAULT_REQUIRE(cublasLtMatmulAlgoCapGetAttribute(&problem.results().front().algo, which, &bytes,
                                                      sizeof bytes, &size));
    if (bytes > alignment_of(of.data()))
      return {{"algorithm_alignment", std::int64_t{bytes}}, {"less_aligned", std::string(name)}};
  }
  return {};
}

/// Whether the heuristic is told the true alignment.
enum class heuristic { not_told, told };
using enum heuristic;

row by_lt(const operands& of, const std::string& words, const offsets& off_by = {},
          heuristic how = not_told) {
  return call_row(
      named_by_words(fmt::format("cublasLtMatmul {}{}{}", of.name, words, how == told ? ", told" : "")),
      [=](const workbench& on) {
        checked_product work = new_product(entry::cublas_lt, of, off_by);
        lt_problem problem(work.described());
        if (how == told) tell_alignment(problem, work.operands());
        const product_result result = work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem);
        return product_with_facts{result, missing_alignment(problem, work)};
      });
}

/// Adds a bias of zeros, which changes nothing. No attribute tells its alignment; frameworks tell it as that of D.
row with_bias(std::size_t off_by, heuristic how = not_told) {
  const auto call = [=](const workbench& on) {
    checked_product work = new_product(entry::cublas_lt, fp16, {});
    const auto count = static_cast<std::size_t>(work.described().m);
    guarded_array bias(fp16.types.c, count, off_by);
    bias.put(std::vector<double>(count));
    lt_problem problem(work.described());
    set_attribute<std::uint32_t>(problem.operation(), CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set_attribute<const void*>(problem.operation(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
    lt_operands operands = work.operands();
    operands.d = bias.data();
    if (how == told) tell_alignment(problem, operands);
    return work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem);
  };
  return call_row(named_by_words(fmt::format("cublasLtMatmul bias off by {}{}", off_by,
                                             how == told ? ", told as that of D" : "")),
                  call);
}

/// A product with a k so long that it is split, by an algorithm that writes to the workspace.
row in_workspace(std::size_t off_by) {
  return call_row(
      named_by_words(fmt::format("cublasLtMatmul workspace off by {}", off_by)), [=](const workbench& on) {
        constexpr std::size_t allowed = workbench::workspace_bytes - 256;
        long_sum sum;
        const auto chosen = sum.one_with_workspace(on.lt, allowed);
        return sum.multiply(on.lt, &chosen.algo, static_cast<std::byte*>(on.workspace) + off_by, allowed);
      });
}

/// Every operand is off by a byte. Multiplies aligned copies, and copies the result back.
product_result multiply_aligned_copies(const workbench& on) {
  checked_product work = new_product(entry::cublas, fp16, {1, 1, 1});
  const guarded_array a(fp16.types.a, work.a.size()), b(fp16.types.b, work.b.size()),
      c(fp16.types.c, work.c.size());
  auto moved = work.described();
  moved.a.data = a.data(), moved.b.data = b.data();
  const auto copy = [](const guarded_array& from, const guarded_array& to) {
    constexpr std::size_t element = 2;
    CUFAULT_REQUIRE(cudaMemcpy(to.data(), from.data(), from.size() * element, cudaMemcpyDeviceToDevice));
  };
  return work.by([&] {
    copy(work.a, a);
    copy(work.b, b);
    const cublasStatus_t status = gemm_ex(on.handle, moved, c.data());
    if (status == CUBLAS_STATUS_SUCCESS) copy(c, work.c);
    return status;
  });
}

constexpr std::array<std::size_t, 5> steps{1, 2, 4, 8, 16};

/// The rows that `make` returns for each operand and each offset.
template <class Make>
rows misaligned(const Make& make) {
  return rows_for(std::array<std::size_t, 3>{0, 1, 2}, [&](std::size_t operand) {
    return rows_for(steps, [&](std::size_t by) {
      offsets off_by{};
      off_by[operand] = by;
      return make(fmt::format(" {} off by {}", "ABC"[operand], by), off_by);
    });
  });
}

// ---- the case ----

bool has_gemm(const operands& of) {
  return of.types.a != CUDA_R_8F_E4M3;  // documented for cuBLASLt only
}

void control(trial& t) {
  const workbench on = new_workbench(t);
  for (const operands& of : all_operands) {
    if (t.compute_capability() < of.least_capability) continue;
    if (has_gemm(of)) by_gemm_ex(of, "")(on);
    by_lt(of, "")(on);
  }
  observe_rows(on, {by_sgemm(""), with_bias(0)});
}

failure_case alignment() {
  product_case c("types.alignment", "operands, bias and workspace at addresses that are not aligned",
                 {"F-STK-03", "RN-06"});
  c.add("control", arm_kind::control, "the same products at aligned addresses", control);
  const auto fault = [&](const std::string& name, const std::string& text, const rows& all) {
    c.fault_apart(name, text, all, {"S3-1"}).timeout = std::chrono::seconds(120);
  };
  for (const operands& of : all_operands) {
    const std::string name = of.name;
    const auto by_cublas = [&](const std::string& words, const offsets& off_by) {
      rows both{by_gemm_ex(of, words, off_by)};
      if (of.types.a == CUDA_R_32F) both.push_back(by_sgemm(words, off_by));
      return both;
    };
    if (has_gemm(of))
      fault("gemm_" + name, name + " by cuBLAS, one operand off by 1 to 16 bytes", misaligned(by_cublas));
    const auto lt_rows = [&](heuristic how) {
      return misaligned(
          [&](const std::string& words, const offsets& off_by) { return by_lt(of, words, off_by, how); });
    };
    fault("lt_" + name, name + " by cuBLASLt, told of it and not", lt_rows(not_told) + lt_rows(told));
  }
  fault("lt_bias", "a bias vector off by 1 to 16 bytes",
        rows_for(steps, [](std::size_t by) { return with_bias(by); }) +
            rows_for(steps, [](std::size_t by) { return with_bias(by, told); }));
  fault("lt_workspace", "a workspace off by 1 to 128 bytes",
        rows_for(steps, in_workspace) + rows{in_workspace(128)});

  const auto all_off = [](heuristic how) { return by_lt(fp16, " A, B and C off by 2", {2, 2, 2}, how); };
  // Half an element off: no kernel can read it in place.
  const row odd_address = by_gemm_ex(fp16, " A off by 1", {1, 0, 0});
  c.remedy_apart("told", "operands off by 2 bytes, then the heuristic is told of it", {all_off(not_told)},
                 "tell the heuristic the true alignment", {all_off(told)});
  c.remedy_apart("aligned_copies", "an operand at an odd address, then aligned copies of all", {odd_address},
                 "multiply copies at aligned addresses, and copy the result back",
                 {call_row(named_by_words("cublasGemmEx fp16 on aligned copies"), multiply_aligned_copies)});
  // Half an element off is refused; a whole one is not.
  c.remedy_apart("aligned_bias", "a bias off by 1 and by 2 bytes, then an aligned one",
                 {with_bias(1), with_bias(2)}, "an aligned bias", {with_bias(0)});
  c.remedy_apart("aligned_workspace", "a workspace off by a byte, then an aligned one", {in_workspace(1)},
                 "an aligned workspace", {in_workspace(0)});
  c.remedy_apart("new_handle", "an operand at an odd address, then again by a new handle", {odd_address},
                 "a new handle, in a new process even", {odd_address})
      .kind = arm_kind::dead_end;
  c.in_tier = {"control", "gemm_fp16", "told"};
  c.share_process_of({"control"});
  return c.done();
}

const register_case here{alignment()};

}  // namespace
}  // namespace cufault
