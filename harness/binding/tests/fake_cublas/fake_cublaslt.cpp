// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The cuBLASLt beside fake_cublas.cpp.
#define EXPORTED extern "C" __attribute__((visibility("default")))

// A test can put code for a GPU here in a copy of this library, by renaming the section to .nv_fatbin.
__attribute__((section(".nv_fatbi_"), used)) static const char room_for_gpu_code[128] = "room for GPU code";

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
EXPORTED int fake_cublaslt_build() {
  return FAKE_MAJOR * 100 + FAKE_MINOR;
}

EXPORTED int cublasLtCreate(void** handle) {
  static int handle_itself;
  *handle = &handle_itself;
  return 0;
}

EXPORTED int cublasLtDestroy(void*) {
  return 0;
}

EXPORTED int cublasLtGetProperty(int which, int* value) {
  *value = which == 0 ? FAKE_MAJOR : which == 1 ? FAKE_MINOR : 0;
  return 0;
}
// NOLINTEND(readability-identifier-naming)
