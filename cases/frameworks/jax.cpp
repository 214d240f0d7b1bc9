// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a user of JAX sees of the failures of other families. JAX takes three quarters of the GPU when it begins. In cases that fill no
// memory it takes what it needs; in cases that fill its pool alone, a twentieth.
// Which of them are measured on which GPU: reports/pages/frameworks.md.
#include "cases/frameworks/framework_case.hpp"

namespace cufault {
namespace {

/// JAX takes memory as it needs it, so that other cases can use the GPU.
const std::map<std::string, std::string> beside_others{{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}};
/// JAX takes a twentieth of the GPU, likewise. A trial with two allocations that fail in the pool took 24 s and more on an H200
/// (live_arrays/large_array): others run meanwhile.
const std::map<std::string, std::string> small_pool{{"XLA_PYTHON_CLIENT_MEM_FRACTION", ".05"}};

failure_case live_arrays() {
  failure_case c{.name = "jax.live_arrays",
                 .summary = "live arrays fill JAX's pool, or the GPU up to N MiB",
                 .failures = {"F-MEM-01"}};
  c.add_framework("control", arm_kind::control, "a first product");
  fault_arms(c, "large_array", "an array of 1 GiB where the pool is full")
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("clear_caches", "jax.clear_caches()")
      .remedy("delete", "delete() the arrays");
  in_environment(c, small_pool);
  c.run_beside_others(
      {"control", "large_array", "large_array+retry", "large_array+clear_caches", "large_array+delete"});
  const std::map<std::string, std::string> platform{{"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"}};
  fault_arms(c, "matmul.8", "the first product with 8 MiB free, without a pool").with(platform);
  fault_arms(c, "later_matmul.8", "a later product with 8 MiB free, without a pool").with(platform);
  fault_arms(c, "matmul.8.eager", "the first product with 8 MiB free, without a pool, and eager loading")
      .with(platform)
      .with({{"CUDA_MODULE_LOADING", "EAGER"}});
  return c;
}

/// A deleted array leaves its memory in the pool. The documentation says that the allocator "platform" alone gives memory back.
failure_case cached_arrays() {
  failure_case c{.name = "jax.cached_arrays",
                 .summary = "memory of deleted arrays stays in JAX's pool, and the GPU has N MiB",
                 .failures = {"F-MEM-03"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free")
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("clear_caches", "jax.clear_caches()")
      .from_the_start("first_product_first", "a product before the memory is filled")
      .by_variable("no_preallocation", "XLA_PYTHON_CLIENT_PREALLOCATE", "false")
      .by_variable("platform_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
      .by_variable("asynchronous_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async");
  fault_arms(c, "later_matmul.8", "a later product with 8 MiB free");
  fault_arms(c, "solve.8", "a solver with 8 MiB free");
  return c;
}

failure_case fragmentation() {
  failure_case c{.name = "jax.fragmentation",
                 .summary = "free memory of JAX's pool is in holes that are too small"};
  c.add_framework("control", arm_kind::control, "a first product");
  fault_arms(c, "large_array", "an array of 1 GiB, with more than that in holes")
      .remedy("delete", "delete() the other arrays")
      .by_variable("platform_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR", "platform")
      .by_variable("asynchronous_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async");
  in_environment(c, small_pool);
  return c;
}

failure_case variables() {
  failure_case c{.name = "jax.variables",
                 .summary = "environment variables that are wrong, or said to change how products run"};
  c.add_framework("control", arm_kind::control, "a product with the usual variables");
  in_environment(c, beside_others);
  const auto with = [&](const char* word, const char* variable, const char* value) {
    fault_of_variable(c, std::string("matmul.") + word, variable, value).with(beside_others);
  };
  fault_arms(c, "matmul.no_visible_device", "CUDA_VISIBLE_DEVICES is empty").with(beside_others);
  with("hidden_device", "CUDA_VISIBLE_DEVICES", "-1");
  with("workspace_malformed", "CUBLAS_WORKSPACE_CONFIG", ":many:8");
  with("workspace_0_0", "CUBLAS_WORKSPACE_CONFIG", ":0:0");
  with("fraction_malformed", "XLA_PYTHON_CLIENT_MEM_FRACTION", "many");
  with("allocator_malformed", "XLA_PYTHON_CLIENT_ALLOCATOR", "no_such_allocator");
  with("flag_malformed", "XLA_FLAGS", "--xla_no_such_flag=true");
  with("platform_malformed", "JAX_PLATFORMS", "no_such_platform");
  with("eager", "CUDA_MODULE_LOADING", "EAGER");
  return c;
}

failure_case other_process() {
  failure_case c{.name = "jax.other_process",
                 .summary = "another process fills the GPU up to N MiB before JAX begins",
                 .failures = {"F-MEM-01"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.1024", "the first product with 1 GiB free")
      .dead_end("retry", "catch the exception and do it again")
      .remedy("end_other_process", "end the other process")
      .by_variable("no_preallocation", "XLA_PYTHON_CLIENT_PREALLOCATE", "false")
      .by_variable("small_fraction", "XLA_PYTHON_CLIENT_MEM_FRACTION", ".001")
      .by_variable("platform_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR", "platform");
  fault_arms(c, "matmul.64", "the first product with 64 MiB free");
  return c;
}

failure_case index_out_of_range() {
  failure_case c{.name = "jax.index_out_of_range", .summary = "an index is beyond its array"};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "take", "what comes back for it");
  in_environment(c, beside_others);
  return c;
}

failure_case kernel_trap() {
  failure_case c{
      .name = "jax.kernel_trap", .summary = "a kernel of the program traps", .failures = {"F-STK-04"}};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "matmul", "the first product behind the kernel")
      .dead_end("retry", "catch the exception and do it again")
      .remedy("new_process", "the same product in a new process");
  fault_arms(c, "jit", "a compiled product behind the kernel");
  let_race(c, {"matmul", "jit"}, "the error of the kernel arrives while XLA compiles and tries algorithms");
  in_environment(c, beside_others);
  return c;
}

failure_case operations() {
  failure_case c{.name = "jax.operations", .summary = "each operation alone: what it returns and takes"};
  c.add_framework("control", arm_kind::control, "a product");
  for (const char* name : {"matmul", "later_matmul", "matmul_half", "matmul_bfloat16", "matmul_tf32",
                           "matmul_fp8", "batched_matmul", "integer_weights", "embedding", "second_thread",
                           "training_step", "jit", "gradient", "solve"})
    fault_arms(c, name, "without a fault");
  fault_arms(c, "incompatible_shapes", "10x10 by 5x10");
  c.fail_on_any_architecture({"incompatible_shapes"});
  in_environment(c, beside_others);
  return c;
}

failure_case beside_other_cases(failure_case c) {
  in_environment(c, beside_others);
  return c;
}

failure_case injected_driver_calls() {
  failure_case c = injected("jax", {"matmul", "later_matmul"});
  c.repeat_undefined(
      {"later_matmul.event"},
      "XLA raises, or the process ends by SIGABRT with \"malloc(): unsorted double linked list "
      "corrupted\"; its cause is not known",
      5);
  return c;
}

/// Of JAX alone: the products of CuPy that were traced are of cuBLAS, and PyTorch has a handle of cuBLAS to make first.
const std::vector<injected_rule> lt_create_rules{
    {"lt_create_not_initialized", "cublasLtCreate returns NOT_INITIALIZED"}};

/// JAX has threads: what is forked may wait for what only they would do.
failure_case with_short_limit(failure_case c) {
  for (arm& a : c.arms) a.timeout = std::chrono::seconds(40);
  return c;
}

std::vector<failure_case> jax(std::string_view only) {
  return those_named(only, {live_arrays(), cached_arrays(), other_process(), fragmentation(), variables(),
                            beside_other_cases(with_short_limit(forked_child("jax"))), index_out_of_range(),
                            kernel_trap(), operations(), beside_other_cases(injected_driver_calls()),
                            beside_other_cases(injected_at_start("jax")),
                            beside_other_cases(injected_in_libraries(
                                "jax", {{"matmul", all_of({create_rules, lt_create_rules, lt_rules})}}))});
}

const register_cases here{"jax", jax};

}  // namespace
}  // namespace cufault
