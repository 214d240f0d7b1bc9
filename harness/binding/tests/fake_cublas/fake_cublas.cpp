// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcublas that needs no GPU and does what a test says:
//   FAKE_CUBLAS_CREATE   what cublasCreate does: a status number (default 0), "crash", "hang" or "exit"; "file:NAME": the content
//                        of that file beside this library, 0 without it
// The build sets its version; cublasGetVersion returns that of the cuBLASLt that it really calls.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

extern "C" int fake_cublaslt_build();

#define EXPORTED extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
EXPORTED int cublasCreate_v2(void** handle) {
  static int handle_itself;
  const char* order = std::getenv("FAKE_CUBLAS_CREATE");
  std::string read;
  if (order != nullptr && std::strncmp(order, "file:", 5) == 0) {
    Dl_info self{};
    dladdr(&handle_itself, &self);
    const std::string library = self.dli_fname;
    std::ifstream(library.substr(0, library.rfind('/') + 1) + (order + 5)) >> read;
    order = read.c_str();
  }
  if (order != nullptr && std::strcmp(order, "crash") == 0) std::abort();
  if (order != nullptr && std::strcmp(order, "exit") == 0) _exit(7);
  while (order != nullptr && std::strcmp(order, "hang") == 0) pause();
  const int status = order != nullptr ? std::atoi(order) : 0;
  if (status == 0) *handle = &handle_itself;
  return status;
}

EXPORTED int cublasDestroy_v2(void*) {
  return 0;
}

EXPORTED int cublasGetVersion_v2(void*, int* version) {
  *version = fake_cublaslt_build();
  return 0;
}

EXPORTED int cublasGetProperty(int which, int* value) {
  *value = which == 0 ? FAKE_MAJOR : which == 1 ? FAKE_MINOR : 0;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
