// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is found in what programs print. By the tables of cases/explain: they are what is tested.
#include "reports/explain/events.hpp"

#include "reports/explain/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace cufault {

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

log_findings findings(std::string_view text) {
  static event_finder finder(known());
  finder.add(text);
  return finder.finish();
}

/// "cublasCreate CUBLAS_STATUS_ALLOC_FAILED", of each failure.
std::vector<std::string> failures(std::string_view text) {
  std::vector<std::string> all;
  for (const log_event& e : findings(text).events)
    if (e.role == event_role::failure) all.push_back(e.call + " " + e.status);
  return all;
}

std::vector<std::string> ids(std::string_view text) {
  std::vector<std::string> all;
  for (const log_event& e : findings(text).events) all.push_back(e.id);
  return all;
}

TEST(event_finder, finds_status_and_call_in_what_frameworks_print) {
  EXPECT_THAT(
      failures("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
      ElementsAre("cublasCreate CUBLAS_STATUS_ALLOC_FAILED"));
  EXPECT_THAT(failures("cuBLAS error 13 at ggml-cuda.cu:1: the function failed to launch on the GPU"),
              ElementsAre(" CUBLAS_STATUS_EXECUTION_FAILED"));
  EXPECT_THAT(
      failures("E0000 cuda_blas.cc:1] failed to create cublas handle: the resource allocation failed"),
      Contains("cublasCreate CUBLAS_STATUS_ALLOC_FAILED"));
  EXPECT_THAT(failures("CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered"),
              ElementsAre(" cudaErrorIllegalAddress"));
  EXPECT_THAT(failures("CUBLASError: a message (code 14, CUBLAS_STATUS_INTERNAL_ERROR)"),
              ElementsAre(" CUBLAS_STATUS_INTERNAL_ERROR"));
  EXPECT_THAT(failures("CUBLAS failure 7: CUBLAS_STATUS_INVALID_VALUE ; GPU=0 ; expr=cublasGemmEx(a, b)"),
              ElementsAre("cublasGemmEx CUBLAS_STATUS_INVALID_VALUE"));
  EXPECT_THAT(failures("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."),
              ElementsAre(" Xid 79"));
}

TEST(event_finder, takes_the_short_name_of_a_status_that_a_person_types) {
  EXPECT_THAT(failures("cublasCreate INTERNAL_ERROR"),
              ElementsAre("cublasCreate CUBLAS_STATUS_INTERNAL_ERROR"));
  EXPECT_THAT(failures("cublasCreate_v2 returned CUDA_ERROR_OUT_OF_MEMORY"),
              ElementsAre("cublasCreate cudaErrorMemoryAllocation"));
}

TEST(event_finder, takes_the_call_from_a_line_nearby) {
  EXPECT_THAT(failures("CUDA error: out of memory\n  in function f\n  cudaMalloc(&p, n)\n"),
              ElementsAre("cudaMalloc cudaErrorMemoryAllocation"));
  EXPECT_THAT(failures("cublasSgemm_v2(handle)\nstatus CUBLAS_STATUS_NOT_SUPPORTED\n"),
              ElementsAre("cublasSgemm CUBLAS_STATUS_NOT_SUPPORTED"));
  EXPECT_THAT(failures("cublasSgemm(handle)\n\n\n\n\nCUBLAS_STATUS_NOT_SUPPORTED\n"),
              ElementsAre(" CUBLAS_STATUS_NOT_SUPPORTED"));
}

TEST(event_finder, finds_the_words_of_the_driver_and_of_other_libraries) {
  EXPECT_THAT(failures("RuntimeError: CUDA driver error: invalid argument"),
              ElementsAre(" cudaErrorInvalidValue"));
  EXPECT_THAT(failures("RuntimeError: CUDA driver error: device not ready"),
              ElementsAre(" cudaErrorNotReady"));
  EXPECT_THAT(
      failures(
          "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in "
          "a non-contiguous input."),
      ElementsAre(" CUDNN_STATUS_NOT_SUPPORTED"));
  EXPECT_THAT(failures("12 passed in 3.2s, cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"), IsEmpty());
}

TEST(event_finder, takes_no_success_and_no_comparison_for_a_failure) {
  EXPECT_THAT(failures("cublasCreate: CUBLAS_STATUS_SUCCESS, cudaSuccess, CUDA_SUCCESS"), IsEmpty());
  EXPECT_THAT(failures("Check failed: e == cudaErrorCudartUnloading || cudaErrorNoDevice != e"), IsEmpty());
  EXPECT_THAT(failures("CUDA error 0 at a.cu:1"), IsEmpty());
}

TEST(event_finder, keeps_the_first_of_equal_events_and_counts_them) {
  const auto found = findings("\n\nout of memory\nfine\nout of memory\n");
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].line, 3U);
  EXPECT_EQ(found.events[0].times, 2U);
  EXPECT_EQ(found.lines, 5U);
}

TEST(event_finder, leaves_out_lines_that_are_known_to_be_harmless) {
  EXPECT_THAT(failures("Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS "
                       "when one has already "
                       "been registered, CUBLAS_STATUS_INTERNAL_ERROR"),
              IsEmpty());
  EXPECT_THAT(failures("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."), IsEmpty());
}

TEST(event_finder, leaves_out_of_a_line_only_what_is_harmless_where_the_rest_tells_of_an_error) {
  EXPECT_THAT(
      failures("[rank0]: NCCL INFO comm destroyed [rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried "
               "to allocate 2 GiB"),
      ElementsAre(" cudaErrorMemoryAllocation"));
  EXPECT_THAT(
      failures("tests/test_blas.py::test_a PASSED RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED "
               "when calling cublasSgemm"),
      ElementsAre("cublasSgemm CUBLAS_STATUS_EXECUTION_FAILED"));
  EXPECT_THAT(failures("no CUDA errors before step 5; then CUDA error: misaligned address"),
              ElementsAre(" cudaErrorMisalignedAddress"));
  for (const char* harmless :
       {"NCCL INFO comm destroyed, no error: all is well", "a.py::test_out_of_memory PASSED",
        "no CUDA errors before step 5; error: no CUDA out of memory",
        "with pytest.raises(RuntimeError, match=\"CUDA error: misaligned address\"):",
        "case CUBLAS_STATUS_ALLOC_FAILED: return \"error: CUBLAS_STATUS_ALLOC_FAILED\";"})
    EXPECT_THAT(failures(harmless), IsEmpty()) << harmless;
  std::string often;
  for (int i = 0; i < 1000; ++i) often += "NCCL INFO error: ";
  EXPECT_THAT(failures(often), IsEmpty());
}

TEST(event_finder, finds_codes_and_names_as_programs_print_them) {
  EXPECT_THAT(failures("Check failed: err == CUBLAS_STATUS_SUCCESS (1 vs. 0) : Create cublas handle failed"),
              ElementsAre("cublasCreate CUBLAS_STATUS_NOT_INITIALIZED"));
  EXPECT_THAT(failures("Check failed: e == cudaSuccess (2 vs. 0)"),
              ElementsAre(" cudaErrorMemoryAllocation"));
  EXPECT_THAT(failures("CUBLAS initialization failed"),
              ElementsAre("cublasCreate CUBLAS_STATUS_NOT_INITIALIZED"));
  EXPECT_THAT(failures("!!!! CUBLAS initialization error"),
              ElementsAre("cublasCreate CUBLAS_STATUS_NOT_INITIALIZED"));
  EXPECT_THAT(failures("cublasCreate_v2 returned error code 1, line(12)"),
              ElementsAre("cublasCreate CUBLAS_STATUS_NOT_INITIALIZED"));
  EXPECT_THAT(failures("status: 14 from cublasGemmEx"),
              ElementsAre("cublasGemmEx CUBLAS_STATUS_INTERNAL_ERROR"));
  EXPECT_THAT(failures("cublas_status_internal_error when calling cublascreate"),
              ElementsAre(" CUBLAS_STATUS_INTERNAL_ERROR"));
  EXPECT_THAT(failures("numba.cuda.cudadrv.driver.CudaAPIError: [700] Call to cuMemcpyDtoH results in "
                       "UNKNOWN_CUDA_ERROR"),
              ElementsAre("cuMemcpyDtoH cudaErrorIllegalAddress"));
}

TEST(event_finder, finds_calls_of_which_a_log_says_only_that_they_failed) {
  EXPECT_THAT(failures("a.cu:12: main: Assertion `cublasCreate(&h) == CUBLAS_STATUS_SUCCESS' failed."),
              ElementsAre("cublasCreate FAILED"));
  EXPECT_THAT(failures("cublasCreate failed"), ElementsAre("cublasCreate FAILED"));
  EXPECT_THAT(failures("cublasSgemm failed"), ElementsAre("cublasSgemm FAILED"));
  EXPECT_THAT(failures("cudaMalloc(&p, n) failed"), ElementsAre("cudaMalloc FAILED"));
  EXPECT_THAT(failures("cublasSgemm execution failed"), ElementsAre("cublasSgemm FAILED"));
  EXPECT_THAT(failures("cublasSgemm failed: 13"), ElementsAre("cublasSgemm CUBLAS_STATUS_EXECUTION_FAILED"));
  for (const char* none : {"if cudaMalloc failed, free memory", "printf(\"cublasSgemm failed\\n\");",
                           "cudaMalloc never failed", "cublasSgemm: failedover"})
    EXPECT_THAT(failures(none), IsEmpty()) << none;
}

TEST(event_finder, finds_statuses_of_other_libraries) {
  EXPECT_THAT(
      failures("CUDA error: CUSPARSE_STATUS_INSUFFICIENT_RESOURCES when calling cusparseCreate(handle)"),
      ElementsAre("cusparseCreate CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"));
  for (const char* status :
       {"CUFFT_INTERNAL_ERROR", "CURAND_STATUS_INITIALIZATION_FAILED", "NVRTC_ERROR_INVALID_OPTION",
        "ncclSystemError", "CUSOLVER_STATUS_ZERO_PIVOT", "CUDNN_STATUS_LICENSE_ERROR"})
    EXPECT_THAT(failures(std::string("error: ") + status + ": it failed"),
                ElementsAre(" " + std::string(status)));
  EXPECT_THAT(failures("CUFFT_SUCCESS, CURAND_STATUS_SUCCESS, CUFFT_R2C, NVRTC_SUCCESS, ncclSuccess"),
              IsEmpty());
  EXPECT_THAT(failures("NVRTC_ERROR_COMPILATION: a.cu(4): error: expected a \";\""), IsEmpty());
  EXPECT_THAT(failures("case NVRTC_ERROR_COMPILATION: return \"NVRTC_ERROR_COMPILATION\";"), IsEmpty());
}

TEST(event_finder, takes_no_circumstance_from_the_source_that_a_message_repeats) {
  EXPECT_THAT(ids("CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, m, lda, ldb, "
                  "workspace)`"),
              Not(Contains("workspace.setting")));
  EXPECT_THAT(ids("CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, m, "
                  "CUBLAS_COMPUTE_32F)`"),
              Not(Contains("types.compute")));
  EXPECT_THAT(ids("CUBLAS_COMPUTE_32F"), Contains("types.compute"));
}

TEST(event_finder, concludes_from_versions_that_stand_apart) {
  EXPECT_THAT(ids("torch 2.1.2+cu121\nNVIDIA GeForce RTX 5090\n"), Contains("log.gpu_newer_than_toolkit"));
  EXPECT_THAT(ids("torch 2.7.0+cu128\nNVIDIA GeForce RTX 5090\n"),
              Not(Contains("log.gpu_newer_than_toolkit")));
  EXPECT_THAT(ids("CUDA 13.0\nTesla V100\n"), Contains("log.gpu_older_than_toolkit"));
  EXPECT_THAT(ids("CUDA 13.0\nDriver Version: 535.104.05\n"), Contains("log.driver_older_than_toolkit"));
  EXPECT_THAT(ids("CUDA 12.4\nDriver Version: 535.104.05\n"), Not(Contains("log.driver_older_than_toolkit")));
  EXPECT_THAT(ids("torch 2.1.2+cu121\nnvidia/cuda:12.9.1\n"), Contains("log.two_cuda_versions"));
  EXPECT_THAT(ids("torch 2.1.2+cu121\nCUDA 12.1.105\n"), Not(Contains("log.two_cuda_versions")));
  EXPECT_THAT(ids("cublasSgemm failed with status 7 at gemm.cu:12"), Contains("log.plain_program"));
  EXPECT_THAT(ids("cublasSgemm failed with status 7"), Not(Contains("log.plain_program")));
  EXPECT_THAT(
      ids("RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasSgemm(` at a.cpp:7"),
      Not(Contains("log.plain_program")));
}

struct memory_text {
  const char *log, *id, *words;
};
class memory_in_a_log : public testing::TestWithParam<memory_text> {};

TEST_P(memory_in_a_log, is_read_with_its_line_and_compared) {
  const log_findings found = findings("first line\n" + std::string(GetParam().log));
  const auto at = std::ranges::find_if(found.events, [](const log_event& e) {
    return e.id == "memory.full" || e.id == "memory.asked" || e.id == "memory.enough" ||
           e.id == "memory.some";
  });
  ASSERT_NE(at, found.events.end()) << GetParam().log;
  EXPECT_EQ(at->id, GetParam().id);
  EXPECT_EQ(at->words, GetParam().words);
  EXPECT_EQ(at->line, 2U);
}

INSTANTIATE_TEST_SUITE_P(
    each, memory_in_a_log,
    testing::Values(
        memory_text{"GPU 0 has a total capacity of 23.65 GiB of which 10.25 MiB is free.", "memory.full",
                    "10.25 MiB of 23.65 GiB is free"},
        memory_text{"Memory usage: 2624061440 bytes free, 12524191744 bytes total.", "memory.enough",
                    "2.44 GiB of 11.66 GiB is free"},
        memory_text{
            "Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 8.25 GiB is "
            "free.",
            "memory.asked", "9 GiB is asked for, and 8.25 GiB of 79.15 GiB is free"},
        memory_text{"GPU 0 has a total capacity of 23.65 GiB of which 1.5 GiB is free.", "memory.some",
                    "1.5 GiB of 23.65 GiB is free"},
        memory_text{"Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total capacity; 5.20 GiB already allocated; "
                    "1.10 GiB free; 5.31 GiB reserved in total by PyTorch)",
                    "memory.asked", "2 GiB is asked for, and 1.1 GiB of 7.79 GiB is free"},
        memory_text{"| N/A   41C    P0    68W / 300W |  24500MiB / 24576MiB |      0%      Default |",
                    "memory.full", "76 MiB of 24 GiB is free"},
        memory_text{"Free memory on device (0.21/23.64 GiB) on startup is less than desired", "memory.full",
                    "215.04 MiB of 23.64 GiB is free"},
        memory_text{"using device CUDA0 (NVIDIA GeForce RTX 3090) - 120 MiB free", "memory.full",
                    "120 MiB is free"},
        memory_text{"library=cuda total=\"23.6 GiB\" available=\"22.1 GiB\"", "memory.enough",
                    "22.1 GiB of 23.6 GiB is free"}));

TEST(event_finder, says_nothing_of_memory_that_was_free_when_the_program_had_ended) {
  EXPECT_THAT(ids("| 0%  24C  P8  9W / 300W |  3MiB / 24576MiB |"), Not(Contains("memory.enough")));
  EXPECT_THAT(ids("24576 MiB, 300 MiB"), Not(Contains("memory.full"))) << "total and used, in this order";
  EXPECT_THAT(ids("disk: 3 GB free of 10 GB"), Not(Contains("memory.enough")));
  EXPECT_THAT(ids("Memory usage: 99999999999999999999999 bytes free, 0 bytes total"), IsEmpty());
}

TEST(event_finder, multiplies_the_extents_of_a_shape) {
  EXPECT_THAT(ids("x torch.Size([65536, 40000])"), Contains("sizes.shape"));
  EXPECT_THAT(ids("f32[65536,40000]{1,0} fusion"), Contains("sizes.shape"));
  EXPECT_THAT(ids("x torch.Size([4096, 4096])"), Not(Contains("sizes.shape")));
  EXPECT_THAT(ids("shape: [batch, 65536, 40000]"), Not(Contains("sizes.shape")));
}

TEST(event_finder, keeps_no_word_of_people_and_no_name_of_a_project_as_an_event) {
  for (const char* words :
       {"import transformers", "xla/stream_executor/cuda/cuda_blas.cc", "the workspace of the project",
        "vocab_size = 32000", "PyTorch 2.6 in docker on a GPU", "site-packages/torch/nn/modules/linear.py"})
    EXPECT_THAT(ids(words), IsEmpty()) << words;
}

std::vector<std::string> frameworks(std::string_view text) {
  const log_findings found = findings(text);
  const auto at = found.facts.find("framework");
  return at == found.facts.end() ? std::vector<std::string>{} : at->second;
}

TEST(event_finder, takes_a_framework_from_what_programs_print_and_from_no_address_licence_or_prose) {
  EXPECT_THAT(frameworks("  File \"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 125"),
              ElementsAre("PyTorch"));
  EXPECT_THAT(frameworks("faster than PyTorch\nggml_cuda_init: found 1 CUDA devices:"),
              ElementsAre("llama.cpp"));
  EXPECT_THAT(
      frameworks("kv 12: general.license.link = x/PyTorch/LICENSE\nhttps://huggingface.co/torch/PyTorch"),
      IsEmpty());
  EXPECT_THAT(frameworks("PyTorch version: 2.6"), ElementsAre("PyTorch"));
}

TEST(event_finder, reads_colour_codes_half_utf_8_and_other_languages) {
  EXPECT_THAT(failures("\x1b[31mCUBLAS_STATUS_\x1b[0mALLOC_FAILED"),
              ElementsAre(" CUBLAS_STATUS_ALLOC_FAILED"));
  EXPECT_THAT(failures("\xc3 Fehler \xff: out of memory \xe2\x82"),
              ElementsAre(" cudaErrorMemoryAllocation"));
  EXPECT_THAT(failures("\xe9\x94\x99\xe8\xaf\xaf: CUBLAS_STATUS_NOT_INITIALIZED"),
              ElementsAre(" CUBLAS_STATUS_NOT_INITIALIZED"));
}

TEST(event_finder, does_not_depend_on_how_the_log_comes) {
  const std::string text =
      "torch 2.1.2+cu121\nCUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\nXid "
      "79\n";
  const log_findings whole = findings(text);
  for (const std::size_t at_once : {1U, 5U, 64U}) {
    event_finder finder(known());
    for (std::size_t at = 0; at < text.size(); at += at_once)
      finder.add(std::string_view(text).substr(at, at_once));
    const log_findings parts = finder.finish();
    ASSERT_EQ(parts.events.size(), whole.events.size());
    for (std::size_t i = 0; i < whole.events.size(); ++i) {
      EXPECT_EQ(parts.events[i].id, whole.events[i].id);
      EXPECT_EQ(parts.events[i].line, whole.events[i].line);
    }
    EXPECT_EQ(parts.facts, whole.facts);
  }
}

TEST(event_finder, keeps_a_bounded_number_of_events) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "cublasCreate: CUBLAS_STATUS_X" + std::to_string(i) + "\n";
  text += "GPU ";
  for (int i = 0; i < 100; ++i) text += "CUDA 1" + std::to_string(i) + ".1\n";
  const auto found = findings(text);
  EXPECT_LE(found.events.size(), 410U);
  EXPECT_GT(found.dropped, 2000U);
  EXPECT_LE(found.facts.at("cuda").size(), 8U);
}

}  // namespace
}  // namespace cufault
