// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products of row-major matrices that are passed to cuBLAS unchanged: some are refused, others silently compute something else
//              in another place.
// Why          cuBLAS gets an address and a leading dimension of each matrix, and reads all three by columns. It can only check that a
//              leading dimension is no less than the number of rows.
// Documented   cuBLAS library, data layout: column-major, for Fortran's sake; cublas<t>gemm: the least leading dimensions, else
//              CUBLAS_STATUS_INVALID_VALUE. Reported as refused: fast.cu#14, tensorflow#25761, dbcsr#28, gorgonia#34; as wrong numbers:
//              nvml_examples#3, le#44, rust-blas#6. A source document says of its example 3 that an offset is missing.
// What helps   Recommended: swapping the operands, each with its row length; transposing both operands, for a C in columns; setting row
//              order in cuBLASLt. Recommended too: transposing only the result, an offset, other leading dimensions.
#include "harness/kit/checked_product.hpp"
#include "harness/kit/elements.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/printed_text.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/compare.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;

/// C = A B: m x k by k x n.
struct shape {
  int m, n, k;
};
/// In the first shape no leading dimension can be too small; in the second none is; in the third two or more are.
constexpr shape square{4, 4, 4}, example_3{2, 4, 3}, narrowing{4, 2, 3};
/// Example 3 comes last.
constexpr std::array all_shapes{square, narrowing, example_3};
/// Every set of leading dimensions that can be too small as row lengths: A's; B's; A's and C's; B's and C's; all.
constexpr std::array refused_shapes{shape{3, 4, 2}, shape{2, 3, 4}, shape{4, 3, 2}, shape{3, 2, 4},
                                    narrowing};

std::string text_of(const shape& s) {
  return fmt::format("row-major {}x{} by {}x{}", s.m, s.k, s.k, s.n);
}

/// Large enough that no two sums are equal by chance, small enough that sums of four are exact in single precision.
std::vector<double> whole_numbers(std::size_t count) {
  std::vector<double> numbers(count);
  const std::uint64_t seed = fresh_seed();
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::round(random_element(seed, i) * 2048);
  return numbers;
}

enum class order { rows, columns };

/// Row-major matrices, each at the beginning of an array large enough for all that a wrong call could read or write.
class operands {
 public:
  explicit operands(const shape& s) : of(s) {}
  const shape of;
  [[nodiscard]] const float* a() const { return static_cast<const float*>(a_.data()); }
  [[nodiscard]] const float* b() const { return static_cast<const float*>(b_.data()); }
  [[nodiscard]] float* c() const { return static_cast<float*>(c_.data()); }

  /// Sets new numbers, then makes the call. Right: the array begins with A B in row-major order, and nothing else was written.
  template <class Call>
  product_result by(Call&& call, order read) {
    const auto in_a = whole_numbers(room), in_b = whole_numbers(room);
    a_.put(in_a);
    b_.put(in_b);
    c_.poison();
    const auto expected = product(in_a, in_b, read);
    const product_result result = compared(call(), c_, expected);
    if (result.waited == cudaSuccess) tell(c_.get(), expected, product(in_b, in_a, read));
    return result;
  }
  /// Facts of C after the last call whose wait succeeded.
  [[nodiscard]] const fact_map& facts() const { return facts_; }

 private:
  static constexpr std::size_t room = 64;

  /// `first` times `second` in the shape of A times B, in an otherwise untouched array.
  [[nodiscard]] std::vector<double> product(const std::vector<double>& first,
                                            const std::vector<double>& second, order put) const {
    std::vector<double> all(room, std::numeric_limits<double>::quiet_NaN());
    for (int i = 0; i < of.m; ++i)
      for (int j = 0; j < of.n; ++j) {
        double& sum = all[put == order::rows ? i * of.n + j : j * of.m + i] = 0;
        for (int l = 0; l < of.k; ++l) sum += first[i * of.k + l] * second[l * of.n + j];
      }
    return all;
  }

  void tell(const std::vector<double>& found, const std::vector<double>& expected,
            const std::vector<double>& in_other_order) {
    const auto elements = static_cast<std::size_t>(of.m) * of.n;
    std::vector<std::size_t> inside, behind, right;
    for (const std::size_t i : c_.written()) (i < elements ? inside : behind).push_back(i);
    for (const std::size_t i : inside)
      if (found[i] == expected[i]) right.push_back(i);
    facts_ = {{"elements_written_in_c", runs_of(inside)},
              {"elements_written_behind_c", runs_of(behind)},
              {"elements_right", runs_of(right)}};
    const bool is_square = of.m == of.n && of.n == of.k;
    if (is_square && differing(found, in_other_order).empty()) facts_["is_b_a"] = true;
  }

  guarded_array a_{CUDA_R_32F, room}, b_{CUDA_R_32F, room}, c_{CUDA_R_32F, room};
  fact_map facts_;
};

/// op(first) op(second) as requested from cuBLAS, and how C is read afterwards.
struct request {
  cublasOperation_t op;
  int m, n, k;
  const float* first;
  int ld_first;
  const float* second;
  int ld_second;
  float* c;
  int ldc;
  order read = order::rows;
};

/// A way to request the product.
struct way {
  const char* words;
  request (*ask)(const operands&);
};

constexpr way as_they_are{"as they are", [](const operands& o) {
                            const auto& [m, n, k] = o.of;
                            return request{CUBLAS_OP_N, m, n, k, o.a(), k, o.b(), n, o.c(), n};
                          }};
constexpr way swapped{"operands swapped", [](const operands& o) {
                        const auto& [m, n, k] = o.of;
                        return request{CUBLAS_OP_N, n, m, k, o.b(), n, o.a(), k, o.c(), n};
                      }};
constexpr way swapped_with_heights{"operands swapped, leading dimensions of columns", [](const operands& o) {
                                     const auto& [m, n, k] = o.of;
                                     return request{CUBLAS_OP_N, n, m, k, o.b(), k, o.a(), m, o.c(), m};
                                   }};
constexpr way turned{"operands transposed, C in columns", [](const operands& o) {
                       const auto& [m, n, k] = o.of;
                       return request{CUBLAS_OP_T, m, n, k, o.a(), k, o.b(), n, o.c(), m, order::columns};
                     }};
constexpr way result_turned{"as they are, C transposed afterwards", [](const operands& o) {
                              request r = as_they_are.ask(o);
                              r.read = order::columns;
                              return r;
                            }};

argument_check::product described(const request& r) {
  argument_check::product p;
  p.a_op = p.b_op = r.op;
  p.m = r.m, p.n = r.n, p.k = r.k;
  p.a = {r.first, CUDA_R_32F, r.ld_first};
  p.b = {r.second, CUDA_R_32F, r.ld_second};
  p.c = {r.c, CUDA_R_32F, r.ldc};
  p.alpha = &one, p.beta = &zero;
  return p;
}

cublasStatus_t by_sgemm(cublasHandle_t handle, const request& r) {
  return sgemm(handle, described(r), r.c);
}

cublasStatus_t by_gemm_ex(cublasHandle_t handle, const request& r) {
  return gemm_ex(handle, described(r), r.c);
}

cublasStatus_t batch_of_one(cublasHandle_t handle, const request& r) {
  return cublasSgemmStridedBatched(handle, r.op, r.op, r.m, r.n, r.k, &one, r.first, r.ld_first, 0, r.second,
                                   r.ld_second, 0, &zero, r.c, r.ldc, 0, 1);
}

struct function {
  const char* name;
  cublasStatus_t (*call)(cublasHandle_t, const request&);
};
constexpr function usual{"cublasSgemm", by_sgemm};
constexpr std::array functions{usual, function{"cublasGemmEx", by_gemm_ex},
                               function{"cublasSgemmStridedBatched", batch_of_one}};

/// Passes the matrices as they are in memory, with the order `told`.
cublasStatus_t by_lt(cublasLtHandle_t lt, const operands& o, cublasLtOrder_t told) {
  const auto& [m, n, k] = o.of;
  lt_problem problem(product_extents{.m = m, .n = n, .k = k});
  const std::int32_t rows_or_columns = told;
  for (const auto& [layout, row_length] :
       {std::pair{problem.a(), k}, std::pair{problem.b(), n}, std::pair{problem.c(), n}}) {
    const std::int64_t ld = row_length;
    cublasStatus_t status = cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER,
                                                             &rows_or_columns, sizeof rows_or_columns);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return problem.multiply_by_first(lt, {&one, o.a(), o.b(), &zero, o.c(), o.c()});
}

/// The parameter that cuBLAS names, if it printed such a line: "On entry to SGEMM  parameter number 8 had an illegal value".
fact_map blamed_in(const std::string& printed) {
  static const std::regex line(R"(On entry to (\w+) +parameter number (\d+))");
  std::smatch found;
  if (!std::regex_search(printed, found, line)) return {};
  return {{"blamed_routine", found[1].str()}, {"blamed", std::int64_t{std::stoi(found[2])}}};
}

template <class Call>
product_with_facts observed(const std::string& text, operands& o, Call&& call, order read = order::rows) {
  return observe_call(named_by_words(text), [&] {
    product_with_facts seen;
    const auto printed = printed_by([&] { seen.result = o.by(call, read); });
    seen.facts = blamed_in(printed.out);
    seen.facts.insert(o.facts().begin(), o.facts().end());
    return seen;
  });
}

product_with_facts observed(cublasHandle_t handle, const shape& s, const way& how,
                            const function& by = usual) {
  operands o(s);
  const request r = how.ask(o);
  return observed(
      fmt::format("{} of {}, {}", by.name, text_of(s), how.words), o, [&] { return by.call(handle, r); },
      r.read);
}

product_with_facts observed(cublasLtHandle_t lt, const shape& s, cublasLtOrder_t told) {
  operands o(s);
  const std::string text = fmt::format("cublasLtMatmul of {}, {} order", text_of(s),
                                       told == CUBLASLT_ORDER_ROW ? "row" : "column");
  return observed(text, o, [&] { return by_lt(lt, o, told); });
}

/// Right if any of the requests gives the right numbers. Stops at an error.
product_with_facts sgemm_of_each(cublasHandle_t handle, operands& o, const std::vector<request>& requests) {
  product_with_facts seen;
  std::size_t right = 0;
  for (const request& r : requests) {
    seen.result = o.by([&] { return by_sgemm(handle, r); }, r.read);
    if (seen.result.status != CUBLAS_STATUS_SUCCESS || seen.result.waited != cudaSuccess) return seen;
    right += seen.result.right ? 1 : 0;
  }
  seen.result.right = right > 0;
  seen.facts = {{"right", static_cast<std::int64_t>(right)},
                {"tried", static_cast<std::int64_t>(requests.size())}};
  return seen;
}

// ---- control ----

void control(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  for (const shape& s : all_shapes) observed(handle, s, swapped);
  for (const shape& s : refused_shapes) observed(handle, s, swapped);
}

// ---- faults ----

void handed_over(trial& t, const shape& s) {
  t.open_context();
  observed(new_handle(), s, as_they_are);
}

void refused(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  cublasLtHandle_t const lt = new_lt_handle();
  for (const shape& s : refused_shapes) {
    for (const function& by : functions)
      if (observed(handle, s, as_they_are, by).result.waited != cudaSuccess) return;
    if (observed(lt, s, CUBLASLT_ORDER_COL).result.waited != cudaSuccess) return;
  }
}

// ---- remedies and dead ends ----

/// Every shape in one way, then in the other.
template <class Shapes>
void instead(trial& t, const way& before, const way& after, const Shapes& shapes) {
  const cublasHandle_t handle = handle_in_context(t);
  for (const shape& s : shapes) observed(handle, s, before);
  t.apply(after.words);
  for (const shape& s : shapes) observed(handle, s, after);
}

void right_leading_dimensions(trial& t) {
  instead(t, swapped_with_heights, swapped, std::array{narrowing, example_3});
}

void row_order(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  for (const shape& s : all_shapes) observed(lt, s, CUBLASLT_ORDER_COL);
  t.apply("CUBLASLT_ORDER_ROW in the layouts of A, B and C");
  for (const shape& s : all_shapes) observed(lt, s, CUBLASLT_ORDER_ROW);
}

void offsets(trial& t) {
  constexpr int most = 8;
  const cublasHandle_t handle = handle_in_context(t);
  observed(handle, example_3, as_they_are);
  t.apply("an offset of 0 to 8 elements to each of A, B and C");
  operands o(example_3);
  std::vector<request> requests;
  for (int a = 0; a <= most; ++a)
    for (int b = 0; b <= most; ++b)
      for (int c = 0; c <= most; ++c) {
        request r = as_they_are.ask(o);
        r.first += a, r.second += b, r.c += c;
        requests.push_back(r);
      }
  CUFAULT_OBSERVE_AS("cublasSgemm", "each_request", sgemm_of_each(handle, o, requests));
}

/// None of these leading dimensions is right.
void other_leading_dimensions(trial& t) {
  constexpr int most = 8;
  const cublasHandle_t handle = handle_in_context(t);
  for (const shape& s : {narrowing, example_3}) observed(handle, s, as_they_are);
  t.apply("other leading dimensions, up to 8");
  for (const shape& s : {narrowing, example_3}) {
    operands o(s);
    std::vector<request> requests;
    for (int lda = s.m; lda <= most; ++lda)
      for (int ldb = s.k; ldb <= most; ++ldb)
        for (int ldc = s.m; ldc <= most; ++ldc) {
          request r = as_they_are.ask(o);
          r.ld_first = lda, r.ld_second = ldb, r.ldc = ldc;
          requests.push_back(r);
        }
    CUFAULT_OBSERVE_AS("cublasSgemm", "each_request", sgemm_of_each(handle, o, requests));
  }
}

// ---- the case ----

void row_major(failure_case& c) {
  c.control("operands swapped, each with its row length", control);

  const auto with = [](const shape& s) { return [s](trial& t) { handed_over(t, s); }; };
  c.fault("square", "square matrices, so that every leading dimension is legal", with(square), {"S3-4"});
  c.fault("example_3", "2x3 by 3x4, whose row lengths are legal leading dimensions", with(example_3),
          {"S3-4", "S3-15"});
  c.fault("refused", "shapes whose row lengths are no legal leading dimensions", refused, {"S3-4"});

  c.remedy("swapped_operands", "swap the operands, m and n, and the leading dimensions",
           [](trial& t) { instead(t, as_they_are, swapped, all_shapes); });
  c.remedy("right_leading_dimensions", "operands swapped already: row lengths as leading dimensions, too",
           right_leading_dimensions, {"S3-16"});
  c.remedy("transposed_operands", "transpose both operands, take C in columns",
           [](trial& t) { instead(t, as_they_are, turned, all_shapes); });
  c.remedy("row_order", "tell cuBLASLt that all matrices are in row order", row_order);

  c.dead_end("transposed_result", "transpose the result alone",
             [](trial& t) { instead(t, as_they_are, result_turned, all_shapes); });
  c.dead_end("offsets", "add an offset to the operands of example 3", offsets, {"S3-14"});
  c.dead_end("other_leading_dimensions", "change the leading dimensions alone", other_leading_dimensions,
             {"S3-16"});
  c.in_tier = {"control", "example_3", "refused", "swapped_operands"};
  c.share_process();
}

const register_case here("layout.row_major", "row-major matrices are handed to cuBLAS as they are",
                         {"F-ARG-01", "F-ARG-02"}, row_major);

}  // namespace
}  // namespace cufault
