// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with DOCTOR_FAKE_DEVICES devices (1 where it is not set), each of them DOCTOR_FAKE_GPU (stand_in_gpu.hpp). Its version is
// DOCTOR_FAKE_CUDA, 13000 where that is not set. cuInit returns DOCTOR_FAKE_CUINIT, or does not return where that is "hang".
//
// A CUDA runtime does not start on it. Nor does it on a stand-in that has all that it asks for: 13.0 returns
// cudaErrorSoftwareValidityNotEstablished there, for it checks that the driver is NVIDIA's.
#include "harness/doctor/tests/stand_in_gpu.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using cufault::number_of;
using cufault::stand_in;

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number_of("DOCTOR_FAKE_CUDA", 13000));
  return 0;
}
int cuInit(unsigned) {
  const char* code = std::getenv("DOCTOR_FAKE_CUINIT");
  while (code != nullptr && std::strcmp(code, "hang") == 0) pause();
  return code != nullptr ? std::atoi(code) : 0;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(number_of("DOCTOR_FAKE_DEVICES", 1));
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "%s", stand_in().name);
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  std::snprintf(id, static_cast<std::size_t>(size), "0000:%XB:00.0", device + 3);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int multiprocessors = 16, major = 75, minor = 76;
  *value = attribute == major             ? stand_in().major
           : attribute == minor           ? stand_in().minor
           : attribute == multiprocessors ? stand_in().multiprocessors
                                          : 0;
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = stand_in().bytes;
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  std::memset(uuid, stand_in().uuid, 15);
  uuid[15] = static_cast<unsigned char>(device);
  return 0;
}

}  // extern "C"
