// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products with an operand, a bias vector or a workspace at an address that is not aligned: to its element, or to the
//              16 bytes at a time in which fast kernels read and write. What comes of it is a status, numbers, or an error of the
//              kernel that damages the context.
// Why          cuBLAS sees the addresses and can choose a kernel that does with them. cuBLASLt chooses before it sees any: the
//              heuristic takes 256 bytes for granted unless it is told less, and cublasLtMatmul has to notice.
// Documented   One source document says CUBLAS_STATUS_INVALID_VALUE (S3-1). cuBLAS documentation,
//              cublasLtMatmulPreferenceAttributes_t: alignments of A to D, by default 256; cublasLtMatmul: rules for 8-bit types,
//              an aligned workspace. Release notes (RN-06, CUB-9577, CUB-9585, CUB-9599): checks of alignment that cublasLtMatmul
//              lacks. Reported: pytorch#98975, onnxruntime#16130, llama.cpp#4075; of the bias, which no attribute speaks of,
//              pytorch#194497 (compute capability 7.5) and marian-dev#778 (8.0, CUDA 11).
// Measured     H200, cuBLAS 13.1.0: cublasSgemm and cublasGemmEx take whatever is aligned to its element, 8-bit integers to 4 bytes, and
//              refuse the rest with NOT_SUPPORTED (what other routines do: arguments/). cuBLASLt that is not told refuses with NOT_SUPPORTED what its algorithm does not take, but for D
//              in single precision off by 1 or 2 bytes: cudaErrorMisalignedAddress (in arguments.lt for A and B as well). Told, it does as
//              cuBLAS; FP8 wants 16 bytes.
//              INVALID_VALUE come a bias off its element and a workspace off 256 bytes only. A bias at any element is right.
// What helps   Recommended: telling the heuristic the true alignment; copies at aligned addresses. Tried besides: another handle, as a
//              dead end.
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
constexpr operands fp32{"fp32", {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}};
constexpr operands fp16{"fp16", {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F}};
constexpr std::array all_operands{
    fp32, fp16, operands{"bf16", {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F}, 80},
    operands{"int8", {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I}},
    operands{"fp8", {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F}, 89}};

bool has_gemm(const operands& of) {
  return of.types.a != CUDA_R_8F_E4M3;  // documented for cuBLASLt only
}

/// Large enough for kernels that read 16 bytes at a time; the sums stay exact.
checked_product new_product(entry function, const operands& of, const std::array<std::size_t, 3>& off_by) {
  return checked_product(turned_product(function, of.types, {128, 96, 64}),
                         {.off_by = off_by, .alpha = 1, .beta = 0});
}

constexpr std::array<std::size_t, 3> aligned{};
constexpr std::array<std::size_t, 3> off(std::size_t operand, std::size_t by) {
  std::array<std::size_t, 3> off_by{};
  off_by[operand] = by;
  return off_by;
}

std::uint32_t alignment_of(const void* address) {
  std::uint32_t bytes = 256;
  while (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) bytes /= 2;
  return bytes;
}

// ---- the calls ----

void require_capability(const operands& of) {
  if (trial::current().compute_capability() < of.least_capability)
    throw not_provoked(fmt::format("{} needs compute capability {}.{}: take another GPU", of.name,
                                   of.least_capability / 10, of.least_capability % 10));
}

status_record by_gemm_ex(const workbench& on, const operands& of, const std::array<std::size_t, 3>& off_by) {
  require_capability(of);
  return record_of(new_product(entry::cublas, of, off_by).by_gemm_ex(on.handle));
}

status_record by_sgemm(const workbench& on, const std::array<std::size_t, 3>& off_by) {
  checked_product work = new_product(entry::cublas, fp32, off_by);
  return record_of(work.by([&] { return sgemm(on.handle, work.described(), work.c.data()); }));
}

/// Whether the heuristic is told how little aligned the addresses are.
enum class heuristic { not_told, told };

/// What the algorithm wants and which operand has less than that, if one has.
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

status_record by_lt(const workbench& on, const operands& of, const std::array<std::size_t, 3>& off_by,
                    heuristic how) {
  require_capability(of);
  checked_product work = new_product(entry::cublas_lt, of, off_by);
  lt_problem problem(work.described());
  if (how == heuristic::told) tell_alignment(problem, work.operands());
  const product_result result = work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem);
  return record_of(product_with_facts{result, missing_alignment(problem, work)});
}

/// With a bias of zeros, which changes nothing. For it there is no attribute; frameworks tell its alignment as that of D.
status_record by_lt_with_bias(const workbench& on, std::size_t off_by, heuristic how) {
  checked_product work = new_product(entry::cublas_lt, fp16, aligned);
  const auto rows = static_cast<std::size_t>(work.described().m);
  guarded_array bias(fp16.types.c, rows, off_by);
  bias.put(std::vector<double>(rows));
  lt_problem problem(work.described());
  set_attribute<std::uint32_t>(problem.operation(), CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set_attribute<const void*>(problem.operation(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
  if (how == heuristic::told) {
    lt_operands operands = work.operands();
    operands.d = bias.data();
    tell_alignment(problem, operands);
  }
  return record_of(work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem));
}

/// A product with a k so long that it is split, by an algorithm that writes to the workspace.
status_record by_lt_in_workspace(const workbench& on, std::size_t off_by) {
  constexpr std::size_t allowed = workbench::workspace_bytes - 256;
  long_sum sum;
  const auto chosen = sum.one_with_workspace(on.lt, allowed);
  return record_of(
      sum.multiply(on.lt, &chosen.algo, static_cast<std::byte*>(on.workspace) + off_by, allowed));
}

/// As by_gemm_ex with every operand off, on copies that are not; the result is copied back.
status_record by_aligned_copies(const workbench& on, std::size_t off_by) {
  checked_product work = new_product(entry::cublas, fp16, {off_by, off_by, off_by});
  const guarded_array a(fp16.types.a, work.a.size()), b(fp16.types.b, work.b.size()),
      c(fp16.types.c, work.c.size());
  auto told = work.described();
  told.a.data = a.data(), told.b.data = b.data();
  const auto copy = [](const guarded_array& from, const guarded_array& to) {
    constexpr std::size_t element = 2;
    CUFAULT_REQUIRE(cudaMemcpy(to.data(), from.data(), from.size() * element, cudaMemcpyDeviceToDevice));
  };
  return record_of(work.by([&] {
    copy(work.a, a);
    copy(work.b, b);
    const cublasStatus_t status = gemm_ex(on.handle, told, c.data());
    if (status == CUBLAS_STATUS_SUCCESS) copy(c, work.c);
    return status;
  }));
}

// ---- rows ----

constexpr std::array<std::size_t, 5> steps{1, 2, 4, 8, 16};

row gemm_ex_row(const operands& of, std::size_t operand, std::size_t by) {
  return {fmt::format("cublasGemmEx {} {} off by {}", of.name, "ABC"[operand], by),
          [=](const workbench& on) { return by_gemm_ex(on, of, off(operand, by)); }};
}

row lt_row(const operands& of, std::size_t operand, std::size_t by, heuristic how) {
  return {fmt::format("cublasLtMatmul {} {} off by {}{}", of.name, "ABC"[operand], by,
                      how == heuristic::told ? ", told" : ""),
          [=](const workbench& on) { return by_lt(on, of, off(operand, by), how); }};
}

row bias_row(std::size_t by, heuristic how) {
  return {
      fmt::format("cublasLtMatmul bias off by {}{}", by, how == heuristic::told ? ", told as that of D" : ""),
      [=](const workbench& on) { return by_lt_with_bias(on, by, how); }};
}

row workspace_row(std::size_t by) {
  return {fmt::format("cublasLtMatmul workspace off by {}", by),
          [=](const workbench& on) { return by_lt_in_workspace(on, by); }};
}

template <class Add>
void for_each_misalignment(Add&& add) {
  for (std::size_t operand = 0; operand < 3; ++operand)
    for (const std::size_t by : steps) add(operand, by);
}

std::vector<row> gemm_rows(const operands& of) {
  std::vector<row> rows;
  for_each_misalignment([&](std::size_t operand, std::size_t by) {
    rows.push_back(gemm_ex_row(of, operand, by));
    if (of.types.a != CUDA_R_32F) return;
    rows.push_back({fmt::format("cublasSgemm {} off by {}", "ABC"[operand], by),
                    [=](const workbench& on) { return by_sgemm(on, off(operand, by)); }});
  });
  return rows;
}

std::vector<row> lt_rows(const operands& of, heuristic how) {
  std::vector<row> rows;
  for_each_misalignment(
      [&](std::size_t operand, std::size_t by) { rows.push_back(lt_row(of, operand, by, how)); });
  return rows;
}

std::vector<row> bias_rows(heuristic how) {
  std::vector<row> rows;
  for (const std::size_t by : steps) rows.push_back(bias_row(by, how));
  return rows;
}

std::vector<row> workspace_rows() {
  std::vector<row> rows;
  for (const std::size_t by : steps) rows.push_back(workspace_row(by));
  rows.push_back(workspace_row(128));
  return rows;
}

// ---- arms ----

void control(trial& t) {
  const workbench on = new_workbench(t);
  for (const operands& of : all_operands) {
    if (t.compute_capability() < of.least_capability) continue;
    if (has_gemm(of))
      observe_row(on, {fmt::format("cublasGemmEx {}", of.name),
                       [&](const workbench& w) { return by_gemm_ex(w, of, aligned); }});
    observe_row(on, {fmt::format("cublasLtMatmul {}", of.name),
                     [&](const workbench& w) { return by_lt(w, of, aligned, heuristic::not_told); }});
  }
  observe_row(on, {"cublasSgemm", [](const workbench& w) { return by_sgemm(w, aligned); }});
  observe_row(on, bias_row(0, heuristic::not_told));
}

/// Where the heuristic is told of it, that is in the row's name.
void misaligned(trial& t, const std::vector<row>& not_told, const std::vector<row>& told) {
  auto rows = not_told;
  rows.insert(rows.end(), told.begin(), told.end());
  run(t, rows);
}

void told_the_truth(trial& t) {
  const auto all_off = [](heuristic how) {
    return row{
        fmt::format("cublasLtMatmul fp16 A, B and C off by 2{}", how == heuristic::told ? ", told" : ""),
        [=](const workbench& on) {
          return by_lt(on, fp16, {2, 2, 2}, how);
        }};
  };
  run_then(t, {all_off(heuristic::not_told)}, "tell the heuristic the true alignment",
           {all_off(heuristic::told)});
}

/// Half an element off: no kernel can read that as it is.
row at_odd_address() {
  return gemm_ex_row(fp16, 0, 1);
}

void aligned_copies(trial& t) {
  run_then(t, {at_odd_address()}, "multiply copies at aligned addresses, and copy the result back",
           {{"cublasGemmEx fp16 on aligned copies",
             [](const workbench& on) { return by_aligned_copies(on, 1); }}});
}

void aligned_bias(trial& t) {
  // Half an element off is refused where a whole one is no matter.
  run_then(t, {bias_row(1, heuristic::not_told), bias_row(2, heuristic::not_told)}, "an aligned bias",
           {bias_row(0, heuristic::not_told)});
}

void aligned_workspace(trial& t) {
  run_then(t, {workspace_row(1)}, "an aligned workspace", {workspace_row(0)});
}

void by_new_handle(trial& t) {
  run_then(t, {at_odd_address()}, "a new handle, in a new process even", {at_odd_address()});
}

// ---- the case ----

failure_case alignment() {
  failure_case c;
  c.name = "types.alignment";
  c.summary = "operands, bias and workspace at addresses that are not aligned";
  c.failures = {"F-STK-03", "RN-06"};
  c.add("control", arm_kind::control, "the same products at aligned addresses", control);

  const auto add = [&](const std::string& name, const std::string& summary, const std::vector<row>& not_told,
                       const std::vector<row>& told = {}) {
    c.add(name, arm_kind::fault, summary, [=](trial& t) { misaligned(t, not_told, told); }, {"S3-1"})
        .timeout = std::chrono::seconds(120);
  };
  for (const operands& of : all_operands) {
    const std::string name = of.name;
    if (has_gemm(of))
      add("gemm_" + name, name + " by cuBLAS, one operand off by 1 to 16 bytes", gemm_rows(of));
    add("lt_" + name, name + " by cuBLASLt, told of it and not", lt_rows(of, heuristic::not_told),
        lt_rows(of, heuristic::told));
  }
  add("lt_bias", "a bias vector off by 1 to 16 bytes", bias_rows(heuristic::not_told),
      bias_rows(heuristic::told));
  add("lt_workspace", "a workspace off by 1 to 128 bytes", workspace_rows());

  c.add("told", arm_kind::remedy, "operands off by 2 bytes, then the heuristic is told of it",
        told_the_truth);
  c.add("aligned_copies", arm_kind::remedy, "an operand at an odd address, then aligned copies of all",
        aligned_copies);
  c.add("aligned_bias", arm_kind::remedy, "a bias off by 1 and by 2 bytes, then an aligned one",
        aligned_bias);
  c.add("aligned_workspace", arm_kind::remedy, "a workspace off by a byte, then an aligned one",
        aligned_workspace);
  c.add("new_handle", arm_kind::dead_end, "an operand at an odd address, then again by a new handle",
        by_new_handle);
  c.in_tier = {"control", "gemm_fp16", "told"};
  c.share_process_of({"control"});
  return c;
}

const register_case here{alignment()};

}  // namespace
}  // namespace cufault
