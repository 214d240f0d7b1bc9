// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/calls.hpp"

namespace cufault::injector {
namespace {

constexpr const char* faulty_kernels = R"(
.version 7.0
.target sm_52
.address_size 64
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 words[18] = {105, 110, 106, 101, 99, 116, 101, 100, 32, 98, 121, 32, 97, 32, 114, 117, 108, 0};
.visible .entry cufault_trap() { trap; ret; }
.visible .entry cufault_assert()
{
  .reg .b64 %text;
  .reg .b32 %line;
  .reg .b64 %one;
  mov.u64 %text, words;
  cvta.global.u64 %text, %text;
  mov.u32 %line, 1;
  mov.u64 %one, 1;
  {
    .param .b64 message;
    .param .b64 file;
    .param .b32 line;
    .param .b64 function;
    .param .b64 size;
    st.param.b64 [message], %text;
    st.param.b64 [file], %text;
    st.param.b32 [line], %line;
    st.param.b64 [function], %text;
    st.param.b64 [size], %one;
    call.uni __assertfail, (message, file, line, function, size);
  }
  ret;
}
)";

}  // namespace

int start_faulty_kernel(bool trap) {
  const exempt_from_rules alone;
  auto* load = driver_entry<int(void** module, const void* image)>("cuModuleLoadData");
  auto* get = driver_entry<int(void** function, void* module, const char* name)>("cuModuleGetFunction");
  auto* launch =
      driver_entry<int(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned shared, void* stream, void** arguments, void** extra)>("cuLaunchKernel");
  if (load == nullptr || get == nullptr || launch == nullptr) return 500;  // CUDA_ERROR_NOT_FOUND
  void* module = nullptr;  // never unloaded, because the kernel goes on running
  void* function = nullptr;
  int result = load(&module, faulty_kernels);
  if (result == 0) result = get(&function, module, trap ? "cufault_trap" : "cufault_assert");
  if (result == 0) result = launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  return result;
}

}  // namespace cufault::injector
