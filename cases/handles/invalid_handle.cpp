// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Calls with an invalid handle: null, zeroed memory, garbage, a destroyed handle. After a failed cublasCreate:
//              failed_create.cpp. destroyed_handle of the matrix has every operation.
// Why          A handle points to a structure of the library; the memory there decides whether a call recognises an invalid one.
// Documented   cuBLAS documentation, 2.2.2 cublasStatus_t: NOT_INITIALIZED if cublasCreate was not called. Garbage and destroyed handles
//              are not documented.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: null and zeroed memory are NOT_INITIALIZED, except in cublasLtDestroy:
//              INVALID_VALUE, and SUCCESS for zeroed memory. With garbage cublasLtMatmul is ARCH_MISMATCH, and cublasLtDestroy SIGABRT.
//              cublasSgemm with a destroyed handle, 15 runs: SIGFPE in 6, NOT_SUPPORTED in 6, SIGSEGV in 3.
// What helps   Creating the handle.
#include "cases/handles/no_handle.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <utility>

namespace cufault {
namespace {

enum class use { sgemm, set_stream, destroy, lt_matmul, lt_heuristic, lt_destroy };

constexpr std::array every_use{use::sgemm,     use::set_stream,   use::destroy,
                               use::lt_matmul, use::lt_heuristic, use::lt_destroy};

/// Arguments of the calls beside the handle. Without a GPU: no operands, and no algorithm for cublasLtMatmul.
struct arguments {
  product_operands on;
  lt_problem problem{};
};

arguments on_the_device() {
  arguments with;
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &with.on));
  cublasLtHandle_t in_order = nullptr;  // never destroyed, so that no later handle gets its address
  CUFAULT_REQUIRE(cublasLtCreate(&in_order));
  CUFAULT_REQUIRE(with.problem.heuristic(in_order));
  return with;
}

cublasStatus_t lt_heuristic(cublasLtHandle_t lt) {
  return lt_problem().heuristic(lt);
}

/// Uses an algorithm found by another handle, so that cublasLtMatmul itself must check this one.
cublasStatus_t lt_matmul(cublasLtHandle_t lt, const arguments& with) {
  return with.problem.multiply(lt, with.on);
}

void use_as_handle(void* what, use how, const arguments& with) {
  const auto handle = static_cast<cublasHandle_t>(what);
  const auto lt = static_cast<cublasLtHandle_t>(what);
  switch (how) {
    case use::sgemm:
      observe_sgemm(handle, with.on);
      break;
    case use::set_stream:
      CUFAULT_OBSERVE(cublasSetStream(handle, nullptr));
      break;
    case use::destroy:
      CUFAULT_OBSERVE(cublasDestroy(handle));
      break;
    case use::lt_matmul:
      CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm_unchecked", lt_matmul(lt, with));
      break;
    case use::lt_heuristic:
      CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", lt_heuristic(lt));
      break;
    case use::lt_destroy:
      CUFAULT_OBSERVE(cublasLtDestroy(lt));
      break;
  }
}

// ---- controls ----

void control(trial& t) {
  t.open_context();
  const arguments with = on_the_device();
  const cublasHandle_t handle = observed_handle();
  CUFAULT_OBSERVE(cublasSetStream(handle, nullptr));
  observe_sgemm(handle, with.on);
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  const cublasLtHandle_t lt = observed_lt_handle();
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm_unchecked", lt_matmul(lt, with));
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", lt_heuristic(lt));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- faults ----

void null_and_zeroed_without_a_gpu(trial&) {
  for (void* what : {static_cast<void*>(nullptr), block_of(zero_byte)}) {
    for (const use how : {use::sgemm, use::set_stream, use::destroy, use::lt_heuristic, use::lt_destroy})
      use_as_handle(what, how, {});
  }
}

void use_every_way(trial& t, void* what) {
  t.open_context();
  const arguments with = on_the_device();
  for (const use how : every_use) use_as_handle(what, how, with);
}

void use_garbage(trial& t, use how) {
  t.open_context();
  use_as_handle(block_of(garbage_byte), how, on_the_device());
}

void multiply_by_destroyed(trial& t) {
  t.open_context();
  const arguments with = on_the_device();
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(product(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  use_as_handle(handle, use::sgemm, with);
}

// ---- remedies ----

void create_a_handle(trial& t) {
  t.open_context();
  observe_sgemm(nullptr, on_the_device().on);
  t.apply("create a handle");
  create_and_multiply();
}

// ---- the case ----

void invalid_handle(failure_case& c) {
  c.control("every call with handles that are valid", control);
  on_the_host(c.add("control_host", arm_kind::control, "both libraries are loaded and answer without a GPU",
                    libraries_answer));

  on_the_host(c.fault("null_and_zeroed_host", "null and zeroed memory as a handle, without a GPU",
                      null_and_zeroed_without_a_gpu));
  c.fault("null_handle", "null as a handle", [](trial& t) { use_every_way(t, nullptr); });
  for (const auto& [how, name] : {std::pair{use::lt_matmul, "lt_matmul"}, {use::lt_destroy, "lt_destroy"}})
    racing_by_what_lies_there(c.fault(fmt::format("garbage_{}", name),
                                      fmt::format("garbage memory as a handle: {}", name),
                                      [how = how](trial& t) { use_garbage(t, how); }));
  racing_by_what_lies_there(
      c.fault("destroyed_sgemm", "a handle that was destroyed: sgemm", multiply_by_destroyed));
  c.remedy("create_a_handle", "a created handle in place of null", create_a_handle);
  for (arm& a : c.arms) a.timeout = std::chrono::seconds(20);
  c.in_tier = {"control", "control_host", "null_and_zeroed_host", "null_handle", "create_a_handle"};
  c.share_process_of({"control", "null_handle", "create_a_handle"});
}

const register_case here("handles.invalid_handle", "null, zeroed, garbage and destroyed handles",
                         {"F-LIF-01", "F-LIF-04"}, invalid_handle);

}  // namespace
}  // namespace cufault
