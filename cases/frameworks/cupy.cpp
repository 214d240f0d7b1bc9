// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a user of CuPy sees of the failures of other families: its pool, its handles. CuPy 14.2.0 refuses a product in a
// capture, so that the other arms of capture have a kernel of CuPy's in it.
#include "cases/frameworks/framework_case.hpp"

namespace cufault {
namespace {

failure_case live_arrays() {
  failure_case c{.name = "cupy.live_arrays",
                 .summary = "live arrays fill the GPU up to N MiB",
                 .failures = {"F-MEM-01"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free")
      .dead_end("retry", "catch the exception and do it again")
      .remedy("del", "del the arrays, and leave them in the pool")
      .remedy("del_and_free_all_blocks", "del the arrays and free_all_blocks()")
      .remedy("smaller_batch", "half of the arrays, and free_all_blocks()")
      .from_the_start("set_limit", "set_limit(fraction=0.9)")
      .from_the_start("handle_first", "Device.cublas_handle before the memory is filled")
      .from_the_start("first_product_first", "a product before the memory is filled");
  fault_arms(c, "matmul.8.eager", "the first product with 8 MiB free, and eager loading")
      .with({{"CUDA_MODULE_LOADING", "EAGER"}});
  fault_arms(c, "second_thread.8", "the first product of a second thread with 8 MiB free");
  return c;
}

failure_case cached_arrays() {
  failure_case c{.name = "cupy.cached_arrays",
                 .summary = "freed arrays stay in the pool, up to N MiB",
                 .failures = {"F-MEM-03"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free")
      .dead_end("retry", "catch the exception and do it again")
      .remedy("free_all_blocks", "free_all_blocks()")
      .remedy("new_process", "the same product in a new process")
      .from_the_start("no_pool", "cupy.cuda.set_allocator(None)")
      .from_the_start("asynchronous_pool", "cupy.cuda.MemoryAsyncPool");
  let_vary(c, "matmul.8+asynchronous_pool",
           "when the pool of the driver gives memory back to the device differs from process to process");
  return c;
}

failure_case other_process() {
  failure_case c{.name = "cupy.other_process",
                 .summary = "another process fills the GPU up to N MiB",
                 .failures = {"F-MEM-01"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free")
      .remedy("end_other_process", "end the other process");
  fault_arms(c, "large_empty.64", "an array of 1 GiB with 64 MiB free")
      .remedy("end_other_process", "end the other process");
  return c;
}

failure_case index_out_of_range() {
  failure_case c{.name = "cupy.index_out_of_range", .summary = "an index is beyond its array"};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "take", "what comes back for it");
  return c;
}

failure_case kernel_trap() {
  failure_case c{
      .name = "cupy.kernel_trap", .summary = "a kernel of the program traps", .failures = {"F-STK-04"}};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "matmul", "the first product behind the kernel")
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("free_all_blocks", "free_all_blocks()")
      .remedy("new_process", "the same product in a new process");
  fault_arms(c, "later_matmul", "a later product behind the kernel");
  return c;
}

failure_case operations() {
  failure_case c{.name = "cupy.operations", .summary = "each operation alone: what it returns and takes"};
  c.add_framework("control", arm_kind::control, "a product");
  for (const char* name :
       {"matmul", "later_matmul", "matmul_half", "matmul_bfloat16", "matmul_tf32", "batched_matmul",
        "integer_weights", "graph_replay", "second_thread", "solve", "large_empty"})
    fault_arms(c, name, "without a fault");
  fault_arms(c, "incompatible_shapes", "10x10 by 5x10");
  c.fail_on_any_architecture({"incompatible_shapes"});
  return c;
}

failure_case capture() {
  failure_case c{.name = "cupy.capture", .summary = "a CUDA graph captures what it may not hold"};
  c.add_framework("control", arm_kind::control, "a product without a capture");
  fault_arms(c, "copy_to_host", "a copy to the host").remedy("outside", "copy behind the replay");
  fault_arms(c, "synchronise", "deviceSynchronize()");
  fault_arms(c, "allocation", "an array that the pool has no memory for")
      .remedy("before", "make the arrays before the capture");
  fault_arms(c, "cold_graph", "the first product of the process");
  return c;
}

failure_case variables() {
  failure_case c{.name = "cupy.variables",
                 .summary = "environment variables that are wrong, or said to change how products run"};
  c.add_framework("control", arm_kind::control, "a product with the usual variables");
  fault_arms(c, "matmul.no_visible_device", "CUDA_VISIBLE_DEVICES is empty");
  fault_of_variable(c, "matmul.hidden_device", "CUDA_VISIBLE_DEVICES", "-1");
  fault_of_variable(c, "matmul.workspace_malformed", "CUBLAS_WORKSPACE_CONFIG", ":many:8");
  fault_of_variable(c, "matmul.workspace_0_0", "CUBLAS_WORKSPACE_CONFIG", ":0:0");
  fault_of_variable(c, "matmul.limit_malformed", "CUPY_GPU_MEMORY_LIMIT", "many");
  fault_of_variable(c, "matmul.tf32", "CUPY_TF32", "1");
  fault_of_variable(c, "matmul.eager", "CUDA_MODULE_LOADING", "EAGER");
  return c;
}

std::vector<failure_case> cupy(std::string_view only) {
  return those_named(
      only, {live_arrays(), cached_arrays(), other_process(), index_out_of_range(), kernel_trap(), capture(),
             variables(), forked_child("cupy"), operations(), injected("cupy", {"matmul", "later_matmul"}),
             injected_at_start("cupy"),
             injected_in_libraries("cupy", {{"matmul", all_of({create_rules, product_rules})}})});
}

const register_cases here{"cupy", cupy};

}  // namespace
}  // namespace cufault
