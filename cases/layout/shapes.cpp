// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A linear layer whose input has another number of features than its weights: refused, or computed anyway.
// Why          cuBLAS gets one k and two leading dimensions, not two shapes. Only if the caller takes them from different matrices can they
//              contradict each other. cuBLASLt gets the shape of each matrix.
// Documented   cuBLAS library, cublas<t>gemm(): ldb >= k for an untransposed B, lda >= k for a transposed A, else
//              CUBLAS_STATUS_INVALID_VALUE. A source document says that cuBLAS flags a mismatch between layers. llm.c#212: buffers
//              too short, unnoticed.
// What helps   Recommended: comparing shapes on the host before the call (harness/include/cufault/argument_check.hpp), then the weights that fit. Tried
//              too: a leading dimension as large as the library asks for.
#include "harness/kit/checked_product.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cufault {
namespace {

constexpr int outputs = 24, samples = 16, features = 40;  // of the layer that fits the input

/// y = x W' of a layer with this number of features: x is samples x features, W is outputs x features, both row-major as in frameworks. In
/// column order W is transposed and comes first.
argument_check::product layer_for(int number) {
  argument_check::product p;
  p.a_op = CUBLAS_OP_T;
  p.m = outputs, p.n = samples, p.k = number;
  p.a.leading_dimension = p.b.leading_dimension = number;
  p.c.leading_dimension = outputs;
  return p;
}

/// The input meets weights of another layer. A mistake says where k and the row lengths come from:
struct mistake {
  const char* words;
  int expected;  ///< features that these weights are for
  int k, row_of_weights, row_of_input;
};
constexpr int more = 48, fewer = 32;
constexpr mistake none{"the weights that fit", features, features, features, features};
constexpr std::array mistakes{mistake{"k of the wider weights", more, more, more, features},
                              mistake{"k of the wider input", fewer, features, fewer, features},
                              mistake{"k of the narrower input", more, features, more, features},
                              mistake{"k of the narrower weights", fewer, fewer, fewer, features},
                              mistake{"everything of the wider weights", more, more, more, more},
                              mistake{"everything of the narrower weights", fewer, fewer, fewer, fewer},
                              mistake{"everything of the narrower input", more, features, features, features},
                              mistake{"everything of the wider input", fewer, features, features, features}};
/// In some k exceeds a leading dimension; the others are legal for another product.
constexpr std::span<const mistake> all_mistakes(mistakes);
constexpr auto break_a_bound = all_mistakes.first(2), break_no_bound = all_mistakes.subspan(2);

/// The layer that fits the input, and the weights of another. Reads beyond an operand hit the guards after it, which are numbers too.
struct network {
  checked_product right{layer_for(features)};
  guarded_array other_weights{CUDA_R_32F, static_cast<std::size_t>(outputs) * more};
  cublasHandle_t handle = new_handle();
  cublasLtHandle_t lt = new_lt_handle();

  network() { other_weights.put(small_numbers(other_weights.size(), fresh_seed())); }
  [[nodiscard]] const void* weights_for(int expected) const {
    return expected == features ? right.a.data() : other_weights.data();
  }
};

network open(trial& t) {
  t.open_context();
  return {};
}

argument_check::product call_of(const network& in, const mistake& m) {
  argument_check::product p = in.right.described();
  p.k = m.k;
  p.a.data = in.weights_for(m.expected);
  p.a.leading_dimension = m.row_of_weights;
  p.b.leading_dimension = m.row_of_input;
  return p;
}

product_result layer_by_sgemm(network& in, const mistake& m) {
  return in.right.by([&] { return sgemm(in.handle, call_of(in, m), in.right.c.data()); });
}

/// Makes each layout from its own tensor's shape.
product_result layer_by_lt(network& in, int expected) {
  lt_problem problem(layer_for(expected));
  set_attribute(problem.b(), CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{features});
  set_attribute(problem.b(), CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{features});
  lt_operands operands = in.right.operands();
  operands.a = in.weights_for(expected);
  return in.right.by([&] { return problem.multiply_by_first(in.lt, operands); });
}

/// Whether argument_check finds the mistakes, and nothing else.
struct check_result {
  bool to_be_found, found;
};
status_record record_of(const check_result& result) {
  return {.status = result.found ? "PROBLEM_FOUND" : "", .ok = result.found == result.to_be_found};
}

check_result check_of_layer(const network& in, const mistake& m) {
  argument_check::product p = call_of(in, m);
  p.a.rows = m.expected, p.a.columns = outputs;
  p.b.rows = features, p.b.columns = samples;
  p.c.rows = outputs, p.c.columns = samples;
  return {.to_be_found = m.expected != features, .found = !check(p).empty()};
}

// ---- control ----

void control(trial& t) {
  network in = open(t);
  CUFAULT_OBSERVE_AS("check.arguments", "", check_of_layer(in, none));
  CUFAULT_OBSERVE_AS("cublasSgemm", "layer", layer_by_sgemm(in, none));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "layer_first_algorithm", layer_by_lt(in, features));
}

// ---- faults ----

product_result observed(network& in, const mistake& m) {
  return observe_call({"cublasSgemm", variant_of(fmt::format("with {}", m.words))},
                      [&] { return layer_by_sgemm(in, m); });
}

void mismatched(trial& t, std::span<const mistake> all) {
  network in = open(t);
  for (const mistake& m : all)
    if (observed(in, m).waited != cudaSuccess) return;
}

void mismatched_by_lt(trial& t) {
  network in = open(t);
  for (const int expected : {more, fewer}) {
    const product_result result =
        CUFAULT_OBSERVE_AS("cublasLtMatmul", "layer_first_algorithm", layer_by_lt(in, expected));
    if (result.waited != cudaSuccess) return;
  }
}

// ---- remedies and dead ends ----

void checked_shapes(trial& t) {
  network in = open(t);
  for (const mistake& m : all_mistakes) observed(in, m);
  t.apply("compare shapes before the call; where they do not fit, the weights of the layer that fits");
  for (const mistake& m : all_mistakes) CUFAULT_OBSERVE_AS("check.arguments", "", check_of_layer(in, m));
  CUFAULT_OBSERVE_AS("check.arguments", "", check_of_layer(in, none));
  CUFAULT_OBSERVE_AS("cublasSgemm", "layer", layer_by_sgemm(in, none));
}

void larger_leading_dimension(trial& t) {
  network in = open(t);
  for (const mistake& m : break_a_bound) observed(in, m);
  t.apply("a leading dimension that is no less than k");
  for (mistake m : break_a_bound) {
    m.row_of_weights = m.row_of_input = m.k;
    observed(in, m);
  }
}

// ---- the case ----

void shapes(failure_case& c) {
  c.control("the weights that fit", control);

  const auto with = [](std::span<const mistake> all) { return [all](trial& t) { mismatched(t, all); }; };
  c.fault("breaks_a_bound", "a k above a leading dimension", with(break_a_bound), {"S3-6"});
  c.fault("breaks_no_bound", "a k that no leading dimension contradicts", with(break_no_bound), {"S3-6"});
  c.fault("by_cublaslt", "the same by cuBLASLt, told each matrix's own shape", mismatched_by_lt, {"S3-6"});

  c.remedy("checked_shapes", "compare shapes on the host before the call", checked_shapes, {"S3-17"});
  c.dead_end("larger_leading_dimension", "raise the leading dimension that is too small",
             larger_leading_dimension);
  c.in_tier = {"control", "breaks_a_bound", "breaks_no_bound", "by_cublaslt", "checked_shapes"};
  c.share_process();
}

const register_case here("layout.shapes",
                         "the input of a linear layer has another number of features than its weights",
                         {"F-ARG-14"}, shapes);

}  // namespace
}  // namespace cufault
