// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product or a conversion by cuBLASLt with one wrong value in a layout, descriptor, preference or argument: which call
//              reports it, with which status, and whether the result was touched all the same.
// Why          A descriptor keeps what it is told. On H200, driver 580.159.04, cuBLAS 13.1.0, no SetAttribute refuses a value: what
//              contradicts another descriptor, batch counts included, is refused by the heuristic, and by cublasLtMatmul with an
//              algorithm found before. More than an int holds is not supported. Not refused: TRANSC outside its enumeration,
//              counts of multiprocessors, strides of C and D alike at which results overlap or leave the memory; by
//              cublasLtMatrixTransform leading dimensions below the rows, batch counts that differ, operations and pointer modes
//              outside their enumerations. Products of no rows or no columns and batches of none fail to execute. With an algorithm
//              found before it is another matter: TRANSA and TRANSB outside their enumeration and small strides, which all calls
//              together take, are not supported; a bias off its element, which the heuristic refuses, ends the kernel; a batch of none
//              writes C. Null scalars and scalars in device memory end the process, as do a null descriptor of the operation, null
//              results of the heuristic or fewer than it is asked for, and null layouts of what cublasLtMatrixTransform reads.
// Documented   cublasLt.h: SetAttribute and GetAttribute give CUBLAS_STATUS_INVALID_VALUE for no buffer and for a wrong size, as
//              they do; the heuristic for a count that is not positive; cublasLtMatmul for parameters in conflict;
//              cublasLtMatrixTransform for a matrix without its layout, which crashes; cublasLtMatmulAlgoInit for a number that is
//              no algorithm, of which -1 is taken; leading dimensions "large enough so that matrix memory locations are not
//              overlapping". cuBLAS library: a workspace aligned to 16 bytes; 256 are asked for. Reported: CUDALibrarySamples#185
//              (batch counts that differ). Release notes, issue 5645772, A and B of different batch counts not rejected: they are here.
//              A fill mode is reported as not supported on this architecture; it is CUBLAS_STATUS_INVALID_VALUE.
// What helps   Not measured here: this characterises. One batch count for all layouts clears the reported one.
//
// In what was written, C is the result: C and D of the product, the target of a conversion. "By" names the call that failed first.
#include "harness/kit/argument_table.hpp"
#include "harness/kit/lt_problem.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

// No two extents are alike, so that a leading dimension one too small for one operand is not right for another.
constexpr int m = 8, n = 12, k = 16, ld = 16;
constexpr std::int64_t stride = 16 * 16;
constexpr int batch = 2;
constexpr std::size_t workspace_bytes = 4 << 20;
const float one = 1, zero = 0;

// ---- what cuBLASLt is told ----

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

/// Everything that is said of one product, from the first descriptor to the last argument.
struct plan {
  std::string base{};  ///< words behind the name of every function: " TT"
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  std::vector<setting> operation{}, preference{};
  std::array<matrix, 4> matrices{};  ///< A, B, C, D
  lt_operands on_device{};
};

/// The same of a conversion, C = A + B.
struct conversion {
  std::vector<setting> operation{};
  std::array<matrix, 3> matrices{};
};

lt_operands operands_of(const buffers& b) {
  return {&one, b.device(0), b.device(1), &zero, b.device(2), b.device(2)};
}

plan plain(const buffers& b) {
  plan p;
  p.matrices = {{{.rows = m, .columns = k},
                 {.rows = k, .columns = n},
                 {.rows = m, .columns = n},
                 {.rows = m, .columns = n}}};
  p.on_device = operands_of(b);
  return p;
}

plan transposed(const buffers& b) {
  plan p = plain(b);
  p.base = " TT";
  for (matrix* each : {&p.matrices[0], &p.matrices[1]}) std::swap(each->rows, each->columns);
  for (const int which : {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB})
    p.operation.push_back({which, CUBLAS_OP_T, sizeof(std::int32_t)});
  return p;
}

plan batched(const buffers& b) {
  plan p = plain(b);
  p.base = " in a batch";
  for (matrix& each : p.matrices)
    each.set = {{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch, sizeof(std::int32_t)},
                {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride, sizeof(std::int64_t)}};
  return p;
}

/// An address as the value of an attribute.
std::int64_t address(const void* p, std::size_t off = 0) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) + off);
}

/// A bias of the first numbers of B.
plan biased(const buffers& b) {
  plan p = plain(b);
  p.base = " with a bias";
  p.operation = {{CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, sizeof(std::uint32_t)},
                 {CUBLASLT_MATMUL_DESC_BIAS_POINTER, address(b.device(1)), sizeof(void*)}};
  return p;
}

// ---- the calls ----

/// Calls one after the other, until one fails.
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

/// Either created, and destroyed in the end, or made in place.
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

void create(sequence& call, const matrix& of, layout& made) {
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

/// What a plan is made into, as far as the calls succeed.
struct descriptors {
  lt_operation operation{};
  lt_preference preference{};
  std::array<layout, 4> layouts{};
};

void create(sequence& call, const plan& p, descriptors& made) {
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

cublasStatus_t first_algorithm(cublasLtHandle_t lt, descriptors& d, cublasLtMatmulHeuristicResult_t& first,
                               int& found) {
  return cublasLtMatmulAlgoGetHeuristic(lt, d.operation.get(), d.layouts[0].get(), d.layouts[1].get(),
                                        d.layouts[2].get(), d.layouts[3].get(), d.preference.get(), 1, &first,
                                        &found);
}

/// What all rows of a process share: given back by its end.
struct objects {
  cublasLtHandle_t lt = nullptr;
  std::byte* workspace = nullptr;
};
const objects& objects_of(const buffers& b) {
  static const objects none{};
  if (b.device(0) == nullptr) return none;
  static const objects made = [] {
    void* memory = nullptr;
    CUFAULT_REQUIRE(cudaMalloc(&memory, workspace_bytes));
    return objects{new_lt_handle(), static_cast<std::byte*>(memory)};
  }();
  return made;
}

/// Descriptors and an algorithm for a plan that is valid, for calls that are handed them. Without memory: none.
struct prepared {
  descriptors made{};
  cublasLtMatmulAlgo_t algorithm{};
};
std::shared_ptr<prepared> prepare(const plan& p, const buffers& b) {
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

/// All calls from the first descriptor to the product; or, with an algorithm that was found before, without the heuristic and its
/// check, as a program does that keeps algorithms.
answer carry_out(const objects& on, const plan& p, const cublasLtMatmulAlgo_t* kept) {
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

answer carry_out(const objects& on, const conversion& p, const buffers& memory) {
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

// ---- what a check beforehand gets to see ----

struct shape {
  matrix of;
  std::int64_t batch = 1, stride = 0;
};

/// None where argument_check has no word for it.
std::optional<shape> shape_of(const matrix& x) {
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

std::optional<argument_check::product> described(const plan& p) {
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
  // To argument_check an extent of -1 is one that the caller does not state.
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
  // What is no operation is taken for none.
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

// ---- what is changed ----

/// Another value of an attribute.
struct value {
  std::string words;
  std::int64_t number = 0;
  bool wrong = false;  ///< contradicts the documentation, by itself or by what the rest of the plan is
};
struct attribute {
  const char* name;
  int number;
  std::size_t bytes;
  std::int64_t usual;
  role what;
  std::vector<value> others{};
};

const std::vector<value> no_enumerators{{"of 99", 99, true}, {"of -1", -1, true}};
std::vector<value> enumerators(std::vector<value> more = {}) {
  more.insert(more.begin(), no_enumerators.begin(), no_enumerators.end());
  return more;
}

constexpr std::int64_t more_than_an_int = std::int64_t{1} << 31;

std::vector<attribute> attributes_of(const matrix& x) {
  const std::vector<value> types = enumerators({{"CUDA_R_64F", CUDA_R_64F}, {"CUDA_R_16F", CUDA_R_16F}});
  const std::vector<value> orders = enumerators({{"ROW", CUBLASLT_ORDER_ROW},
                                                 {"COL32", CUBLASLT_ORDER_COL32},
                                                 {"COL4_4R2_8C", CUBLASLT_ORDER_COL4_4R2_8C},
                                                 {"COL32_2R_4R4", CUBLASLT_ORDER_COL32_2R_4R4}});
  const std::vector<value> dimensions{{"one too small", x.rows - 1, true},
                                      {"of 0", 0, true},
                                      {"of -1", -1, true},
                                      {"huge", more_than_an_int, true}};
  const std::vector<value> counts{
      {"of 0", 0}, {"of -1", -1, true}, {"of 2", 2, true}, {"huge", 0x7fffffff, true}};
  const std::vector<value> strides{{"of 1", 1}, {"of -1", -1}};
  const std::vector<value> planes{{"of 1", 1}, {"of -1", -1}, {"of 4096", 4096}};
  const auto extents = [](std::int64_t is) -> std::vector<value> {
    return {{"of 0", 0, true},
            {"one too small", is - 1, true},
            {"one too large", is + 1, true},
            {"huge", more_than_an_int, true},
            {"of -1", -1, true}};
  };
  return {{"TYPE", CUBLASLT_MATRIX_LAYOUT_TYPE, 4, x.type, role::enumeration, types},
          {"ORDER", CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL, role::enumeration, orders},
          {"ROWS", CUBLASLT_MATRIX_LAYOUT_ROWS, 8, x.rows, role::size, extents(x.rows)},
          {"COLS", CUBLASLT_MATRIX_LAYOUT_COLS, 8, x.columns, role::size, extents(x.columns)},
          {"LD", CUBLASLT_MATRIX_LAYOUT_LD, 8, x.leading_dimension, role::leading_dimension, dimensions},
          {"BATCH_COUNT", CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1, role::count, counts},
          {"STRIDED_BATCH_OFFSET", CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0, role::stride, strides},
          {"PLANE_OFFSET", CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 8, 0, role::kept, planes}};
}

/// The same in a batch of two. A and B may share one matrix, results may not.
std::vector<attribute> attributes_in_batch(bool of_result) {
  const std::vector<value> counts{
      {"of 0", 0, true}, {"of -1", -1, true}, {"of 1", 1, true}, {"of 3", 3, true}};
  const std::vector<value> strides{{"of 0", 0, of_result},
                                   {"of 1", 1, of_result},
                                   {"of -1", -1, of_result},
                                   {"huge", std::int64_t{1} << 40, true}};
  const role what = of_result ? role::output_stride : role::stride;
  return {{"BATCH_COUNT", CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, batch, role::count, counts},
          {"STRIDED_BATCH_OFFSET", CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, stride, what, strides}};
}

/// Of the pointers to scales and maxima the header says: set for types that have none, cublasLtMatmul refuses.
std::vector<attribute> attributes_of_operation(const buffers& b) {
  using which = cublasLtMatmulDescAttributes_t;
  using values = std::vector<value>;
  const std::int64_t scalar = address(b.device_scalar());
  const auto choice = [](const char* name, which number, std::int64_t usual, const values& others) {
    return attribute{name, number, 4, usual, role::enumeration, enumerators(others)};
  };
  const auto pointer = [&](const char* name, which number, bool wrong) {
    return attribute{name, number, 8, 0, role::input, {{"set", scalar, wrong}}};
  };
  const auto stride_of = [](const char* name, which number) {
    return attribute{name, number, 8, 0, role::stride, {{"of 1", 1}, {"of -1", -1}}};
  };
  const auto type_of = [](const char* name, which number) {
    return attribute{
        name, number, 4, -1, role::enumeration, {{"of 99", 99, true}, {"CUDA_R_64F", CUDA_R_64F}}};
  };
  const values computes{{"CUBLAS_COMPUTE_16F", CUBLAS_COMPUTE_16F},
                        {"CUBLAS_COMPUTE_64F", CUBLAS_COMPUTE_64F},
                        {"CUBLAS_COMPUTE_32F_FAST_TF32", CUBLAS_COMPUTE_32F_FAST_TF32}};
  const values scales{{"CUDA_R_16F", CUDA_R_16F}, {"CUDA_R_64F", CUDA_R_64F}};
  const values modes{{"DEVICE", CUBLASLT_POINTER_MODE_DEVICE},
                     {"DEVICE_VECTOR", CUBLASLT_POINTER_MODE_DEVICE_VECTOR},
                     {"ALPHA_DEVICE_VECTOR_BETA_ZERO", CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO},
                     {"ALPHA_DEVICE_VECTOR_BETA_HOST", CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST}};
  const values turned{{"CUBLAS_OP_T", CUBLAS_OP_T, true}, {"CUBLAS_OP_CONJG", CUBLAS_OP_CONJG, true}};
  const values fills{{"LOWER", CUBLAS_FILL_MODE_LOWER}, {"UPPER", CUBLAS_FILL_MODE_UPPER}};
  const values epilogues{{"of 0", 0, true},
                         {"RELU", CUBLASLT_EPILOGUE_RELU},
                         {"GELU", CUBLASLT_EPILOGUE_GELU},
                         {"BIAS, without a pointer", CUBLASLT_EPILOGUE_BIAS, true},
                         {"RELU_AUX, without a pointer", CUBLASLT_EPILOGUE_RELU_AUX, true},
                         {"BGRADB, without a pointer", CUBLASLT_EPILOGUE_BGRADB, true}};
  const values multiprocessors{{"of -1", -1, true}, {"of 1", 1}, {"more than there are", 100000, true}};
  const values flags{{"of 1", 1}, {"of 2", 2}, {"of -1", -1}};
  return {choice("COMPUTE_TYPE", CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F, computes),
          choice("SCALE_TYPE", CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_32F, scales),
          choice("POINTER_MODE", CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST, modes),
          choice("TRANSA", CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N, turned),
          choice("TRANSB", CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N, turned),
          choice("TRANSC", CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_N, turned),
          choice("FILL_MODE", CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL, fills),
          choice("EPILOGUE", CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT, epilogues),
          pointer("BIAS_POINTER", CUBLASLT_MATMUL_DESC_BIAS_POINTER, false),
          stride_of("BIAS_BATCH_STRIDE", CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE),
          pointer("EPILOGUE_AUX_POINTER", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, false),
          stride_of("EPILOGUE_AUX_LD", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD),
          stride_of("EPILOGUE_AUX_BATCH_STRIDE", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE),
          stride_of("ALPHA_VECTOR_BATCH_STRIDE", CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE),
          {"SM_COUNT_TARGET", CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4, 0, role::count, multiprocessors},
          pointer("A_SCALE_POINTER", CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, true),
          pointer("B_SCALE_POINTER", CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, true),
          pointer("C_SCALE_POINTER", CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, true),
          pointer("D_SCALE_POINTER", CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, true),
          pointer("AMAX_D_POINTER", CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, true),
          type_of("EPILOGUE_AUX_DATA_TYPE", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE),
          pointer("EPILOGUE_AUX_SCALE_POINTER", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, true),
          pointer("EPILOGUE_AUX_AMAX_POINTER", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, true),
          {"FAST_ACCUM", CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1, 0, role::kept, flags},
          type_of("BIAS_DATA_TYPE", CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)};
}

std::int64_t bits_of(float x) {
  std::int32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

std::vector<attribute> attributes_of_preference() {
  const auto alignment = [](const char* name, cublasLtMatmulPreferenceAttributes_t which) {
    return attribute{name, which, 4, 256, role::kept, {{"of 0", 0}, {"of 1", 1}, {"of 3", 3}, {"of -1", -1}}};
  };
  const std::vector<value> modes =
      enumerators({{"LIMITED_BY_ALGO_ID, without one", CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID, true}});
  const std::vector<value> sizes{{"of 1", 1}, {"of all there is", -1}};
  const std::vector<value> schemes{{"of 0", 0}, {"of 8", 8, true}, {"of -1", -1}};
  const std::vector<value> waves{
      {"of -1", bits_of(-1)}, {"of 0.001", bits_of(0.001F)}, {"not a number", 0x7fc00000}};
  constexpr auto all_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  return {{"SEARCH_MODE", CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4, CUBLASLT_SEARCH_BEST_FIT, role::enumeration,
           modes},
          {"MAX_WORKSPACE_BYTES", CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8, 0, role::kept, sizes},
          {"REDUCTION_SCHEME_MASK", CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4, all_schemes,
           role::enumeration, schemes},
          alignment("MIN_ALIGNMENT_A_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
          alignment("MIN_ALIGNMENT_B_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
          alignment("MIN_ALIGNMENT_C_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
          alignment("MIN_ALIGNMENT_D_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES),
          {"MAX_WAVES_COUNT", CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4, bits_of(0), role::kept, waves},
          {"IMPL_MASK", CUBLASLT_MATMUL_PREF_IMPL_MASK, 8, -1, role::kept, {{"of 0", 0}}}};
}

std::vector<attribute> attributes_of_conversion() {
  using which = cublasLtMatrixTransformDescAttributes_t;
  const auto choice = [](const char* name, which number, std::int64_t usual,
                         const std::vector<value>& others) {
    return attribute{name, number, 4, usual, role::enumeration, enumerators(others)};
  };
  const std::vector<value> turned{{"CUBLAS_OP_T", CUBLAS_OP_T, true}};
  return {choice("SCALE_TYPE", CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, CUDA_R_32F,
                 {{"CUDA_R_64F", CUDA_R_64F}}),
          choice("POINTER_MODE", CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST,
                 {{"DEVICE", CUBLASLT_POINTER_MODE_DEVICE}}),
          choice("TRANSA", CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, CUBLAS_OP_N, turned),
          choice("TRANSB", CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, CUBLAS_OP_N, turned)};
}

// ---- rows of many calls ----

/// A plan or a conversion with one thing changed; nothing, where there is no argument.
template <class P>
struct altered {
  std::string function, argument, change;
  role what = role::kept;
  bool wrong = false;
  P all{};
};

/// Every other value of every attribute, where `settings_of` finds them in what is altered; the usual values are valid.
template <class P, class Settings>
void alter(std::vector<altered<P>>& rows, const P& base, const std::string& function, const std::string& of,
           const std::vector<attribute>& attributes, const Settings& settings_of) {
  for (const attribute& each : attributes) {
    const std::string argument = of + each.name;
    const auto with = [&](std::int64_t number) {
      P changed = base;
      for (std::vector<setting>* settings : settings_of(changed))
        settings->push_back({each.number, number, each.bytes});
      return changed;
    };
    rows.push_back({function + " " + argument + " as it is", "", "", role::kept, false, with(each.usual)});
    for (const value& other : each.others)
      rows.push_back({function, argument, other.words, each.what, other.wrong, with(other.number)});
  }
}

/// Which of the matrices are changed together. D alone then contradicts C, which is in the same place.
struct target {
  const char* name;
  std::vector<std::size_t> which;
};
const target a_only{"A ", {0}}, b_only{"B ", {1}}, result{"C and D ", {2, 3}}, d_only{"D ", {3}};

template <class P>
auto settings_of(const std::vector<std::size_t>& which) {
  return [which](P& changed) {
    std::vector<std::vector<setting>*> all;
    for (const std::size_t i : which) all.push_back(&changed.matrices[i].set);
    return all;
  };
}

using altered_plans = std::vector<altered<plan>>;

/// What cublasLtMatrixLayoutCreate is told, or cublasLtMatrixLayoutInit.
void alter_creation(altered_plans& rows, const plan& base, const target& of, bool in_place) {
  const auto add = [&](const char* argument, const char* change, role what, const auto& make) {
    altered<plan> row{in_place ? "cublasLtMatrixLayoutInit" : "cublasLtMatrixLayoutCreate",
                      std::string(of.name) + argument,
                      change,
                      what,
                      true,
                      base};
    for (const std::size_t i : of.which) {
      row.all.matrices[i].in_place = in_place;
      make(row.all.matrices[i]);
    }
    rows.push_back(std::move(row));
  };
  add("type", "of 99", role::enumeration, [](matrix& x) { x.type = static_cast<cudaDataType>(99); });
  add("type", "of -1", role::enumeration, [](matrix& x) { x.type = static_cast<cudaDataType>(-1); });
  add("rows", "of 0", role::size, [](matrix& x) { x.rows = 0; });
  add("rows", "of -1", role::size, [](matrix& x) { x.rows = -1; });
  add("rows", "one too many", role::size, [](matrix& x) { ++x.rows; });
  add("cols", "of 0", role::size, [](matrix& x) { x.columns = 0; });
  add("cols", "of -1", role::size, [](matrix& x) { x.columns = -1; });
  add("cols", "one too many", role::size, [](matrix& x) { ++x.columns; });
  add("ld", "one too small", role::leading_dimension, [](matrix& x) { x.leading_dimension = x.rows - 1; });
  add("ld", "of 0", role::leading_dimension, [](matrix& x) { x.leading_dimension = 0; });
  add("ld", "of -1", role::leading_dimension, [](matrix& x) { x.leading_dimension = -1; });
}

altered_plans created(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  for (const target& each : {a_only, b_only, result}) alter_creation(rows, base, each, false);
  return rows;
}

altered_plans laid_out(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  for (const target& each : {a_only, b_only, result, d_only})
    alter(rows, base, "cublasLtMatrixLayoutSetAttribute", each.name,
          attributes_of(base.matrices[each.which.front()]), settings_of<plan>(each.which));
  return rows;
}

/// A layout made in place; then empty products, all of whose layouts agree: legal quick returns in cuBLAS.
altered_plans in_place_and_empty(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  alter_creation(rows, base, a_only, true);
  const auto empty = [&](const char* extent, const auto& make) {
    plan p = base;
    make(p.matrices);
    rows.push_back({"cublasLtMatrixLayoutCreate", std::string(extent) + " of all", "of 0", role::size, false,
                    std::move(p)});
  };
  empty("m", [](auto& x) { x[0].rows = x[2].rows = x[3].rows = 0; });
  empty("n", [](auto& x) { x[1].columns = x[2].columns = x[3].columns = 0; });
  empty("k", [](auto& x) { x[0].columns = x[1].rows = 0; });
  return rows;
}

altered_plans batches(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  const std::string function = "cublasLtMatrixLayoutSetAttribute";
  for (const target& each : {a_only, b_only, result, d_only})
    alter(rows, base, function, each.name, attributes_in_batch(each.which.back() == 3),
          settings_of<plan>(each.which));
  plan none = base;
  for (matrix& each : none.matrices)
    each.set.push_back({CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 0, sizeof(std::int32_t)});
  rows.push_back({function, "BATCH_COUNT of all", "of 0", role::count, false, std::move(none)});
  return rows;
}

altered_plans operations(const plan& base, const buffers& b) {
  altered_plans rows;
  alter(rows, base, "cublasLtMatmulDescSetAttribute", "", attributes_of_operation(b),
        [](plan& p) { return std::vector{&p.operation}; });
  const auto create = [&](const char* argument, const value& of, const auto& make) {
    altered<plan> row{"cublasLtMatmulDescCreate", argument, of.words, role::enumeration, of.wrong, base};
    make(row.all, of.number);
    rows.push_back(std::move(row));
  };
  for (const value& each : enumerators({{"CUBLAS_COMPUTE_16F", CUBLAS_COMPUTE_16F}}))
    create("computeType", each,
           [](plan& p, std::int64_t x) { p.compute = static_cast<cublasComputeType_t>(x); });
  for (const value& each : enumerators({{"CUDA_R_64F", CUDA_R_64F}}))
    create("scaleType", each, [](plan& p, std::int64_t x) { p.scale = static_cast<cudaDataType>(x); });
  return rows;
}

altered_plans biases(const plan& base, const buffers& b) {
  const auto* const at = b.device(1);
  std::vector<value> addresses{
      {"null", 0, true}, {"in host memory", address(b.host()), true}, {"freed", address(b.freed()), true}};
  for (const int by : {1, 2, 4, 8}) addresses.push_back({fmt::format("off by {}", by), address(at, by)});
  const std::vector<value> types{{"of 99", 99, true}, {"CUDA_R_16F", CUDA_R_16F}};
  altered_plans rows;
  alter(rows, base, "cublasLtMatmulDescSetAttribute", "",
        {{"BIAS_POINTER", CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, address(at), role::input, addresses},
         {"BIAS_DATA_TYPE", CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4, -1, role::enumeration, types}},
        [](plan& p) { return std::vector{&p.operation}; });
  return rows;
}

altered_plans preferences(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  alter(rows, base, "cublasLtMatmulPreferenceSetAttribute", "", attributes_of_preference(),
        [](plan& p) { return std::vector{&p.preference}; });
  return rows;
}

/// Which calls a plan goes through.
enum class by { all_calls, product_alone };

row_maker plans(plan (*base_of)(const buffers&), altered_plans (*changes)(const plan&, const buffers&),
                by which) {
  return [=](cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
    const objects& on = objects_of(b);
    const plan base = base_of(b);
    const bool alone = which == by::product_alone;
    const std::shared_ptr<prepared> before = alone ? prepare(base, b) : nullptr;
    altered_plans changed = changes(base, b);
    // That usual values are taken is seen once, with all calls.
    if (alone) std::erase_if(changed, [](const auto& each) { return each.argument.empty(); });
    changed.insert(changed.begin(), {alone ? "cublasLtMatmulAlgoGetHeuristic" : "cublasLtMatmul", "", "",
                                     role::kept, false, base});
    std::vector<row> rows;
    for (altered<plan>& each : changed) {
      const std::string function = (alone ? "cublasLtMatmul after " : "") + each.function + base.base;
      auto beforehand = described(each.all);
      // An algorithm may ask for more alignment than the strides leave: of that argument_check knows nothing.
      if (alone && each.argument.ends_with("STRIDED_BATCH_OFFSET")) beforehand.reset();
      rows.push_back({function, each.argument, each.change,
                      [&on, before, p = std::move(each.all)] {
                        return carry_out(on, p, before ? &before->algorithm : nullptr);
                      },
                      each.what, each.wrong, beforehand});
    }
    return rows;
  };
}

std::vector<row> conversions(cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
  conversion base;
  base.matrices.fill({.rows = m, .columns = n});
  std::vector<altered<conversion>> changed{{"cublasLtMatrixTransform", "", "", role::kept, false, base}};
  alter(changed, base, "cublasLtMatrixTransformDescSetAttribute", "", attributes_of_conversion(),
        [](conversion& p) { return std::vector{&p.operation}; });
  for (const target& each : {a_only, target{"C ", {2}}})
    alter(changed, base, "cublasLtMatrixLayoutSetAttribute", each.name, attributes_of(base.matrices[0]),
          settings_of<conversion>(each.which));
  // Two billion conversions are no failure, and take longer than a row may last.
  std::erase_if(changed,
                [](const auto& each) { return each.argument == "C BATCH_COUNT" && each.change == "huge"; });
  std::vector<row> rows;
  for (altered<conversion>& each : changed) {
    const bool first = rows.empty();
    rows.push_back({first ? each.function : "cublasLtMatrixTransform after " + each.function, each.argument,
                    each.change,
                    [&on = objects_of(b), &b, p = std::move(each.all)] { return carry_out(on, p, b); },
                    each.what, each.wrong});
  }
  return rows;
}

// ---- rows of one call ----

/// How an attribute is handed over and asked for: no buffer, wrong sizes. `create` makes a descriptor of the row's own.
template <class Owned, class Descriptor, class Attribute, class Create>
void hand_over(std::vector<row>& rows, const std::string& prefix, const std::vector<attribute>& attributes,
               cublasStatus_t (*set)(Descriptor, Attribute, const void*, std::size_t),
               cublasStatus_t (*get)(Descriptor, Attribute, void*, std::size_t, std::size_t*),
               Create create) {
  // More than any value takes, so that a size that is believed harms nothing.
  using room = std::array<std::int64_t, 4>;
  const auto with_own = [create](const auto& call) {
    Descriptor made = nullptr;
    CUFAULT_REQUIRE(create(&made));
    const Owned owned(made);
    return call(made);
  };
  const auto add = [&](const std::string& function, const std::string& argument, const std::string& change,
                       role what, const auto& call) {
    rows.push_back({function, argument, change, [=] { return with_own(call); }, what, !argument.empty()});
  };
  for (const attribute& each : attributes) {
    const auto which = static_cast<Attribute>(each.number);
    const std::size_t bytes = each.bytes;
    const std::string name = fmt::format(" {}", each.name), setter = prefix + "SetAttribute" + name,
                      getter = prefix + "GetAttribute" + name;
    const auto set_bytes = [=, usual = each.usual](std::size_t size) {
      return [=](Descriptor d) {
        const room from{usual};
        return set(d, which, from.data(), size);
      };
    };
    const auto get_bytes = [=](std::size_t size) {
      return [=](Descriptor d) {
        room to{};
        std::size_t written = 0;
        return get(d, which, to.data(), size, &written);
      };
    };
    add(setter, "buf", "null", role::host_array, [=](Descriptor d) { return set(d, which, nullptr, bytes); });
    add(setter, "sizeInBytes", "one too large", role::bytes, set_bytes(bytes + 1));
    add(getter, "", "", role::kept, get_bytes(bytes));
    add(getter, "sizeInBytes", "one too large", role::bytes, get_bytes(bytes + 1));
  }
  const std::size_t bytes = attributes.front().bytes;
  for (const int number : {99, -1}) {
    const auto which = static_cast<Attribute>(number);
    add(prefix + "SetAttribute", "attr", fmt::format("of {}", number), role::enumeration, [=](Descriptor d) {
      const room from{};
      return set(d, which, from.data(), bytes);
    });
    add(prefix + "GetAttribute", "attr", fmt::format("of {}", number), role::enumeration, [=](Descriptor d) {
      room to{};
      return get(d, which, to.data(), bytes, nullptr);
    });
  }
  const auto first = static_cast<Attribute>(attributes.front().number);
  add(prefix + "SetAttribute", "descriptor", "null", role::handle, [=](Descriptor) {
    const room from{};
    return set(nullptr, first, from.data(), bytes);
  });
  add(prefix + "GetAttribute", "descriptor", "null", role::handle, [=](Descriptor) {
    room to{};
    return get(nullptr, first, to.data(), bytes, nullptr);
  });
}

std::vector<row> handed_over(cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
  std::vector<row> rows;
  hand_over<lt_layout>(
      rows, "cublasLtMatrixLayout", attributes_of({.rows = m, .columns = k}),
      cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutGetAttribute,
      [](cublasLtMatrixLayout_t* made) { return cublasLtMatrixLayoutCreate(made, CUDA_R_32F, m, k, ld); });
  hand_over<lt_operation>(rows, "cublasLtMatmulDesc", attributes_of_operation(b),
                          cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute,
                          [](cublasLtMatmulDesc_t* made) {
                            return cublasLtMatmulDescCreate(made, CUBLAS_COMPUTE_32F, CUDA_R_32F);
                          });
  hand_over<lt_preference>(rows, "cublasLtMatmulPreference", attributes_of_preference(),
                           cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceGetAttribute,
                           cublasLtMatmulPreferenceCreate);
  hand_over<lt_conversion>(rows, "cublasLtMatrixTransformDesc", attributes_of_conversion(),
                           cublasLtMatrixTransformDescSetAttribute, cublasLtMatrixTransformDescGetAttribute,
                           [](cublasLtMatrixTransformDesc_t* made) {
                             return cublasLtMatrixTransformDescCreate(made, CUDA_R_32F);
                           });
  return rows;
}

constexpr int most_ids = 4096;
/// Where the calls put what they are asked for.
struct asked {
  std::array<cublasLtMatmulHeuristicResult_t, 1024> results{};
  std::array<int, most_ids> ids{};
  int count = 0;
  int property = 0;
  cublasLtMatmulAlgo_t algorithm{};
};
asked answers;

/// The heuristic and the functions below it.
std::vector<row> functions(cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
  const objects& on = objects_of(b);
  const auto valid = prepare(plain(b), b);
  descriptors& d = valid->made;
  const bool without_memory = b.device(0) == nullptr;
  const auto layout_at = [&](std::size_t i) { return without_memory ? nullptr : d.layouts[i].get(); };
  std::vector<row> rows;
  // Keeps what the rows are handed.
  const auto add = [&](std::vector<row> more) {
    for (row& r : more) {
      r.call = [valid, call = std::move(r.call)] { return call(); };
      rows.push_back(std::move(r));
    }
  };
  const argument lt{"lightHandle", role::handle}, requested{"requestedAlgoCount", role::count},
      found{"returnAlgoCount", role::host_output};
  std::vector<argument> problem{lt};
  for (const char* name : {"operationDesc", "Adesc", "Bdesc", "Cdesc", "Ddesc"})
    problem.push_back({name, role::handle});
  std::vector<argument> types{lt};
  for (const char* name : {"computeType", "scaleType", "Atype", "Btype", "Ctype", "Dtype"})
    types.push_back({name, role::enumeration});
  const auto with = [](std::vector<argument> all, std::initializer_list<argument> more) {
    all.insert(all.end(), more);
    return all;
  };

  add(rows_of(
      "cublasLtMatmulAlgoGetHeuristic", cublasLtMatmulAlgoGetHeuristic,
      with(problem,
           {{"preference", role::handle}, requested, {"heuristicResultsArray", role::host_output}, found}),
      b, how_deep, on.lt, d.operation.get(), layout_at(0), layout_at(1), layout_at(2), layout_at(3),
      d.preference.get(), 1, answers.results.data(), &answers.count));
  add(rows_of("cublasLtMatmulAlgoCheck", cublasLtMatmulAlgoCheck,
              with(problem, {{"algo", role::handle}, {"result", role::host_output}}), b, how_deep, on.lt,
              d.operation.get(), layout_at(0), layout_at(1), layout_at(2), layout_at(3), &valid->algorithm,
              answers.results.data()));
  add(rows_of("cublasLtMatmulAlgoGetIds", cublasLtMatmulAlgoGetIds,
              with(types, {requested, {"algoIdsArray", role::host_output}, found}), b, how_deep, on.lt,
              CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, most_ids,
              answers.ids.data(), &answers.count));
  if (!without_memory)
    CUFAULT_REQUIRE(cublasLtMatmulAlgoGetIds(on.lt, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                             CUDA_R_32F, CUDA_R_32F, 1, answers.ids.data(), &answers.count));
  add(rows_of("cublasLtMatmulAlgoInit", cublasLtMatmulAlgoInit,
              with(types, {{"algoId", role::size}, {"algo", role::host_output}}), b, how_deep, on.lt,
              CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, answers.ids[0],
              &answers.algorithm));
  add({{"cublasLtMatmulAlgoCheck", "algo", "of zeros",
        [&on, &d] {
          const cublasLtMatmulAlgo_t zeros{};
          return cublasLtMatmulAlgoCheck(on.lt, d.operation.get(), d.layouts[0].get(), d.layouts[1].get(),
                                         d.layouts[2].get(), d.layouts[3].get(), &zeros,
                                         answers.results.data());
        },
        role::handle, true}});
  return rows;
}

/// No place for what is created, and nothing to destroy.
std::vector<row> creations(cublasHandle_t /*handle*/, const buffers& /*b*/, depth /*how_deep*/) {
  std::vector<row> rows;
  const auto place = [&](const char* function, const auto& call) {
    rows.push_back({function, "place", "null", call, role::host_output, true});
  };
  const auto nothing = [&](const char* function, const auto& call) {
    rows.push_back({function, "descriptor", "null", call, role::handle, false});
  };
  place("cublasLtCreate", [] { return cublasLtCreate(nullptr); });
  place("cublasLtMatrixLayoutCreate",
        [] { return cublasLtMatrixLayoutCreate(nullptr, CUDA_R_32F, m, k, ld); });
  place("cublasLtMatrixLayoutInit", [] { return cublasLtMatrixLayoutInit(nullptr, CUDA_R_32F, m, k, ld); });
  place("cublasLtMatmulDescCreate",
        [] { return cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F); });
  place("cublasLtMatmulPreferenceCreate", [] { return cublasLtMatmulPreferenceCreate(nullptr); });
  place("cublasLtMatrixTransformDescCreate",
        [] { return cublasLtMatrixTransformDescCreate(nullptr, CUDA_R_32F); });
  place("cublasLtGetProperty", [] { return cublasLtGetProperty(MAJOR_VERSION, nullptr); });
  nothing("cublasLtDestroy", [] { return cublasLtDestroy(nullptr); });
  nothing("cublasLtMatrixLayoutDestroy", [] { return cublasLtMatrixLayoutDestroy(nullptr); });
  nothing("cublasLtMatmulDescDestroy", [] { return cublasLtMatmulDescDestroy(nullptr); });
  nothing("cublasLtMatmulPreferenceDestroy", [] { return cublasLtMatmulPreferenceDestroy(nullptr); });
  nothing("cublasLtMatrixTransformDescDestroy", [] { return cublasLtMatrixTransformDescDestroy(nullptr); });
  rows.push_back({"cublasLtGetProperty", "type", "of 99",
                  [] { return cublasLtGetProperty(static_cast<libraryPropertyType>(99), &answers.property); },
                  role::enumeration, true});
  rows.push_back({"cublasLtMatrixLayoutInit", "size", "too small",
                  [] {
                    cublasLtMatrixLayoutOpaque_t at{};
                    return cublasLtMatrixLayoutInit_internal(&at, sizeof at / 2, CUDA_R_32F, m, k, ld);
                  },
                  role::bytes, true});
  return rows;
}

std::vector<row> products(cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
  const std::string name = "cublasLtMatmul with everything given";
  const objects& on = objects_of(b);
  const auto valid = prepare(plain(b), b);
  descriptors& d = valid->made;
  const bool without_memory = b.device(0) == nullptr;
  const auto layout_at = [&](std::size_t i) { return without_memory ? nullptr : d.layouts[i].get(); };
  const std::vector<argument> names{
      {"lightHandle", role::handle}, {"computeDesc", role::handle}, {"alpha", role::scalar},
      {"A", role::input, 0, 0},      {"Adesc", role::handle},       {"B", role::input, 0, 1},
      {"Bdesc", role::handle},       {"beta", role::scalar},        {"C", role::input, 0, 2},
      {"Cdesc", role::handle},       {"D", role::output, 0, 2},     {"Ddesc", role::handle},
      {"algo", role::kept},          {"workspace", role::kept},     {"workspaceSizeInBytes", role::kept},
      {"stream", role::kept}};
  const auto call_with = [&on, valid, b = operands_of(b)](const cublasLtMatmulAlgo_t* algorithm,
                                                          void* workspace, std::size_t bytes,
                                                          cudaStream_t stream) {
    descriptors& all = valid->made;
    return cublasLtMatmul(on.lt, all.operation.get(), b.alpha, b.a, all.layouts[0].get(), b.b,
                          all.layouts[1].get(), b.beta, b.c, all.layouts[2].get(), b.d, all.layouts[3].get(),
                          algorithm, workspace, bytes, stream);
  };
  auto rows = described_rows_of(described(plain(b)), name, cublasLtMatmul, names, b, how_deep, on.lt,
                                d.operation.get(), &one, b.device(0), layout_at(0), b.device(1), layout_at(1),
                                &zero, b.device(2), layout_at(2), b.device(2), layout_at(3),
                                &valid->algorithm, on.workspace, workspace_bytes, cudaStream_t{});
  for (row& r : rows) {
    r.call = [valid, call = std::move(r.call)] { return call(); };
    // Another C than D is not described, and with a beta of 0 any will do.
    if (r.argument == "C") r.described.reset(), r.wrong = false;
    // What comes of A or B in the place of the result is a matter of its numbers, which are not looked at.
    if (r.change == "that of C" || (r.argument == "D" && r.change.starts_with("that of")))
      r.described.reset();
  }

  const auto add = [&](const char* argument_name, const std::string& change, role what, bool wrong,
                       const auto& call) {
    rows.push_back({name, argument_name, change, call, what, wrong});
  };
  const auto workspace = [&](const std::string& change, void* at, std::size_t bytes, bool wrong) {
    add("workspace", change, role::input, wrong,
        [=] { return call_with(&valid->algorithm, at, bytes, nullptr); });
  };
  const auto off_by = [&](std::size_t by) { return without_memory ? nullptr : on.workspace + by; };
  add("algo", "null", role::algorithm, false,
      [=, &on] { return call_with(nullptr, on.workspace, workspace_bytes, nullptr); });
  add("algo", "of zeros", role::algorithm, true, [=, &on] {
    const cublasLtMatmulAlgo_t zeros{};
    return call_with(&zeros, on.workspace, workspace_bytes, nullptr);
  });
  workspace("null", nullptr, workspace_bytes, true);
  workspace("null, of no bytes", nullptr, 0, false);
  workspace("of no bytes", on.workspace, 0, false);
  workspace("of all there is", on.workspace, ~std::size_t{0}, true);
  // Aligned, so that nothing else is wrong with it.
  void* host_memory = b.host();
  std::size_t host_bytes = buffers::bytes_each;
  std::align(256, host_bytes / 2, host_memory, host_bytes);
  workspace("in host memory", host_memory, host_bytes, true);
  workspace("freed", b.freed(), buffers::bytes_each, true);
  for (const std::size_t by : {1, 2, 4, 8, 16, 128})
    workspace(fmt::format("off by {}", by), off_by(by), workspace_bytes - 256, by < 16);
  for (const auto& [words, stream, wrong] :
       {std::tuple{"cudaStreamLegacy", cudaStreamLegacy, false},
        std::tuple{"cudaStreamPerThread", cudaStreamPerThread, false},
        std::tuple{"no stream at all", reinterpret_cast<cudaStream_t>(b.host()), true}})
    add("stream", words, role::handle, wrong,
        [=, &on, s = stream] { return call_with(&valid->algorithm, on.workspace, workspace_bytes, s); });
  return rows;
}

std::vector<row> whole_conversions(cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
  const objects& on = objects_of(b);
  struct live {
    lt_conversion operation{};
    std::array<layout, 3> layouts{};
  };
  const auto all = std::make_shared<live>();
  const bool without_memory = b.device(0) == nullptr;
  if (!without_memory) {
    cublasLtMatrixTransformDesc_t created = nullptr;
    CUFAULT_REQUIRE(cublasLtMatrixTransformDescCreate(&created, CUDA_R_32F));
    all->operation.reset(created);
    sequence call;
    for (layout& each : all->layouts) create(call, {.rows = m, .columns = n}, each);
    CUFAULT_REQUIRE(call.came_to().status);
  }
  const auto layout_at = [&](std::size_t i) { return without_memory ? nullptr : all->layouts[i].get(); };
  const std::vector<argument> names{
      {"lightHandle", role::handle}, {"transformDesc", role::handle}, {"alpha", role::scalar},
      {"A", role::input, 0, 0},      {"Adesc", role::handle},         {"beta", role::scalar},
      {"B", role::input, 0, 1},      {"Bdesc", role::handle},         {"C", role::output, 0, 2},
      {"Cdesc", role::handle},       {"stream", role::kept}};
  auto rows = rows_of("cublasLtMatrixTransform with everything given", cublasLtMatrixTransform, names, b,
                      how_deep, on.lt, all->operation.get(), &one, b.device(0), layout_at(0), &one,
                      b.device(1), layout_at(1), b.device(2), layout_at(2), cudaStream_t{});
  for (row& r : rows) {
    r.call = [all, call = std::move(r.call)] { return call(); };
    // The header's words, "when A is not NULL, but Adesc is NULL", allow for one that is.
    if (r.change == "null" && (r.argument == "A" || r.argument == "B")) r.wrong = false;
  }
  return rows;
}

// ---- the case ----

failure_case lt_table() {
  constexpr auto host = depth::checked_on_the_host, everything = depth::everything;
  const std::vector<std::string> arguments{"S3-3"}, strides{"S3-3", "S3-8"};
  failure_case c = table_case(
      "arguments.lt", "products and conversions by cuBLASLt with one value or argument changed",
      {{"layouts",
        "layouts: all calls",
        {plans(plain, created, by::all_calls), plans(plain, laid_out, by::all_calls)},
        host,
        strides},
       {"layouts_alone",
        "layouts: cublasLtMatmul with an algorithm found before",
        {plans(plain, laid_out, by::product_alone)},
        host,
        strides},
       {"layouts_transposed",
        "layouts of transposed operands, those made in place, and products of nothing",
        {plans(transposed, created, by::all_calls), plans(transposed, created, by::product_alone),
         plans(plain, in_place_and_empty, by::all_calls)},
        host,
        strides},
       {"batches",
        "counts and strides of a batch of two, by all calls and by the product alone",
        {plans(batched, batches, by::all_calls), plans(batched, batches, by::product_alone)},
        host,
        strides},
       {"operation",
        "descriptors of the operation: all calls",
        {plans(plain, operations, by::all_calls), plans(biased, biases, by::all_calls)},
        host,
        arguments},
       {"operation_alone",
        "descriptors of the operation: cublasLtMatmul with an algorithm found before",
        {plans(plain, operations, by::product_alone), plans(biased, biases, by::product_alone)},
        host,
        arguments},
       {"preference", "preferences: all calls", {plans(plain, preferences, by::all_calls)}, host, arguments},
       {"attributes",
        "how attributes are set and asked for: buffers, sizes, names",
        {handed_over},
        host,
        arguments},
       {"functions",
        "the heuristic and the functions below it, and what creates and destroys",
        {functions, creations},
        everything,
        arguments},
       {"matmul", "cublasLtMatmul, every change", {products}, everything, arguments},
       {"transform",
        "cublasLtMatrixTransform, every change, and its layouts and descriptor",
        {conversions, whole_conversions},
        everything,
        strides}});
  c.failures = {"F-ARG-01", "F-ARG-03", "F-ARG-12", "F-ARG-13", "F-NS-15", "RN-11"};
  c.in_tier = {"control", "layouts"};
  return c;
}

const register_case here{lt_table()};

}  // namespace
}  // namespace cufault
