// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/argument_table.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cufault/argument_check.hpp"

/// The arguments of a product or a conversion by cuBLASLt, the calls that carry it out, and its description for argument_check.
namespace cufault::lt_arguments {

using argument_table::answer;
using argument_table::buffers;

// All extents differ, so that no leading dimension that is too small for one operand fits another.
inline constexpr int m = 8, n = 12, k = 16, ld = 16;
inline constexpr std::int64_t stride = 16 * 16;
inline constexpr int batch = 2;
inline constexpr std::size_t workspace_bytes = 4 << 20;
inline const float one = 1, zero = 0;

// ---- arguments ----

/// A value of an attribute, as a caller sets it.
struct setting {
  int attribute = 0;
  std::int64_t value = 0;
  std::size_t bytes = 0;
};

struct matrix {
  cudaDataType type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, leading_dimension = ld;
  std::vector<setting> set{};
  bool in_place = false;  ///< by cublasLtMatrixLayoutInit
};

/// All arguments of the calls of one product, from the first descriptor on.
struct plan {
  std::string base{};  ///< what rows add to the name of each function: " TT"
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  std::vector<setting> operation{}, preference{};
  std::array<matrix, 4> matrices{};  ///< A, B, C, D
  lt_operands on_device{};
};

/// All arguments of the calls of one conversion, C = A + B.
struct conversion {
  std::vector<setting> operation{};
  std::array<matrix, 3> matrices{};
};

inline lt_operands operands_of(const buffers& b) {
  return {&one, b.device(0), b.device(1), &zero, b.device(2), b.device(2)};
}

inline plan plain(const buffers& b) {
  plan p;
  p.matrices = {{{.rows = m, .columns = k},
                 {.rows = k, .columns = n},
                 {.rows = m, .columns = n},
                 {.rows = m, .columns = n}}};
  p.on_device = operands_of(b);
  return p;
}

inline plan transposed(const buffers& b) {
  plan p = plain(b);
  p.base = " TT";
  for (matrix* each : {&p.matrices[0], &p.matrices[1]}) std::swap(each->rows, each->columns);
  for (const int which : {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB})
    p.operation.push_back({which, CUBLAS_OP_T, sizeof(std::int32_t)});
  return p;
}

inline plan batched(const buffers& b) {
  plan p = plain(b);
  p.base = " in a batch";
  for (matrix& each : p.matrices)
    each.set = {{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch, sizeof(std::int32_t)},
                {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride, sizeof(std::int64_t)}};
  return p;
}

/// An address as the value of an attribute.
inline std::int64_t address(const void* p, std::size_t off = 0) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) + off);
}

/// A product with a bias, which is read from the beginning of B.
inline plan biased(const buffers& b) {
  plan p = plain(b);
  p.base = " with a bias";
  p.operation = {{CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, sizeof(std::uint32_t)},
                 {CUBLASLT_MATMUL_DESC_BIAS_POINTER, address(b.device(1)), sizeof(void*)}};
  return p;
}

// ---- the calls ----

/// Makes calls one after another until one fails; keeps its name and status.
class sequence {
 public:
  template <class Call>
  void operator()(const char* name, Call&& call) {
    if (!ok()) return;
    status_ = call();
    by_ = name;
  }
  [[nodiscard]] bool ok() const { return status_ == CUBLAS_STATUS_SUCCESS; }
  [[nodiscard]] answer came_to() const {
    return ok() ? answer(status_) : answer(status_, {{"refused_by", std::string(by_)}});
  }

 private:
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
  const char* by_ = "";
};

using lt_conversion =
    std::unique_ptr<cublasLtMatrixTransformDescOpaque_t, destroy_by<cublasLtMatrixTransformDescDestroy>>;

/// A layout of cublasLtMatrixLayoutCreate, which it destroys, or one made in place by cublasLtMatrixLayoutInit.
struct layout {
  lt_layout created{};
  cublasLtMatrixLayoutOpaque_t place{};
  cublasLtMatrixLayout_t get() { return created ? created.get() : &place; }
};

template <class Descriptor, class Attribute>
void set(sequence& call, const char* name,
         cublasStatus_t (*function)(Descriptor, Attribute, const void*, std::size_t), Descriptor to,
         const std::vector<setting>& all) {
  for (const setting& each : all)
    call(name, [&] { return function(to, static_cast<Attribute>(each.attribute), &each.value, each.bytes); });
}

inline void create(sequence& call, const matrix& of, layout& made) {
  const auto rows = static_cast<std::uint64_t>(of.rows), columns = static_cast<std::uint64_t>(of.columns);
  if (of.in_place) {
    call("cublasLtMatrixLayoutInit",
         [&] { return cublasLtMatrixLayoutInit(&made.place, of.type, rows, columns, of.leading_dimension); });
  } else {
    call("cublasLtMatrixLayoutCreate", [&] {
      cublasLtMatrixLayout_t created = nullptr;
      const auto status = cublasLtMatrixLayoutCreate(&created, of.type, rows, columns, of.leading_dimension);
      made.created.reset(created);
      return status;
    });
  }
  set(call, "cublasLtMatrixLayoutSetAttribute", cublasLtMatrixLayoutSetAttribute, made.get(), of.set);
}

/// The descriptors of a plan; empty after the first failed call.
struct descriptors {
  lt_operation operation{};
  lt_preference preference{};
  std::array<layout, 4> layouts{};
};

inline void create(sequence& call, const plan& p, descriptors& made) {
  call("cublasLtMatmulDescCreate", [&] {
    cublasLtMatmulDesc_t created = nullptr;
    const auto status = cublasLtMatmulDescCreate(&created, p.compute, p.scale);
    made.operation.reset(created);
    return status;
  });
  set(call, "cublasLtMatmulDescSetAttribute", cublasLtMatmulDescSetAttribute, made.operation.get(),
      p.operation);
  for (std::size_t i = 0; i < made.layouts.size(); ++i) create(call, p.matrices[i], made.layouts[i]);
  call("cublasLtMatmulPreferenceCreate", [&] {
    cublasLtMatmulPreference_t created = nullptr;
    const auto status = cublasLtMatmulPreferenceCreate(&created);
    made.preference.reset(created);
    return status;
  });
  set(call, "cublasLtMatmulPreferenceSetAttribute", cublasLtMatmulPreferenceSetAttribute,
      made.preference.get(), p.preference);
}

inline cublasStatus_t first_algorithm(cublasLtHandle_t lt, descriptors& d,
                                      cublasLtMatmulHeuristicResult_t& first, int& found) {
  return cublasLtMatmulAlgoGetHeuristic(lt, d.operation.get(), d.layouts[0].get(), d.layouts[1].get(),
                                        d.layouts[2].get(), d.layouts[3].get(), d.preference.get(), 1, &first,
                                        &found);
}

/// Objects shared by all rows of a process. The end of the process frees them.
struct objects {
  cublasLtHandle_t lt = nullptr;
  std::byte* workspace = nullptr;
};
inline const objects& objects_of(const buffers& b) {
  static const objects none{};
  if (b.device(0) == nullptr) return none;
  static const objects made = [] {
    void* memory = nullptr;
    CUFAULT_REQUIRE(cudaMalloc(&memory, workspace_bytes));
    return objects{new_lt_handle(), static_cast<std::byte*>(memory)};
  }();
  return made;
}

/// Descriptors and an algorithm of a valid plan, for rows that need them ready-made. Empty if the buffers have no memory.
struct prepared {
  descriptors made{};
  cublasLtMatmulAlgo_t algorithm{};
};
inline std::shared_ptr<prepared> prepare(const plan& p, const buffers& b) {
  auto all = std::make_shared<prepared>();
  if (b.device(0) == nullptr) return all;
  sequence call;
  create(call, p, all->made);
  cublasLtMatmulHeuristicResult_t first{};
  int found = 0;
  call("cublasLtMatmulAlgoGetHeuristic",
       [&] { return first_algorithm(objects_of(b).lt, all->made, first, found); });
  if (!call.ok() || found < 1) throw setup_failed("no algorithm for a valid product" + p.base);
  all->algorithm = first.algo;
  return all;
}

/// Makes all calls from the first descriptor to the product. With `kept`, an algorithm found before, skips the heuristic and the check of
/// the algorithm, like a program that keeps algorithms.
inline answer carry_out(const objects& on, const plan& p, const cublasLtMatmulAlgo_t* kept) {
  sequence call;
  descriptors d;
  create(call, p, d);
  layout &a = d.layouts[0], &b = d.layouts[1], &c = d.layouts[2], &result = d.layouts[3];
  cublasLtMatmulHeuristicResult_t first{}, checked{};
  if (kept == nullptr) {
    int found = 0;
    call("cublasLtMatmulAlgoGetHeuristic", [&] { return first_algorithm(on.lt, d, first, found); });
    if (call.ok() && found < 1) return {CUBLAS_STATUS_SUCCESS, {{"algorithms", std::int64_t{0}}}};
    call("cublasLtMatmulAlgoGetHeuristic", [&] { return first.state; });  // as its result says
    call("cublasLtMatmulAlgoCheck", [&] {
      return cublasLtMatmulAlgoCheck(on.lt, d.operation.get(), a.get(), b.get(), c.get(), result.get(),
                                     &first.algo, &checked);
    });
  }
  const lt_operands& at = p.on_device;
  call("cublasLtMatmul", [&] {
    return cublasLtMatmul(on.lt, d.operation.get(), at.alpha, at.a, a.get(), at.b, b.get(), at.beta, at.c,
                          c.get(), at.d, result.get(), kept == nullptr ? &first.algo : kept, on.workspace,
                          workspace_bytes, nullptr);
  });
  return call.came_to();
}

/// Makes all calls of a conversion.
inline answer carry_out(const objects& on, const conversion& p, const buffers& memory) {
  sequence call;
  lt_conversion operation;
  call("cublasLtMatrixTransformDescCreate", [&] {
    cublasLtMatrixTransformDesc_t created = nullptr;
    const auto status = cublasLtMatrixTransformDescCreate(&created, CUDA_R_32F);
    operation.reset(created);
    return status;
  });
  set(call, "cublasLtMatrixTransformDescSetAttribute", cublasLtMatrixTransformDescSetAttribute,
      operation.get(), p.operation);
  std::array<layout, 3> layouts;
  for (std::size_t i = 0; i < layouts.size(); ++i) create(call, p.matrices[i], layouts[i]);
  call("cublasLtMatrixTransform", [&] {
    return cublasLtMatrixTransform(on.lt, operation.get(), &one, memory.device(0), layouts[0].get(), &one,
                                   memory.device(1), layouts[1].get(), memory.device(2), layouts[2].get(),
                                   nullptr);
  });
  return call.came_to();
}

// ---- the product as argument_check describes it ----

/// A matrix with its attributes applied.
struct shape {
  matrix of;
  std::int64_t batch = 1, stride = 0;
};

/// Nullopt if argument_check does not represent one of the attributes.
inline std::optional<shape> shape_of(const matrix& x) {
  shape s{x};
  for (const setting& each : x.set) {
    if (each.attribute == CUBLASLT_MATRIX_LAYOUT_TYPE)
      s.of.type = static_cast<cudaDataType>(each.value);
    else if (each.attribute == CUBLASLT_MATRIX_LAYOUT_ROWS)
      s.of.rows = each.value;
    else if (each.attribute == CUBLASLT_MATRIX_LAYOUT_COLS)
      s.of.columns = each.value;
    else if (each.attribute == CUBLASLT_MATRIX_LAYOUT_LD)
      s.of.leading_dimension = each.value;
    else if (each.attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
      s.batch = each.value;
    else if (each.attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
      s.stride = each.value;
    else if (each.value != 0)
      return std::nullopt;
  }
  return s;
}

/// Nullopt if argument_check does not represent part of the plan.
inline std::optional<argument_check::product> described(const plan& p) {
  if (!p.preference.empty()) return std::nullopt;
  std::array<shape, 4> shapes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto known = shape_of(p.matrices[i]);
    if (!known) return std::nullopt;
    shapes[i] = *known;
  }
  const auto& [a, b, c, d] = shapes;
  const auto facts = [](const shape& s) {
    return std::tuple{s.of.type, s.of.rows, s.of.columns, s.of.leading_dimension, s.stride, s.batch};
  };
  if (facts(c) != facts(d) || a.batch != d.batch || b.batch != d.batch) return std::nullopt;
  // For argument_check an extent of -1 means that the caller does not state it.
  for (const shape& each : {a, b})
    if (each.of.rows == -1 || each.of.columns == -1) return std::nullopt;

  argument_check::product q;
  q.function = argument_check::entry::cublas_lt;
  q.compute = p.compute;
  q.scalar = p.scale;
  for (const setting& each : p.operation) {
    if (each.attribute == CUBLASLT_MATMUL_DESC_TRANSA)
      q.a_op = static_cast<cublasOperation_t>(each.value);
    else if (each.attribute == CUBLASLT_MATMUL_DESC_TRANSB)
      q.b_op = static_cast<cublasOperation_t>(each.value);
    else if (each.attribute == CUBLASLT_MATMUL_DESC_COMPUTE_TYPE)
      q.compute = static_cast<cublasComputeType_t>(each.value);
    else if (each.attribute == CUBLASLT_MATMUL_DESC_SCALE_TYPE)
      q.scalar = static_cast<cudaDataType>(each.value);
    else
      return std::nullopt;
  }
  q.m = d.of.rows;
  q.n = d.of.columns;
  // An operation outside its enumeration counts as not transposed.
  const int a_op = argument_check::detail::number(q.a_op);
  q.k = a_op == CUBLAS_OP_T || a_op == CUBLAS_OP_C ? a.of.rows : a.of.columns;
  q.batch = d.batch;
  const auto operand = [](const shape& s, const void* data) {
    return argument_check::matrix{data, s.of.type, s.of.leading_dimension, s.stride, s.of.rows, s.of.columns};
  };
  q.a = operand(a, p.on_device.a);
  q.b = operand(b, p.on_device.b);
  q.c = operand(d, p.on_device.d);
  q.alpha = p.on_device.alpha;
  q.beta = p.on_device.beta;
  return q;
}

}  // namespace cufault::lt_arguments
