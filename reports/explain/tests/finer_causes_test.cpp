// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Causes of one class that differ in their check and cure: what opens each, and what does not. Then what the driver's log, several ranks,
// wrapped lines and the end of a process add to a log.
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using testing::HasSubstr;
using testing::Not;

explanation explained(std::string_view text) {
  static const std::vector<record> records{example_stack("13.1.0")};
  static const evidence seen = evidence_in(records, known());
  static const std::vector<std::size_t> reports(known().causes.size(), 1);
  static event_finder finder(known());  // takes long to make
  finder.add(text);
  return explain(finder.finish(), {known(), seen, reports});
}

std::string first_of(std::string_view text) {
  const explanation e = explained(text);
  return e.causes.empty() ? "" : e.causes.front().what->id;
}

struct pair_of_texts {
  const char *cause, *fires, *does_not;
};

class finer_cause : public testing::TestWithParam<pair_of_texts> {};

TEST_P(finer_cause, is_first_where_its_words_are_and_not_where_others_are) {
  EXPECT_EQ(first_of(GetParam().fires), GetParam().cause);
  EXPECT_NE(first_of(GetParam().does_not), GetParam().cause);
}

INSTANTIATE_TEST_SUITE_P(
    each, finer_cause,
    testing::Values(
        pair_of_texts{"environment_other.device_numbering",
                      "RuntimeError: CUDA error: invalid device ordinal",
                      "RuntimeError: No CUDA GPUs are available"},
        pair_of_texts{
            "environment_other.device_numbering",
            "CUDA_VISIBLE_DEVICES=MIG-GPU-5c89852c/7/0\nRuntimeError: No CUDA GPUs are available",
            "CUDA_VISIBLE_DEVICES=0\nRuntimeError: CUDA error: an illegal memory access was encountered"},
        pair_of_texts{"environment_other.device_numbering",
                      "You requested gpu: [0, 1]\n But your machine only has: [0]",
                      "ValueError: Invalid device: disk0"},
        pair_of_texts{"environment_other.compute_mode",
                      "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
                      "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server"},
        pair_of_texts{"environment_other.library_not_found",
                      "ImportError: libnccl.so.2: cannot open shared object file: No such file or directory",
                      "ImportError: libtorch_cuda.so: undefined symbol: cublasLtGetStatusString"},
        pair_of_texts{"environment_other.library_not_found",
                      "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9}",
                      "libcuda.so.1: cannot open shared object file: No such file or directory"},
        pair_of_texts{"environment_other.wrong_libcuda", "CUDA driver is a stub library",
                      "CUDA driver version is insufficient for CUDA runtime version"},
        pair_of_texts{
            "environment_other.container_shared_memory",
            "DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that dataloader's "
            "workers are out of shared memory.",
            "out of resource: shared memory, Required: 131072, Hardware limit: 101376."},
        pair_of_texts{"environment_other.driver_state_after_suspend",
                      "CUDA unknown error - this may be due to an incorrectly set up environment",
                      "The NVIDIA driver on your system is too old (found version 11040)."},
        pair_of_texts{"environment_other.permissions",
                      "open(\"/dev/nvidia0\"): Permission denied\ncuInit: CUDA_ERROR_NO_DEVICE",
                      "open(\"/dev/sda\"): Permission denied\ncuInit: CUDA_ERROR_NO_DEVICE"},
        pair_of_texts{
            "environment_other.fabric_manager",
            "fabric manager NVIDIA GPU driver interface version 535.104.05 don't match with driver version",
            "nvidia-persistenced.service: Failed\nCUDA error: invalid device ordinal"},
        pair_of_texts{"environment_other.cpu_build",
                      "This CTranslate2 package was not compiled with CUDA support",
                      "RuntimeError: Found no NVIDIA driver on your system."},
        pair_of_texts{
            "memory_exhausted.device",
            "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 23.64 GiB of "
            "which 1.12 GiB is free. Of the allocated memory 20.11 GiB is allocated by PyTorch",
            "MPS backend out of memory (MPS allocated: 17.95 GB)"},
        pair_of_texts{
            "memory_exhausted.neighbour",
            "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB of "
            "which 5.25 MiB is free. Of the allocated memory 710.11 MiB is allocated by PyTorch",
            "CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 79.15 GiB of "
            "which 8.25 GiB is free. Of the allocated memory 70.11 GiB is allocated by PyTorch"},
        pair_of_texts{
            "memory_exhausted.pinned_host",
            "x = torch.empty(n, pin_memory=True)\nRuntimeError: CUDA error: out of memory",
            "loader = DataLoader(d, pin_memory=True)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to "
            "allocate 4.00 GiB"},
        pair_of_texts{"memory_exhausted.address_space", "ulimit -v 8388608\ncudaMalloc failed: out of memory",
                      "ulimit -n 1024\ncudaMalloc failed: out of memory"},
        pair_of_texts{
            "index_out_of_range.probability",
            "block: [0,0,0], thread: [0,0,0] Assertion `probability tensor contains either `inf`, `nan` or "
            "element < 0` failed.\nRuntimeError: CUDA error: device-side assert triggered",
            "block: [0,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
            "RuntimeError: CUDA error: device-side assert triggered"},
        pair_of_texts{
            "peer_to_peer.copies",
            "NCCL WARN Missing \"iommu=pt\" from kernel command line which can lead to system instability\n"
            "[Rank 1] Watchdog caught collective operation timeout",
            "[Rank 1] Watchdog caught collective operation timeout"},
        pair_of_texts{
            "peer_to_peer.copies", "Verification error @ element 1: val = 0.000000, ref = 4.000000",
            "NCCL WARN Missing \"iommu=pt\" from kernel command line which can lead to system instability"},
        pair_of_texts{"neighbour_under_mps.fault",
                      "CUDA error: the MPS client has been terminated by the server",
                      "MPS backend out of memory"},
        pair_of_texts{"neighbour_under_mps.fault",
                      "CUDA_MPS_PIPE_DIRECTORY=/tmp/mps\ncudaDeviceSynchronize: unspecified launch failure",
                      "cudaDeviceSynchronize: unspecified launch failure"},
        pair_of_texts{
            "no_code_for_gpu.kernel",
            "ValueError: FP8 is only supported on GPUs with compute capability >= 8.9, actual = `8.6`",
            "RuntimeError: CUDA error: no kernel image is available for execution on the device"},
        pair_of_texts{"mixed_libraries.pair",
                      "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
                      "`cublasLtMatmulAlgoGetHeuristic( ltHandle, computeDesc.descriptor())`",
                      "cublasSgemm: CUBLAS_STATUS_NOT_INITIALIZED"},
        pair_of_texts{
            "other_rank.late", "[Rank 1] Watchdog caught collective operation timeout",
            "[Rank 1] Watchdog caught collective operation timeout\n[Rank 0] CUDA error: an illegal memory "
            "access was encountered"}));

std::string driver_line(const std::string& text) {
  return "[22:21:32.099][25642][CUDA][E] " + text + "\n";
}

TEST(driver_log, ranks_by_the_call_of_the_driver_that_failed_first) {
  for (const bool behind : {false, true}) {
    const std::string driver = driver_line("Sticky error detected") +
                               driver_line("Returning 710 (CUDA_ERROR_ASSERT) from cuKernelGetFunction") +
                               driver_line("Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2"),
                      library =
                          "CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasCreate(handle)`\n";
    const explanation e = explained(behind ? library + driver : driver + library);
    ASSERT_FALSE(e.causes.empty());
    EXPECT_EQ(e.causes[0].what->id, "index_out_of_range.assertion");
    EXPECT_EQ(e.failure->status, "CUBLAS_STATUS_INTERNAL_ERROR");
    ASSERT_TRUE(e.driver);
    EXPECT_EQ(e.driver->call, "cuKernelGetFunction");
    EXPECT_EQ(e.driver->words, "cuKernelGetFunction: ASSERT (Sticky error detected)");
  }
}

TEST(driver_log, is_read_in_both_formats_and_alone) {
  EXPECT_EQ(first_of(driver_line("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuLibraryLoadData")),
            "memory_exhausted.device");
  EXPECT_EQ(first_of(driver_line("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuDevicePrimaryCtxRetain")),
            "memory_exhausted.neighbour");
  EXPECT_EQ(first_of("[10:00:00.001][77][CUDA][E][cuMemFree_v2] API call conflicts with a capture\n"
                     "[10:00:00.001][77][CUDA][E][cuMemFree_v2] Returning 900 "
                     "(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) from cuMemFree_v2\n"),
            "stream_capture.call");
  EXPECT_EQ(
      first_of(driver_line("CU_EVENT_RECORD_EXTERNAL flag is not set and event did not come from expected "
                           "device context") +
               driver_line("Returning 400 (CUDA_ERROR_INVALID_HANDLE) from cuEventRecord")),
      "wrong_context_or_thread.device");
  EXPECT_EQ(first_of(driver_line(
                         "One or more of block dimensions of (2048,1,1) exceeds corresponding maximum value "
                         "of (1024,1024,64)") +
                     driver_line("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernel")),
            "upstream_kernel_fault.refused_launch");
  EXPECT_EQ(first_of(driver_line("No device code available for GPU ISA 90") +
                     driver_line("Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuModuleLoad")),
            "no_code_for_gpu.not_compiled");
  EXPECT_EQ(
      first_of(driver_line("Kernel (_Z6squarePf) cannot be found in library due to compilation error, to get "
                           "more information use the CU_JIT_ERR[22:21:32.100][25642][CUDA][E] Returning 209 "
                           "(CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel")),
      "no_code_for_gpu.not_compiled");
  EXPECT_EQ(first_of(driver_line("Invalid device number 2 provided, must be in the range of 0 to 0")),
            "environment_other.device_numbering");
  EXPECT_EQ(first_of(driver_line("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuInit")),
            "memory_exhausted.address_space");
}

TEST(driver_log, opens_no_cause_by_what_healthy_programs_meet_or_a_driver_of_the_future_says) {
  for (const std::string& log :
       {driver_line("No CUDA context is current to the calling thread") +
            driver_line("Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuCtxGetDevice_v2"),
        driver_line("Kernel ($__internal_0_$__cuda_sm20_div_rn_f64_full) cannot be found in library"),
        driver_line("Error handling fatbinary") + driver_line("No available relocatable PTX entries for GPU"),
        driver_line(
            "Kernel (_Z54ncclSymkDevKernel_AllReduce_f8e4m3) cannot be found in library due to compilation "
            "error, to get more information use the CU_JIT_ERR[22:21:32.100][25642][CUDA][E] Returning 209 "
            "(CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel"),
        driver_line("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuPointerGetAttribute")}) {
    EXPECT_FALSE(explained(log).failure) << log;
    EXPECT_FALSE(explained(log).aside) << log;
  }
  const explanation future = explained(driver_line("Flux not conserved") +
                                       driver_line("Returning 1234 (CUDA_ERROR_FLUX) from cuFluxRun"));
  EXPECT_FALSE(future.failure);
  ASSERT_TRUE(future.aside);
  EXPECT_EQ(future.aside->words, "Flux not conserved");
}

TEST(ranks, names_the_one_that_failed_first_by_time_else_by_order) {
  const explanation timed = explained(
      "[rank3]:[E1015 03:22:11.1 f.cpp:616] [Rank 3] CUDA error: unspecified launch failure\n"
      "[rank0]:[E1015 03:22:10.0 f.cpp:595] [Rank 0] CUDA error: an illegal memory access was encountered\n");
  EXPECT_EQ(timed.ranks.first, 0);
  EXPECT_TRUE(timed.ranks.by_time);
  EXPECT_EQ(timed.failure->status, "cudaErrorIllegalAddress");
  const explanation ordered = explained(
      "2: RuntimeError: CUDA error: device-side assert triggered\n1: torch.OutOfMemoryError: CUDA out of "
      "memory.\n");
  EXPECT_EQ(ordered.ranks.first, 2);
  EXPECT_FALSE(ordered.ranks.by_time);
  EXPECT_EQ(ordered.causes.at(0).what->id, "index_out_of_range.assertion");
  EXPECT_EQ(explained("[rank1]: CUDA error: misaligned address").ranks.all, 0U);
}

TEST(ranks, takes_the_report_of_a_watchdog_and_of_nccl_for_no_first_failure) {
  const explanation e = explained(
      "[rank1]: torch.distributed.DistBackendError: NCCL error, unhandled cuda error\n"
      "[rank4]:[E1015 03:32:11.1 f.cpp:616] [Rank 4] Watchdog caught collective operation timeout\n"
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n");
  EXPECT_EQ(e.causes.at(0).what->id, "memory_exhausted.device");
  EXPECT_EQ(e.failure->rank, 0);
}

TEST(wrapped_lines, hold_the_failure_that_stands_across_them) {
  for (const char* const log : {"RuntimeError: CUDA error: an illegal\nmemory access was encountered",
                                "\xe2\x94\x82 RuntimeError: CUDA error: an illegal memory "
                                "\xe2\x94\x82\n\xe2\x94\x82 access was encountered "
                                "\xe2\x94\x82",
                                "RuntimeError: CUDA error: an illegal mem\nory access was encountered"})
    EXPECT_EQ(first_of(log), "upstream_kernel_fault.sticky") << log;
  EXPECT_EQ(first_of("no CUDA problem, memory is\nout of order: memory access"), "");
}

TEST(process, has_ended_where_the_log_ends_with_a_traceback) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n"
      "RuntimeError: CUDA error: device-side assert triggered\n";
  EXPECT_EQ(explained(traceback).process.state, "ended");
  EXPECT_EQ(
      explained(
          "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\"\n[rank0]: RuntimeError: "
          "CUDA error: device-side assert triggered\n")
          .process.state,
      "ended");
  std::string serves = traceback;
  for (int i = 0; i < 40; ++i) serves += "INFO: 127.0.0.1 POST /v1/completions 500\n";
  EXPECT_EQ(explained(serves).process.state, "lost");
  EXPECT_EQ(explained("RuntimeError: CUDA error: device-side assert triggered").process.state, "lost");
}

TEST(cures, are_those_of_the_framework_first_and_none_that_records_contradict) {
  const explanation llama = explained(
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8 MiB: cudaMalloc failed: out of memory");
  EXPECT_THAT(llama.causes.at(0).cures.at(0), HasSubstr("-ngl"));
  const explanation jax =
      explained("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate");
  EXPECT_THAT(jax.causes.at(0).cures.at(0), HasSubstr("XLA_PYTHON_CLIENT_MEM_FRACTION"));
  const explanation plain = explained("cudaMalloc failed: out of memory");
  EXPECT_THAT(plain.causes.at(0).cures.at(0), Not(HasSubstr("XLA_")));

  record stack = example_stack("13.1.0");
  case_result waiting{"handles.behind_waiting_kernel", {}};
  waiting.arms.push_back(example_arm("control", arm_kind::control,
                                     {example_call("cublasCreate", "CUBLAS_STATUS_SUCCESS")}, "usable"));
  waiting.arms.back().judged = verdict::ok;
  waiting.arms.push_back(example_arm(
      "create", arm_kind::fault, {example_call("cublasCreate", "CUBLAS_STATUS_EXECUTION_FAILED")}, "usable"));
  waiting.arms.push_back(example_arm("load_eagerly", arm_kind::dead_end,
                                     {example_call("cublasCreate", "CUBLAS_STATUS_EXECUTION_FAILED"),
                                      example_call("cublasCreate", "CUBLAS_STATUS_EXECUTION_FAILED", true)},
                                     "usable", "CUDA_MODULE_LOADING=EAGER"));
  stack.cases.push_back(waiting);
  const evidence seen = evidence_in(std::vector<record>{stack}, known());
  const std::vector<std::size_t> reports(known().causes.size(), 1);
  event_finder finder(known());
  finder.add("CUDA lazy loading\ncublasCreate: CUBLAS_STATUS_EXECUTION_FAILED");
  const explanation e = explain(finder.finish(), {known(), seen, reports});
  ASSERT_FALSE(e.causes.empty());
  ASSERT_EQ(e.causes[0].what->id, "module_loading.waits");
  EXPECT_EQ(e.causes[0].does_not_clear.size(), 1U);
  ASSERT_TRUE(e.causes[0].next);
  EXPECT_THAT(e.causes[0].next->text, Not(HasSubstr("CUDA_MODULE_LOADING")));
  for (const std::string& cure : e.causes[0].cures) EXPECT_THAT(cure, Not(HasSubstr("CUDA_MODULE_LOADING")));
}

TEST(ranking, puts_no_cause_that_is_only_possible_above_one_that_is_supported) {
  for (const pair_of_texts& texts :
       {pair_of_texts{"", "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(`", ""},
        pair_of_texts{"", "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", ""},
        pair_of_texts{"", "cublasLtMatmul hangs", ""},
        pair_of_texts{"", "CUDA error: unspecified launch failure", ""}}) {
    const explanation e = explained(texts.fires);
    for (std::size_t i = 1; i < e.causes.size(); ++i)
      EXPECT_LE(static_cast<int>(e.causes[i].sure), static_cast<int>(e.causes[i - 1].sure)) << texts.fires;
  }
}

TEST(next_check, is_not_the_call_that_failed) {
  const explanation e = explained("cudaDeviceSynchronize: unspecified launch failure");
  ASSERT_FALSE(e.causes.empty());
  for (const ranked_cause& c : e.causes)
    EXPECT_THAT(c.next ? c.next->text : "", Not(HasSubstr("cudaDeviceSynchronize() directly"))) << c.what->id;
}

TEST(next_check, of_a_destroyed_stream_is_about_calls_that_destroy) {
  const explanation e = explained(
      "[23:20:51.775][7][CUDA][E] Returning 709 (CUDA_ERROR_CONTEXT_IS_DESTROYED) from cuLaunchKernelEx\n"
      "cublasSgemm_v2 returned CUBLAS_STATUS_EXECUTION_FAILED\n");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes.front().what->id, "lifetime_or_exit_order.handle");
  EXPECT_THAT(e.causes.front().what->text, HasSubstr("stream or context"));
  ASSERT_TRUE(e.causes.front().next);
  EXPECT_THAT(e.causes.front().next->text, HasSubstr("leave out calls that destroy"));
  const explanation exits =
      explained("terminate called after cudaFree returned cudaErrorCudartUnloading: driver shutting down");
  ASSERT_FALSE(exits.causes.empty());
  ASSERT_TRUE(exits.causes.front().next);
  EXPECT_THAT(exits.causes.front().next->text, HasSubstr("before main returns"));
}

TEST(long_logs, take_no_number_far_above_for_a_circumstance) {
  std::string log;
  for (int step = 65500; step < 65600; ++step) log += "step " + std::to_string(step) + " on a GPU\n";
  EXPECT_EQ(first_of(log + "CUDA error: an illegal memory access was encountered"),
            first_of("on a GPU\nCUDA error: an illegal memory access was encountered"));
}

TEST(long_logs, keep_bounded_memory_with_messages_of_the_driver_and_many_ranks) {
  event_finder finder(known());
  for (int i = 0; i < 30000; ++i)
    finder.add("[rank" + std::to_string(i) + "]: CUDA error: an illegal\n[10:00:00.001][" +
               std::to_string(i) + "][CUDA][E] Reason " + std::to_string(i) +
               "\n[10:00:00.001][1][CUDA][E] Returning " + std::to_string(i) + " (CUDA_ERROR_X" +
               std::to_string(i) + ") from cuX" + std::to_string(i) + "\n");
  const log_findings found = finder.finish();
  EXPECT_LE(found.events.size(), 410U);
  EXPECT_LE(found.ranks.size(), 64U);
  EXPECT_GT(found.dropped, 1000U);
}

}  // namespace
}  // namespace cufault
