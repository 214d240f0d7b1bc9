// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 with one GPU that refuses to tell its ECC and compute modes; nvmlInit_v2 returns DOCTOR_FAKE_NVML. With
// DOCTOR_FAKE_UNUSED in the environment no process uses the GPU.
#include <cstdlib>
#include <cstring>

namespace {

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

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const char* code = std::getenv("DOCTOR_FAKE_NVML");
  return code != nullptr ? std::atoi(code) : 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &the_gpu;
  return std::strcmp(uuid, "GPU-fake") == 0 ? 0 : refused;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "580.1", size);
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
  std::strncpy(text, "fake GPU", size);
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, bus* info) {
  std::strncpy(info->id, "0000:3b:00.0", sizeof info->id);
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, memory* m) {
  *m = {100, 60, 40};
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
  *now = 1;
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
  *count = uncorrected != 0 ? 2 : 4;
  return 0;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  *corrected = 1;
  *uncorrected = 0;
  *pending = 1;
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
