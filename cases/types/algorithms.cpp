// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmul with an unsuitable algorithm: given less workspace than it was chosen for, chosen for another product, or
//              none; C in the place of D under another description; grouped products with scalars on the device.
// Why          An algorithm of the heuristic is valid for the descriptions and workspace of the query; its parameters do not show that. A
//              result in place can be right only if C and D have one description.
// Documented   Header, cublasLtMatmul (INVALID_VALUE: a workspace smaller than the algorithm needs) and cublasLtMatmulAlgoCheck (what it
//              refuses will not run; what it takes may still fail, over alignment). cuBLAS documentation: without an algorithm one is
//              chosen with default preferences; a raft#3106 comment says INVALID_VALUE. Release notes: since 13.0 Update 2 C == D with
//              other descriptions is refused (5471880). cublas<t>gemmGroupedBatched: NOT_SUPPORTED in device pointer mode. Users: imp#929.
// Measured     H200, cuBLAS 13.1.0. Less workspace than the algorithm needs: INVALID_VALUE. A query for algorithms that sum up in the
//              workspace succeeds even for a workspace of 0 bytes: it returns an algorithm that does not split k, which the mask of
//              reduction schemes does not exclude. No algorithm: right numbers. An algorithm of another product: NOT_SUPPORTED or
//              right numbers. cublasLtMatmulAlgoCheck predicts which, with two exceptions: it accepts misaligned operands, for which
//              the product is NOT_SUPPORTED, and it refuses BF16 with an algorithm for FP16, which gives right numbers. D in place of
//              C under another description: INVALID_VALUE. Grouped products in device pointer mode: NOT_SUPPORTED.
// What helps   Recommended: the same size for preference and call; cublasLtMatmulAlgoCheck before reuse, and a fresh query where it
//              refuses; the same description for C and D, or an address of its own for a C that is not read; host pointer mode.
#include "cases/types/lt_products.hpp"
#include "harness/kit/lt_problem.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cufault {
namespace {

// ---- workspace ----

struct given_workspace {
  void* at;
  std::size_t bytes;
};
constexpr given_workspace no_workspace{nullptr, 0};

product_result multiply(const char* words, long_sum& sum, cublasLtHandle_t lt,
                        const cublasLtMatmulHeuristicResult_t& chosen, const given_workspace& given) {
  return observe_call(named_by_words(words),
                      [&] { return sum.multiply(lt, &chosen.algo, given.at, given.bytes); });
}

product_result multiply_with_what_it_says(long_sum& sum, const workbench& on,
                                          const cublasLtMatmulHeuristicResult_t& chosen) {
  return multiply("cublasLtMatmul with as much workspace as the algorithm says", sum, on.lt, chosen,
                  {on.workspace, chosen.workspaceSize});
}

/// Queries algorithms that sum up in the compute type, outside of D.
status_record query_for_sums_in_workspace(lt_problem& problem, cublasLtHandle_t lt,
                                          std::size_t workspace_bytes) {
  set_attribute(problem.preference(), CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const cublasStatus_t status = problem.heuristic(lt, workspace_bytes);
  if (status == CUBLAS_STATUS_SUCCESS && problem.results().empty())
    return {.ok = false, .facts = {{"algorithms", std::int64_t{0}}}};
  return record_of(status);
}

// ---- reuse ----

/// A product that uses an algorithm.
struct use {
  std::string words;
  argument_check::product described;
  checked_product::options how{};
};

argument_check::product halves() {
  argument_check::product p;
  p.m = 128, p.n = 96, p.k = 64;
  p.a.type = p.b.type = p.c.type = CUDA_R_16F;
  return p;
}

template <class Change>
argument_check::product halves_but(Change change) {
  auto p = halves();
  change(p);
  return p;
}

std::vector<use> other_uses() {
  const auto of_type = [](cudaDataType type) {
    return halves_but([=](auto& p) { p.a.type = p.b.type = p.c.type = type; });
  };
  return {
      {"larger extents", halves_but([](auto& p) { p.m = 256, p.n = 192, p.k = 128; })},
      {"odd extents", halves_but([](auto& p) { p.m = 97, p.n = 81, p.k = 63; })},
      {"odd leading dimensions", halves_but([](auto& p) {
         p.a.leading_dimension = 129, p.b.leading_dimension = 65, p.c.leading_dimension = 131;
       })},
      {"A transposed", halves_but([](auto& p) { p.a_op = CUBLAS_OP_T; })},
      {"FP32", of_type(CUDA_R_32F)},
      {"BF16", of_type(CUDA_R_16BF)},
      {"operands off by 2 bytes", halves(), {.off_by = {2, 2, 2}}},
  };
}

/// An algorithm for FP16, without a workspace, for operands aligned to 256 bytes.
struct stale_algorithm {
  cublasLtHandle_t lt = new_lt_handle();
  cublasLtMatmulAlgo_t algorithm{};

  stale_algorithm() {
    const checked_product p(halves());
    lt_problem problem(p.described());
    CUFAULT_REQUIRE(problem.heuristic(lt, 0, nullptr, 1));
    if (problem.results().empty())
      throw not_provoked("no algorithm without a workspace for a product of FP16");
    algorithm = problem.results().front().algo;
  }

  cublasStatus_t check(lt_problem& problem) const {
    cublasLtMatmulHeuristicResult_t unused{};
    return cublasLtMatmulAlgoCheck(lt, problem.operation(), problem.a(), problem.b(), problem.c(),
                                   problem.c(), &algorithm, &unused);
  }
};

/// A row with a check before the call, and one without.
void reuse(const stale_algorithm& stale, const use& u, bool ask) {
  checked_product p(u.described, u.how);
  lt_problem problem(p.described());
  if (ask) {
    observe_call({"cublasLtMatmulAlgoCheck", variant_of("for " + u.words)},
                 [&] { return stale.check(problem); });
  } else {
    observe_call({"cublasLtMatmul", variant_of("for " + u.words)}, [&] {
      return p.by([&] { return problem.multiply(stale.lt, p.operands(), &stale.algorithm, nullptr, 0); });
    });
  }
}

/// Checks first. Queries again if the algorithm is refused, or chosen for more alignment than the addresses have.
product_result multiply_after_check(const stale_algorithm& stale, const use& u) {
  checked_product p(u.described, u.how);
  lt_problem problem(p.described());
  const bool aligned = u.how.off_by == checked_product::options{}.off_by;
  return p.by([&] {
    if (aligned && stale.check(problem) == CUBLAS_STATUS_SUCCESS)
      return problem.multiply(stale.lt, p.operands(), &stale.algorithm, nullptr, 0);
    tell_alignment(problem, p.operands());
    return problem.multiply_by_first(stale.lt, p.operands());
  });
}

// ---- no algorithm ----

product_result multiply_without_algorithm(cublasLtHandle_t lt, const argument_check::product& described,
                                          const given_workspace& given) {
  checked_product p(described);
  const lt_problem problem(p.described());
  return p.by([&] { return problem.multiply(lt, p.operands(), nullptr, given.at, given.bytes); });
}

// ---- in place ----

struct placement {
  const char* words;
  double beta = 0;
  bool scalars_on_device = false;
  bool same_description = false;
  bool elsewhere = false;  ///< C, which a beta of 0 leaves unread, has an address of its own
};

void multiply_placed(cublasLtHandle_t lt, const placement& how) {
  argument_check::product described;
  described.m = 96, described.n = 80, described.k = 64;
  described.c.leading_dimension = described.m + 16;
  checked_product p(described, {.beta = how.beta});
  lt_problem problem(p.described());
  if (!how.same_description) {
    problem.own_d();  // separate, before C's layout changes
    set_attribute(problem.c(), CUBLASLT_MATRIX_LAYOUT_LD, described.m);
  }
  lt_operands operands = p.operands();
  const guarded_array other(CUDA_R_32F, p.c.size());
  if (how.elsewhere) operands.c = other.data();
  guarded_array scalars(CUDA_R_32F, 2);
  if (how.scalars_on_device) {
    scalars.put(std::array{1.0, how.beta});
    set_attribute(problem.operation(), CUBLASLT_MATMUL_DESC_POINTER_MODE,
                  static_cast<std::int32_t>(CUBLASLT_POINTER_MODE_DEVICE));
    operands.alpha = scalars.data();
    operands.beta = static_cast<const float*>(scalars.data()) + 1;
  }
  observe_call(product_named(how.words),
               [&] { return p.by([&] { return problem.multiply_by_first(lt, operands); }); });
}

void multiply_in_place_as_other(cublasLtHandle_t lt) {
  multiply_placed(lt, {.words = "D as C of another leading dimension"});
  multiply_placed(lt, {.words = "D as C of another leading dimension, beta 1", .beta = 1});
  multiply_placed(
      lt, {.words = "D as C of another leading dimension, scalars on the device", .scalars_on_device = true});
}

// ---- groups ----

#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
/// One group of two products. Its arrays and scalars are where the pointer mode says.
product_result multiply_group(cublasHandle_t handle, cublasPointerMode_t mode) {
  argument_check::product described;
  described.m = 24, described.n = 20, described.k = 32, described.batch = 2;
  checked_product p(described);
  const auto& d = p.described();
  const guarded_array addresses(CUDA_R_64F, 6);
  const auto array_of = [&](int operand, float* first, std::int64_t stride) {
    const std::array<float*, 2> pointers{first, first + stride};
    float** const at = static_cast<float**>(addresses.data()) + 2 * operand;
    CUFAULT_REQUIRE(cudaMemcpy(at, pointers.data(), sizeof pointers, cudaMemcpyDefault));
    return at;
  };
  float* const* a = array_of(0, static_cast<float*>(p.a.data()), d.a.stride);
  float* const* b = array_of(1, static_cast<float*>(p.b.data()), d.b.stride);
  float* const* c = array_of(2, static_cast<float*>(p.c.data()), d.c.stride);
  guarded_array scalars(CUDA_R_32F, 2);
  scalars.put(std::array{1.0, 0.0});
  const bool on_host = mode == CUBLAS_POINTER_MODE_HOST;
  const auto* const alpha = static_cast<const float*>(on_host ? p.alpha() : scalars.data());
  const auto* const beta =
      on_host ? static_cast<const float*>(p.beta()) : static_cast<const float*>(scalars.data()) + 1;
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  const int m = narrow(d.m), n = narrow(d.n), k = narrow(d.k), lda = narrow(d.a.leading_dimension),
            ldb = narrow(d.b.leading_dimension), ldc = narrow(d.c.leading_dimension), size = narrow(d.batch);
  CUFAULT_REQUIRE(cublasSetPointerMode(handle, mode));
  return p.by([&] {
    return cublasSgemmGroupedBatched(handle, &d.a_op, &d.b_op, &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c,
                                     &ldc, 1, &size);
  });
}
#else
product_result multiply_group(cublasHandle_t /*handle*/, cublasPointerMode_t /*mode*/) {
  throw not_provoked("built with a CUDA before 12.4, whose headers have no cublasSgemmGroupedBatched");
}
#endif

// ---- control ----

void control(trial& t) {
  const workbench on = new_workbench(t);
  long_sum sum;
  CUFAULT_REQUIRE(sum.problem.heuristic(on.lt, on.workspace_bytes));
  if (sum.problem.results().empty()) throw not_provoked("the heuristic knows no algorithm for a long sum");
  const auto best = sum.problem.results().front();
  multiply_with_what_it_says(sum, on, best);
  checked_product p(halves());
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "fp16_first_algorithm", p.by_lt(on.lt));
  multiply_placed(on.lt, {.words = "in place", .same_description = true});
  multiply_placed(on.lt, {.words = "in place, beta 1", .beta = 1, .same_description = true});
}

// ---- faults ----

void smaller_workspace(trial& t) {
  const workbench on = new_workbench(t);
  long_sum sum;
  const auto chosen = sum.one_with_workspace(on.lt);
  t.measure("workspace of the algorithm", static_cast<double>(chosen.workspaceSize), "bytes");
  multiply("cublasLtMatmul with no workspace", sum, on.lt, chosen, no_workspace);
  multiply("cublasLtMatmul with a workspace of no bytes", sum, on.lt, chosen, {on.workspace, 0});
  multiply("cublasLtMatmul with a byte less than the algorithm says", sum, on.lt, chosen,
           {on.workspace, chosen.workspaceSize - 1});
  // Last, because it may write to invalid memory.
  multiply("cublasLtMatmul with the size that the algorithm says, but no pointer", sum, on.lt, chosen,
           {nullptr, chosen.workspaceSize});
}

/// Measures whether the mask excluded algorithms that do not split k.
void measure_parts(trial& t, const lt_problem& problem, const char* words) {
  if (problem.results().empty()) return;
  std::int32_t parts = 0;
  std::size_t size = 0;
  CUFAULT_REQUIRE(cublasLtMatmulAlgoConfigGetAttribute(
      &problem.results().front().algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &size));
  t.measure(words, parts);
}

void tiny_preference(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  long_sum sum;
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "sums_in_workspace_of_0",
                     query_for_sums_in_workspace(sum.problem, lt, 0));
  measure_parts(t, sum.problem, "parts of k, without a workspace");
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "sums_in_workspace_of_256",
                     query_for_sums_in_workspace(sum.problem, lt, 256));
  measure_parts(t, sum.problem, "parts of k, with 256 bytes");
}

void stale(trial& t) {
  const auto uses = other_uses();
  t.for_each_row(2 * uses.size(), [&]() -> trial::row_function {
    t.open_context();
    return [&uses, algorithm = std::make_shared<const stale_algorithm>()](std::size_t row) {
      reuse(*algorithm, uses.at(row / 2), row % 2 == 0);
    };
  });
}

void no_algorithm(trial& t) {
  const workbench on = new_workbench(t);
  argument_check::product floats;
  floats.m = 96, floats.n = 80, floats.k = 64;
  long_sum sum;
  for (const given_workspace& given : {no_workspace, {on.workspace, on.workspace_bytes}}) {
    const std::string without = std::string(" no algorithm ") + (given.at ? "with" : "no") + " workspace";
    for (const use& u : {use{"FP32", floats}, use{"FP16", halves()}})
      observe_call(product_named(u.words + without),
                   [&] { return multiply_without_algorithm(on.lt, u.described, given); });
    observe_call(product_named("long k" + without),
                 [&] { return sum.multiply(on.lt, nullptr, given.at, given.bytes); });
  }
}

void in_place_as_other(trial& t) {
  t.open_context();
  multiply_in_place_as_other(new_lt_handle());
}

void group_with_device_scalars(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  CUFAULT_OBSERVE_AS("cublasSgemmGroupedBatched", "scalars_on_device",
                     multiply_group(handle, CUBLAS_POINTER_MODE_DEVICE));
}

// ---- remedies ----

void size_it_says(trial& t) {
  const workbench on = new_workbench(t);
  long_sum sum;
  const auto chosen = sum.one_with_workspace(on.lt);
  multiply("cublasLtMatmul with no workspace", sum, on.lt, chosen, no_workspace);
  t.apply("as much workspace as the algorithm says");
  multiply_with_what_it_says(sum, on, chosen);
}

void ask_for_what_there_is(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  long_sum sum;
  const auto chosen = sum.one_with_workspace(lt);
  multiply("cublasLtMatmul with no workspace", sum, lt, chosen, no_workspace);
  t.apply("a query for no workspace");
  const auto ask = [&] { return sum.problem.heuristic(lt, 0); };
  if (CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", ask()) != CUBLAS_STATUS_SUCCESS) return;
  if (sum.problem.results().empty()) return;  // without an algorithm nothing is cleared
  const auto fitting = sum.problem.results().front();
  multiply("cublasLtMatmul with no workspace", sum, lt, fitting, no_workspace);
}

void larger_preference(trial& t) {
  const workbench on = new_workbench(t);
  long_sum sum;
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "sums_in_workspace_of_0",
                     query_for_sums_in_workspace(sum.problem, on.lt, 0));
  t.apply("a query for 32 MiB");
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "sums_in_workspace_of_32_mib",
                     query_for_sums_in_workspace(sum.problem, on.lt, on.workspace_bytes));
  if (sum.problem.results().empty()) return;
  const auto found = sum.problem.results().front();
  multiply_with_what_it_says(sum, on, found);
}

void check_first(trial& t) {
  t.open_context();
  const stale_algorithm algorithm;
  t.apply("cublasLtMatmulAlgoCheck, and a fresh query where it refuses or operands are less aligned");
  for (const use& u : other_uses()) {
    const auto result = observe_call(product_named(u.words + " after check"),
                                     [&] { return multiply_after_check(algorithm, u); });
    if (!result.ok()) return;  // the context may be damaged
  }
}

void same_description(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  multiply_in_place_as_other(lt);
  t.apply("the same description for C and D");
  multiply_placed(lt, {.words = "in place", .same_description = true});
  multiply_placed(lt, {.words = "in place, beta 1", .beta = 1, .same_description = true});
  multiply_placed(
      lt, {.words = "in place, scalars on the device", .scalars_on_device = true, .same_description = true});
}

void c_elsewhere(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  multiply_in_place_as_other(lt);
  t.apply("an address of its own for a C that is not read");
  multiply_placed(lt, {.words = "C elsewhere", .elsewhere = true});
  multiply_placed(
      lt, {.words = "C elsewhere, scalars on the device", .scalars_on_device = true, .elsewhere = true});
}

void group_with_host_scalars(trial& t) {
  const cublasHandle_t handle = handle_in_context(t);
  CUFAULT_OBSERVE_AS("cublasSgemmGroupedBatched", "scalars_on_device",
                     multiply_group(handle, CUBLAS_POINTER_MODE_DEVICE));
  t.apply("host pointer mode");
  CUFAULT_OBSERVE_AS("cublasSgemmGroupedBatched", "scalars_on_host",
                     multiply_group(handle, CUBLAS_POINTER_MODE_HOST));
}

// ---- the case ----

void algorithms(failure_case& c) {
  c.control("algorithms with what they were chosen for, and C in the place of D", control);

  c.fault("smaller_workspace", "less workspace than the algorithm says, or none", smaller_workspace,
          {"S3-3"});
  c.fault("tiny_preference", "a query for algorithms that sum up in a workspace of few bytes",
          tiny_preference);
  c.fault("stale", "an algorithm used again for another product", stale);
  c.fault("no_algorithm", "a null algorithm, with and without a workspace", no_algorithm);
  c.fault("in_place_as_other", "D as C under another description", in_place_as_other);
  c.fault("group_with_device_scalars", "grouped products in device pointer mode", group_with_device_scalars);

  c.remedy("size_it_says", "as much workspace as the algorithm says", size_it_says);
  c.remedy("ask_for_what_there_is", "a query for the workspace that there is", ask_for_what_there_is);
  c.remedy("larger_preference", "a query for 32 MiB", larger_preference);
  c.remedy("check_first", "cublasLtMatmulAlgoCheck before reuse, and a fresh query", check_first).against =
      "stale";
  c.remedy("same_description", "the same description for C and D", same_description);
  c.remedy("c_elsewhere", "an address of its own for C", c_elsewhere);
  c.remedy("group_with_host_scalars", "grouped products in host pointer mode", group_with_host_scalars);
  c.in_tier = {"control",           "smaller_workspace", "no_algorithm",
               "in_place_as_other", "size_it_says",      "same_description"};
  c.share_process({"stale"});
}

const register_case here(
    "types.algorithms",
    "an algorithm, a workspace, a description of C or a pointer mode that does not fit the product",
    {"F-NS-10", "F-NS-11", "F-NS-12", "F-NS-13", "F-NS-15", "RN-13"}, algorithms);

}  // namespace
}  // namespace cufault
