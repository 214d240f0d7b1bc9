// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a user of PyTorch sees of the failures of other families: exceptions, their texts, memory of the caching allocator. Each fault is
// documented in issue threads of PyTorch and in its notes on CUDA.
#include "cases/frameworks/framework_case.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace cufault {
namespace {

failure_case live_tensors() {
  failure_case c{.name = "pytorch.live_tensors",
                 .summary = "live tensors fill the GPU up to N MiB",
                 .failures = {"F-MEM-01", "F-MEM-02"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free", {"S0-5", "S0-7"})
      .dead_end("retry", "catch the exception and do it again")
      .remedy("del", "del the tensors, and leave them in the cache")
      .dead_end("empty_cache", "empty_cache() while the tensors live")
      .remedy("del_and_empty_cache", "del the tensors and empty_cache()", {"S0-14"})
      .remedy("smaller_batch", "half of the tensors, and empty_cache()", {"S0-9"})
      .remedy("half_precision", "all tensors in half of the bytes", {"S0-9"})
      .remedy("to_device", "place the operands by .to(device)", {"S0-8"})
      .dead_end("clear_workspaces", "_cuda_clearCublasWorkspaces()")
      .dead_end("cublaslt", "preferred_blas_library('cublaslt')")
      .remedy("new_process", "the same product in a new process")
      .from_the_start("first_product_first", "a product before the memory is filled")
      .by_variable("no_workspace", "CUBLAS_WORKSPACE_CONFIG", ":0:0", {"S2-12"})
      .by_variable("eager_loading", "CUDA_MODULE_LOADING", "EAGER");
  fault_arms(c, "matmul.64", "the first product with 64 MiB free", {"S0-5"});
  fault_arms(c, "matmul.512", "the first product with 512 MiB free", {"S0-5"});
  fault_arms(c, "matmul.8.eager", "the first product with 8 MiB free, and eager loading", {"S0-5"})
      .with({{"CUDA_MODULE_LOADING", "EAGER"}});
  fault_arms(c, "later_matmul.8", "a later product with 8 MiB free");
  fault_arms(c, "second_thread.8", "the first product of a second thread with 8 MiB free");
  fault_arms(c, "linear.64", "the first linear layer with 64 MiB free")
      .by_variable("no_addmm_lt", "DISABLE_ADDMM_CUDA_LT", "1", {"S2-13"})
      .by_variable("no_lt_workspace", "CUBLASLT_WORKSPACE_SIZE", "0");
  fault_arms(c, "matmul_fp8.64", "the first FP8 product with 64 MiB free");
  fault_arms(c, "embedding.64", "an embedding and the linear layer behind it with 64 MiB free");
  fault_arms(c, "solve.64", "linalg.solve with 64 MiB free");
  fault_arms(c, "graph_replay.64", "a product captured and replayed with 64 MiB free");
  fault_arms(c, "training_step.64", "a step of training with 64 MiB free")
      .remedy("checkpointing", "the same step by torch.utils.checkpoint", {"S2-7"})
      .dead_end("larger_batch", "the same step with twice the rows", {"S2-11"});
  fault_arms(c, "large_matmul.32", "a later product of 64 MiB with 32 MiB free")
      .remedy("in_parts", "in eight parts", {"S1-6"});
  return c;
}

failure_case cached_tensors() {
  failure_case c{.name = "pytorch.cached_tensors",
                 .summary = "freed tensors stay in the allocator's cache, up to N MiB",
                 .failures = {"F-MEM-03"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free", {"S0-5"})
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("gc", "gc.collect() and ipc_collect()")
      .remedy("empty_cache", "empty_cache()", {"S0-14"})
      .dead_end("clear_workspaces", "_cuda_clearCublasWorkspaces()")
      .remedy("new_process", "the same product in a new process")
      .from_the_start("first_product_first", "a product before the memory is filled")
      .from_the_start("expandable_segments", "expandable_segments:True",
                      {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}})
      .by_variable("no_caching", "PYTORCH_NO_CUDA_MEMORY_CACHING", "1");
  fault_arms(c, "matmul.64", "the first product with 64 MiB free", {"S0-5"});
  fault_arms(c, "later_matmul.8", "a later product with 8 MiB free");
  fault_arms(c, "solve.64", "linalg.solve with 64 MiB free").remedy("empty_cache", "empty_cache()");
  return c;
}

failure_case other_process() {
  failure_case c{.name = "pytorch.other_process",
                 .summary = "another process fills the GPU up to N MiB",
                 .failures = {"F-MEM-01"}};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "matmul.8", "the first product with 8 MiB free", {"S0-5"})
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("empty_cache", "empty_cache() in this process")
      .remedy("end_other_process", "end the other process")
      .from_the_start("first_product_first", "a product before the memory is filled");
  fault_arms(c, "matmul.64", "the first product with 64 MiB free", {"S0-5"});
  fault_arms(c, "training_step.64", "a step of training with 64 MiB free");
  return c;
}

failure_case fragmentation() {
  failure_case c{.name = "pytorch.fragmentation",
                 .summary = "free memory of the allocator is in holes that are too small"};
  c.add_framework("control", arm_kind::control, "a first product, with all memory");
  fault_arms(c, "large_empty", "a tensor that fits into all holes together and into none", {"S2-3"})
      .dead_end("retry", "catch the exception and do it again")
      .remedy("empty_cache", "empty_cache()", {"S2-8"})
      .remedy("del_and_empty_cache", "del the tensors and empty_cache()")
      .from_the_start("expandable_segments", "expandable_segments:True",
                      {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}})
      .from_the_start("max_split_size", "max_split_size_mb:128",
                      {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128"}});
  fault_arms(c, "linear", "the first linear layer where the allocator's memory is in holes", {"S2-3"});
  let_vary(c, "large_empty",
           "whether the next product finds two MiB depends on what segments leave of the device");
  return c;
}

failure_case index_out_of_range() {
  failure_case c{.name = "pytorch.index_out_of_range",
                 .summary = "an index is beyond its table, and a kernel of PyTorch asserts",
                 .failures = {"F-STK-01"}};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "embedding", "an embedding and the linear layer behind it", {"S3-7"})
      .from_the_start("check_index", "compare the index with the table first");
  fault_arms(c, "gather", "a gather", {"S3-7"});
  fault_arms(c, "matmul", "the first product behind an embedding that nobody waited for", {"S3-7"})
      .dead_end("retry", "catch the exception and do it again", {"S1-5"})
      .dead_end("empty_cache", "empty_cache()")
      .dead_end("synchronize", "synchronize() and go on")
      .remedy("new_process", "the same product in a new process")
      .diagnosis("blocking_launches", "CUDA_LAUNCH_BLOCKING=1", {{"CUDA_LAUNCH_BLOCKING", "1"}});
  fault_arms(c, "later_matmul", "a later product behind it", {"S3-7"});
  fault_arms(c, "linear", "a linear layer behind it", {"S3-7"});
  fault_arms(c, "solve", "linalg.solve behind it");
  let_race(c, {"embedding", "matmul", "later_matmul", "linear"},
           "the assertion may come before or behind the call that reports it");
  return c;
}

failure_case kernel_fault(const char* name, const char* summary, const char* field_failure,
                          const std::set<std::string>& racing = {}) {
  failure_case c{.name = name, .summary = summary, .failures = {field_failure}};
  c.add_framework("control", arm_kind::control, "a product without the fault");
  fault_arms(c, "matmul", "the first product behind the kernel")
      .dead_end("retry", "catch the exception and do it again")
      .dead_end("empty_cache", "empty_cache()")
      .remedy("new_process", "the same product in a new process");
  fault_arms(c, "later_matmul", "a later product behind the kernel");
  fault_arms(c, "training_step", "a step of training behind the kernel");
  let_race(c, racing, "the error of the kernel may come before cublasCreate or while it runs");
  return c;
}

failure_case capture() {
  failure_case c{.name = "pytorch.capture", .summary = "a CUDA graph captures what it may not hold"};
  c.add_framework("control", arm_kind::control, "a product without a capture");
  fault_arms(c, "copy_to_host", "a copy to the host").remedy("outside", "copy behind the replay");
  fault_arms(c, "synchronise", "synchronize()");
  fault_arms(c, "cold_graph", "the first product of the process");
  return c;
}

failure_case variables() {
  failure_case c{.name = "pytorch.variables",
                 .summary = "environment variables that are wrong, or said to change how products run"};
  c.add_framework("control", arm_kind::control, "a product with the usual variables");
  fault_arms(c, "matmul.no_visible_device", "CUDA_VISIBLE_DEVICES is empty");
  fault_of_variable(c, "matmul.hidden_device", "CUDA_VISIBLE_DEVICES", "-1");
  fault_of_variable(c, "matmul.workspace_malformed", "CUBLAS_WORKSPACE_CONFIG", ":many:8");
  fault_of_variable(c, "matmul.workspace_0_0", "CUBLAS_WORKSPACE_CONFIG", ":0:0");
  fault_of_variable(c, "linear.lt_workspace_malformed", "CUBLASLT_WORKSPACE_SIZE", "many");
  fault_of_variable(c, "linear.no_addmm_lt", "DISABLE_ADDMM_CUDA_LT", "1", {"S2-13"});
  fault_of_variable(c, "matmul.prefer_cublaslt", "TORCH_BLAS_PREFER_CUBLASLT", "1");
  fault_of_variable(c, "matmul.allocator_malformed", "PYTORCH_CUDA_ALLOC_CONF", "no_such_setting:1");
  fault_of_variable(c, "matmul.eager", "CUDA_MODULE_LOADING", "EAGER");
  fault_arms(c, "addmm.deterministic", "use_deterministic_algorithms(True) without CUBLAS_WORKSPACE_CONFIG")
      .by_variable("workspace_4096_8", "CUBLAS_WORKSPACE_CONFIG", ":4096:8");
  fault_arms(c, "cost_of_no_addmm_lt", "what a linear layer costs without cuBLASLt");
  c.arms.back().timeout = std::chrono::seconds(120);  // it starts two interpreters
  fault_arms(c, "workspace_footprints", "what a first product takes by CUBLAS_WORKSPACE_CONFIG", {"S2-12"});
  c.arms.back().timeout = std::chrono::seconds(120);  // it starts five
  return c;
}

/// A library of the second cuBLAS; empty where there is none: arms that take it then do not run.
std::string of_other_cublas(const std::string& stem) {
  const char* folder = std::getenv("CUFAULT_OTHER_CUBLAS");
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder != nullptr ? folder : "/nonexistent", none))
    if (entry.path().filename().string().starts_with(stem) &&
        entry.path().string().find_first_of(": ") ==
            std::string::npos)  // LD_PRELOAD has no way to name those
      return entry.path();
  return {};
}

failure_case mixed_pair() {
  failure_case c{.name = "pytorch.mixed_pair",
                 .summary = "cuBLAS of PyTorch with the cuBLASLt of another version",
                 .failures = {"F-ENV-01"}};
  c.add_framework("control", arm_kind::control, "a product with the pair of PyTorch");
  for (const char* name :
       {"matmul", "matmul_half", "matmul_fp8", "bmm", "addmm", "linear", "training_step", "solve"})
    fault_arms(c, name, "with the cuBLASLt of the second cuBLAS in LD_PRELOAD")
        .from_the_start("whole_pair", "its libcublas in LD_PRELOAD, too");
  for (arm& a : c.arms) {
    if (a.kind == arm_kind::control) continue;
    a.other_cublas = true;
    a.preload = {of_other_cublas("libcublasLt.so")};
    if (!a.against.empty()) a.preload.insert(a.preload.begin(), of_other_cublas("libcublas.so"));
    std::erase(a.preload, "");
  }
  return c;
}

/// Each operation in terms of the framework, in an interpreter that has done nothing else.
failure_case operations() {
  failure_case c{.name = "pytorch.operations", .summary = "each operation alone: what it returns and takes"};
  c.add_framework("control", arm_kind::control, "a product");
  for (const char* name : {"matmul", "later_matmul", "matmul_half", "matmul_bfloat16", "matmul_tf32",
                           "matmul_fp8", "large_matmul", "addmm", "linear", "bmm", "training_step",
                           "checkpointed_step", "embedding", "solve", "graph_replay", "second_thread"})
    fault_arms(c, name, "without a fault");
  fault_arms(c, "memory_of_half_precision", "a step of training in FP32, in FP16 and by autocast", {"S0-16"});
  fault_arms(c, "matmul_fp8_k_of_8", "an FP8 product with k of 8, where 16 is asked for");
  return c;
}

failure_case documented_examples() {
  failure_case c{.name = "pytorch.documented_examples",
                 .summary = "code examples of the source documents, as printed"};
  c.add_framework("control", arm_kind::control, "a product");
  fault_arms(c, "too_large", "a tensor of 1024 x 1024 x 1024 x 1024", {"S1-4"})
      .remedy("catch", "catch the exception and go on", {"S1-5"})
      .remedy("smaller", "a smaller tensor", {"S1-6"});
  fault_arms(c, "ten_by_ten_times_ten_by_five", "10x10 by 10x5, which a document calls wrong", {"S1-8"});
  fault_arms(c, "incompatible_shapes", "10x10 by 5x10", {"S1-7", "S1-9"});
  fault_arms(c, "cpu_input", "an input on the CPU for a model on the GPU", {"S3-9"})
      .remedy("to_device", "move the input by .to(device)");
  fault_arms(c, "integer_model", "a model that is moved to an integer type", {"S3-10"});
  fault_arms(c, "integer_weights", "weights of an integer type, and an input of float", {"S3-10", "S3-11"})
      .remedy("float", "a model of the type of its input");
  fault_arms(c, "example_2", "inputs of 1x20x10 and of 1x10x20 for a layer of 10 features");
  fault_arms(c, "example_2_of_20_features", "the same inputs for a layer of 20 features", {"S3-12"});
  fault_arms(c, "cublas_gemm", "torch.cuda.cublas_gemm", {"S3-13"});
  c.fail_on_any_architecture({"incompatible_shapes", "cpu_input", "cpu_input+to_device", "integer_model",
                              "integer_weights", "integer_weights+float", "example_2",
                              "example_2_of_20_features", "cublas_gemm"});
  return c;
}

/// Code of pages (framework_trials/snippets.py).
failure_case snippets() {
  failure_case c{.name = "pytorch.snippets",
                 .summary = "code of pages that fails, and the same code corrected"};
  c.add_framework("control", arm_kind::control, "a product");
  constexpr std::array<std::array<const char*, 3>, 4> all{
      {{"index", "an index behind the table of an embedding", "a table for the greatest index"},
       {"device", "an input on the CPU for a layer on the GPU", "move the input to the device of the layer"},
       {"shapes", "a layer with fewer inputs than there are numbers", "as many inputs as there are numbers"},
       {"memory", "all products at once, which do not fit", "the product in parts"}}};
  for (const auto& [name, mistake, cure] : all) {
    fault_arms(c, name, mistake);
    c.add_framework(name + std::string("_corrected"), arm_kind::remedy, cure).against = name;
  }
  return c;
}

/// Shapes of issues of PyTorch (framework_trials/pytorch_canaries.py), against a float64 reference.
failure_case numbers() {
  failure_case c{.name = "pytorch.numbers",
                 .summary = "shapes for which wrong numbers, a refusal or a crash were reported",
                 .failures = {"F-NUM-01", "F-ARG-07", "F-MEM-08", "F-CAP-03", "F-NS-01", "F-NS-02", "F-NS-03",
                              "F-NS-08"}};
  c.add_framework("control", arm_kind::control, "a product");
  fault_arms(c, "mv_beyond_31_bits", "a matrix of more than 2^31 - 1 elements by a vector");
  fault_arms(c, "mm_beyond_31_bits", "the same by a matrix of one column");
  fault_arms(c, "column_beyond_31_bits", "a column of such a matrix by itself");
  fault_arms(c, "bmm_beyond_31_bits", "outer products with more than 2^31 - 1 elements in all");
  fault_arms(c, "linear_14x4096", "a linear layer of FP16, 14 rows, 4096 features");
  fault_arms(c, "matmul_20x4096", "20x4096 by 4096x2048 in FP16");
  fault_arms(c, "matmul_64x14688", "64x14688 by 14688x1536 in FP16");
  fault_arms(c, "matmul_32x116", "32 products of 116x116 by 116x128 in FP16");
  fault_arms(c, "bmm_65536", "65536 products of 8x64 by 64x8 in FP16");
  fault_arms(c, "scores_13269", "106152 products of 22x64 by 64x22 in FP16");
  fault_arms(c, "linear_655360x10", "a linear layer with a bias, 655360 rows, 10 features");
  fault_arms(c, "rows_beyond_21_bits", "more than 2^21 rows by a matrix of 2x2");
  fault_arms(c, "padded_linear", "a layer of BF16, and the same with zeros behind its weights");
  fault_arms(c, "unaligned_addmm", "operands and bias that begin at odd elements");
  fault_arms(c, "half_cancelling", "FP16: half of a sum is beyond 65504, and the other half takes it back")
      .from_the_start("no_reduced_precision", "allow_fp16_reduced_precision_reduction = False");
  fault_arms(c, "bfloat16_cancelling", "BF16: half of a sum takes back the other half")
      .from_the_start("no_reduced_precision", "allow_bf16_reduced_precision_reduction = False");
  const std::map<std::string, std::string> workspace{{"CUBLASLT_WORKSPACE_SIZE", "32768"}};
  fault_arms(c, "half_cancelling_addmm", "the same of FP16 by addmm, with 32 MiB for cuBLASLt")
      .from_the_start("no_reduced_precision", "allow_fp16_reduced_precision_reduction = False", workspace)
      .with(workspace);
  fault_arms(c, "fp8_row_by_column", "FP8, 4096x3072 by 3072x3072: rows by columns");
  fault_arms(c, "fp8_row_by_row", "the same, rows by rows");
  fault_arms(c, "fp8_column_by_column", "the same, columns by columns");
  fault_arms(c, "fp8_column_by_row", "the same, columns by rows");
  fault_arms(c, "fp8_blocks", "the same with a scale for 32 values");
  fault_arms(c, "fp8_rowwise", "FP8, 256x4096 by 4096x4096, with a scale for each row and column");
  fault_arms(c, "fp8_e4m3_by_e5m2", "FP8, 16x16 by 16x16, E4M3 by E5M2");
  fault_arms(c, "fp8_e5m2_by_e4m3", "FP8, 16x16 by 16x16, E5M2 by E4M3");
  fault_arms(c, "fp8_e5m2_by_e5m2", "FP8, 16x16 by 16x16, E5M2 by E5M2");
  fault_arms(c, "fp8_7x7", "FP8, 7x7 by 7x7");
  fault_arms(c, "fp8_17_rows", "FP8, 17x16 by 16x16");
  fault_arms(c, "graph_of_ended_thread", "a graph is replayed after the thread that captured it has ended");
  fault_arms(c, "graphs_of_one_stream", "a graph is replayed after another one of its stream was reset");
  return c;
}

/// In JAX and CuPy no rule for cudaMalloc acted (reports/recorded/2026-11-23-h200-library-rules.txt).
const std::vector<injected_rule> runtime_rules{
    {"cuda_malloc", "cudaMalloc returns cudaErrorMemoryAllocation"},
    {"cuda_malloc_once", "one cudaMalloc returns cudaErrorMemoryAllocation"}};

std::vector<failure_case> pytorch(std::string_view only) {
  return those_named(
      only,
      {live_tensors(), cached_tensors(), other_process(), fragmentation(), index_out_of_range(),
       kernel_fault("pytorch.kernel_trap", "a kernel of the program traps", "F-STK-04"),
       // Of matmul+retry one trial on an H100 came to NOT_INITIALIZED, one on an H200 to INTERNAL_ERROR.
       kernel_fault("pytorch.illegal_address", "a kernel of the program writes to an illegal address",
                    "F-STK-02", {"matmul"}),
       forked_child("pytorch"), capture(), variables(), mixed_pair(), operations(), documented_examples(),
       snippets(), numbers(), injected("pytorch", {"matmul", "later_matmul", "linear"}),
       injected_at_start("pytorch"),
       injected_in_libraries("pytorch", {{"matmul", all_of({create_rules, product_rules, runtime_rules})},
                                         {"linear", lt_rules}})});
}

const register_cases here{"pytorch", pytorch};

}  // namespace
}  // namespace cufault
