// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that answers what it is told to, for cases about drivers that are missing, stubs, or too
// old. Has no device.
//   CUFAULT_FAKE_CUINIT          what cuInit returns (default 100, CUDA_ERROR_NO_DEVICE)
//   CUFAULT_FAKE_DRIVER_VERSION  what cuDriverGetVersion says (default 99000: newer than any runtime)
// It has no cuGetProcAddress, so that a runtime falls back to looking up each function by name.
#include <cstdlib>

namespace {

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

int initialised() {
  return number("CUFAULT_FAKE_CUINIT", 100);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuInit(unsigned) {
  return initialised();
}

__attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
  *version = number("CUFAULT_FAKE_DRIVER_VERSION", 99000);
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = 0;
  return initialised();
}

}  // extern "C"
