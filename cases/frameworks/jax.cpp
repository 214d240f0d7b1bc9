// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a user of JAX sees of the failures of other families. JAX takes three quarters of the GPU when it begins, but for
// cases that fill no memory. Not measured yet: other_process, three arms of live_arrays, and 13 of injected.
#include "cases/frameworks/framework_case.hpp"

namespace cufault {
namespace {

/// JAX takes memory as it needs it, so that other cases can use the GPU.
const std::map<std::string, std::string> beside_others{{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}};

failure_case live_arrays() {
  failure_case c{.name = "jax.live_arrays",
                 .summary = "live arrays fill JAX's pool, or the GPU up to N MiB",
                 .failures = {"F-MEM-01"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "large_array", "an array of 1 GiB where the pool is full")
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("clear_caches", "jax.clear_caches()")
      .remedy("delete", "delete() the arrays");
  const std::map<std::string, std::string> platform{{"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"}};
  fault_arms(c, "matmul.8", "the first product with 8 MiB free, without a pool").with(platform);
  fault_arms(c, "later_matmul.8", "a later product with 8 MiB free, without a pool").with(platform);
  fork_from_one_interpreter(c);
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
      .from_the_start("no_preallocation", "XLA_PYTHON_CLIENT_PREALLOCATE=false",
                      {{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}})
      .from_the_start("small_fraction", "XLA_PYTHON_CLIENT_MEM_FRACTION=.001",
                      {{"XLA_PYTHON_CLIENT_MEM_FRACTION", ".001"}})
      .from_the_start("platform_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR=platform",
                      {{"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"}});
  fault_arms(c, "matmul.64", "the first product with 64 MiB free");
  fork_from_one_interpreter(c);
  return c;
}

failure_case index_out_of_range() {
  failure_case c{.name = "jax.index_out_of_range", .summary = "an index is beyond its array"};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "take", "what comes back for it");
  in_environment(c, beside_others);
  fork_from_one_interpreter(c);
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
  in_environment(c, beside_others);
  fork_from_one_interpreter(c);
  return c;
}

failure_case operations() {
  failure_case c{.name = "jax.operations", .summary = "each operation alone: what it returns and takes"};
  c.add_framework("control", arm_kind::control, "a product");
  for (const char* name : {"matmul", "later_matmul", "matmul_half", "jit", "gradient", "solve"})
    fault_arms(c, name, "without a fault");
  fault_arms(c, "incompatible_shapes", "10x10 by 5x10");
  in_environment(c, beside_others);
  fork_from_one_interpreter(c);
  return c;
}

failure_case beside_other_cases(failure_case c) {
  in_environment(c, beside_others);
  return c;
}

std::vector<failure_case> jax(std::string_view only) {
  return those_named(only, {live_arrays(), other_process(), index_out_of_range(), kernel_trap(), operations(),
                            beside_other_cases(injected("jax", {"matmul", "later_matmul"})),
                            beside_other_cases(injected_at_start("jax"))});
}

const register_cases here{"jax", jax};

}  // namespace
}  // namespace cufault
