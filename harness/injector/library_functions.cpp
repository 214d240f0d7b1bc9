// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/library_functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace cufault::injector {
namespace {

// functions_NAME and codes_NAME of each library.
#define CUFAULT_LIBRARY_CODE(name, code)
#define CUFAULT_LIBRARY_FUNCTION(name) function_name{#name},
#include "library_functions.inc"
#undef CUFAULT_LIBRARY_CODE
#undef CUFAULT_LIBRARY_FUNCTION
#define CUFAULT_LIBRARY_CODE(name, code) {#name, code},
#define CUFAULT_LIBRARY_FUNCTION(name)
#include "library_codes.inc"
#undef CUFAULT_LIBRARY_CODE
#undef CUFAULT_LIBRARY_FUNCTION

using texts = const std::string_view[];

constexpr texts files_cudart{"libcudart"}, files_cublas{"libcublas"}, files_cublas_lt{"libcublasLt"},
    files_cudnn{"libcudnn"}, files_cusolver{"libcusolver", "libcusolverMg"}, files_nccl{"libnccl"},
    files_nvml{"libnvidia-ml"};

// As driver_functions.cpp has it of the driver: work, waits and frees. Globs of names without suffix.
constexpr texts work_cudart{
    "cudaLaunch*",           "cudaGraphLaunch",      "cudaGraphUpload",       "cudaMemcpy*",
    "cudaMemset*",           "cudaMemPrefetch*",     "cudaMemAdvise",         "cudaStreamWaitEvent",
    "cudaStreamSynchronize", "cudaStreamAttachMem*", "cudaStreamDestroy",     "cudaEventRecord*",
    "cudaEventSynchronize",  "cudaEventDestroy",     "cudaDeviceSynchronize", "cudaFree",
    "cudaFreeAsync",         "cudaFreeHost"};
constexpr texts work_cublas{"cublas*"};
constexpr texts no_work_cublas{"cublasCreate*", "cublasDestroy*", "cublasGet*",
                               "cublasSet*",    "cublasLogger*",  "cublasXt*"};
constexpr texts work_cublas_lt{"cublasLtMatmul", "cublasLtMatrixTransform"};
constexpr texts work_cudnn{"cudnnBackendExecute", "cudnn*Forward*",   "cudnn*Backward*",
                           "cudnnAddTensor",      "cudnnOpTensor",    "cudnnReduceTensor",
                           "cudnnSetTensor",      "cudnnScaleTensor", "cudnnTransform*"};
constexpr texts no_work_cudnn{"cudnnGet*", "cudnnSet*Descriptor*", "cudnnFind*", "cudnnCreate*",
                              "cudnnDestroy*"};
constexpr texts work_cusolver{"cusolverDn[SDCZX]*"};
constexpr texts no_work_cusolver{"*_bufferSize*", "*Get*", "*Set*", "*Create*", "*Destroy*"};
constexpr texts work_nccl{"ncclAllReduce",     "ncclAllGather", "ncclAlltoAll",  "ncclReduce",
                          "ncclReduceScatter", "ncclBcast",     "ncclBroadcast", "ncclGather",
                          "ncclScatter",       "ncclSend",      "ncclRecv"};

constexpr known_library all[]{
    {"cudart",
     "cuda",
     "cudaError",
     "cudaMalloc:3=MemoryAllocation",
     files_cudart,
     functions_cudart,
     codes_cudart,
     work_cudart,
     {}},
    {"cublas", "cublas", "CUBLAS_STATUS_", "cublasGemmEx:3=EXECUTION_FAILED", files_cublas, functions_cublas,
     codes_cublas, work_cublas, no_work_cublas},
    {"cublasLt",
     "cublasLt",
     "CUBLAS_STATUS_",
     "cublasLtMatmul:3=EXECUTION_FAILED",
     files_cublas_lt,
     functions_cublasLt,
     codes_cublasLt,
     work_cublas_lt,
     {}},
    {"cudnn", "cudnn", "CUDNN_STATUS_", "cudnnBackendExecute:3=EXECUTION_FAILED", files_cudnn,
     functions_cudnn, codes_cudnn, work_cudnn, no_work_cudnn},
    {"cusolver", "cusolver", "CUSOLVER_STATUS_", "cusolverDnCreate:1=ALLOC_FAILED", files_cusolver,
     functions_cusolver, codes_cusolver, work_cusolver, no_work_cusolver},
    {"nccl",
     "nccl",
     "nccl",
     "ncclAllReduce:3=SystemError",
     files_nccl,
     functions_nccl,
     codes_nccl,
     work_nccl,
     {}},
    {"nvml",
     "nvml",
     "NVML_ERROR_",
     "nvmlDeviceGetMemoryInfo:3=GPU_IS_LOST",
     files_nvml,
     functions_nvml,
     codes_nvml,
     {},
     {}}};

// A library's number is compiled into libcufault_NAME.so.
#define CUFAULT_LIBRARY(name) #name,
constexpr std::string_view of_build[]{
#include "libraries.inc"
};
#undef CUFAULT_LIBRARY
static_assert(std::equal(std::begin(all), std::end(all), std::begin(of_build), std::end(of_build),
                         [](const known_library& library, std::string_view name) {
                           return library.name == name;
                         }));

}  // namespace

std::span<const known_library> libraries() {
  return all;
}

const known_library* library_named(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(all), std::end(all), [&](const known_library& l) { return l.name == name; });
  return found != std::end(all) ? found : nullptr;
}

std::string library_names() {
  std::vector<std::string_view> names;
  for (const known_library& each : all) names.push_back(each.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const known_library* library_of(std::string_view function) {
  // A glob is of the library that its beginning names.
  function = function.substr(0, function.find_first_of("*?[\\"));
  if (function_name{function}.is_for_compilers()) function.remove_prefix(2);
  const known_library* longest = nullptr;
  for (const known_library& each : all)
    if (function.starts_with(each.prefix) &&
        (longest == nullptr || longest->prefix.size() < each.prefix.size()))
      longest = &each;
  return longest;
}

const function_name* function_in(const known_library& of, std::string_view name) {
  for (const function_name& each : of.functions)
    if (each.text == name) return &each;
  return nullptr;
}

bool is_file_of(const known_library& of, std::string_view file) {
  return std::any_of(of.files.begin(), of.files.end(), [&](std::string_view begin) {
    return file.size() > begin.size() && file.starts_with(begin) &&
           std::string_view(".-_").find(file[begin.size()]) != std::string_view::npos;
  });
}

bool can_be_dropped(const known_library& of, const function_name& function) {
  const std::string base{function.base()};
  const auto is_like = [&](std::string_view glob) {
    return fnmatch(std::string{glob}.c_str(), base.c_str(), 0) == 0;
  };
  return std::any_of(of.work.begin(), of.work.end(), is_like) &&
         std::none_of(of.no_work.begin(), of.no_work.end(), is_like);
}

std::optional<int> code_in(const known_library* of, std::string_view name) {
  if (of == nullptr) return driver_code(name);
  for (const auto& [full, number] : of->codes)
    if (name == full || (full.starts_with(of->code_prefix) && name == full.substr(of->code_prefix.size())))
      return number;
  return std::nullopt;
}

std::string code_name(const known_library* of, int code) {
  if (of == nullptr) return driver_code_name(code);
  for (const library_code& each : of->codes)
    if (each.number == code) return std::string{each.name};
  return fmt::format("{} status {}", of->name, code);
}

}  // namespace cufault::injector
