// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with DOCTOR_FAKE_DEVICES devices (1 where it is not set); cuInit returns DOCTOR_FAKE_CUINIT, or does not return where
// that is "hang".
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuInit(unsigned) {
  const char* code = std::getenv("DOCTOR_FAKE_CUINIT");
  while (code != nullptr && std::strcmp(code, "hang") == 0) pause();
  return code != nullptr ? std::atoi(code) : 0;
}
int cuDeviceGetCount(int* count) {
  const char* devices = std::getenv("DOCTOR_FAKE_DEVICES");
  *count = devices != nullptr ? std::atoi(devices) : 1;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "fake GPU", static_cast<std::size_t>(size));
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  std::snprintf(id, static_cast<std::size_t>(size), "0000:%XB:00.0", device + 3);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int major = 75;
  *value = attribute == major ? 9 : 0;
  return 0;
}

}  // extern "C"
