// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 with one GPU, DOCTOR_FAKE_GPU (stand_in_gpu.hpp), that refuses to tell its ECC and compute modes. The driver's version
// is DOCTOR_FAKE_DRIVER, 580.1 where that is not set; nvmlInit_v2 returns DOCTOR_FAKE_NVML. With DOCTOR_FAKE_UNUSED in the environment no
// process uses the GPU. "fake GPU" has MIG and errors of its memory, the others do not.
#include "harness/doctor/tests/stand_in_gpu.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using cufault::number_of;
using cufault::stand_in;

constexpr int refused = 3;
int the_gpu = 0;

struct memory {
  unsigned long long total, free, used;
};
struct process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct bus {
  char old_id[16];
  unsigned domain, bus_number, device, device_id, subsystem_id;
  char id[32];
};

bool is_named() {
  return *stand_in().key != '\0';
}

/// By its first bytes.
bool is_of_stand_in(const char* uuid) {
  const unsigned byte = stand_in().uuid;
  char begin[16];
  std::snprintf(begin, sizeof begin, "GPU-%02x%02x%02x%02x", byte, byte, byte, byte);
  return std::strncmp(uuid, begin, std::strlen(begin)) == 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return static_cast<int>(number_of("DOCTOR_FAKE_NVML", 0));
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &the_gpu;
  return std::strcmp(uuid, "GPU-fake") == 0 || is_of_stand_in(uuid) ? 0 : refused;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "%s", cufault::text_of("DOCTOR_FAKE_DRIVER", "580.1"));
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = &the_gpu;
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "%s", stand_in().name);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, bus* info) {
  std::strncpy(info->id, "0000:3b:00.0", sizeof info->id);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = stand_in().major;
  *minor = stand_in().minor;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, memory* m) {
  *m = {stand_in().bytes, stand_in().bytes - stand_in().used_bytes, stand_in().used_bytes};
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
  *now = is_named() ? 0 : 1;
  *later = 0;
  return 0;
}
int nvmlDeviceGetEccMode(void*, int*, int*) {
  return refused;
}
int nvmlDeviceGetPersistenceMode(void*, int* mode) {
  *mode = 0;
  return 0;
}
int nvmlDeviceGetComputeMode(void*, int*) {
  return refused;
}
int nvmlDeviceGetTotalEccErrors(void*, int uncorrected, int, unsigned long long* count) {
  *count = is_named() ? 0 : uncorrected != 0 ? 2 : 4;
  return 0;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  *corrected = is_named() ? 0 : 1;
  *uncorrected = 0;
  *pending = is_named() ? 0 : 1;
  *failed = 0;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, process* found) {
  *count = std::getenv("DOCTOR_FAKE_UNUSED") != nullptr ? 0 : 2;
  if (*count == 0) return 0;
  found[0] = {7, 30, 0, 0};
  found[1] = {8, ~0ULL, 0, 0};
  return 0;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, process* found) {
  *count = std::getenv("DOCTOR_FAKE_UNUSED") != nullptr ? 0 : 2;
  if (*count == 0) return 0;
  found[0] = {8, 30, 0, 0};
  found[1] = {9, ~0ULL, 0, 0};
  return 0;
}

}  // extern "C"
