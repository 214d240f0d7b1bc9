// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A CUDA runtime starts only on NVIDIA's driver (harness/doctor/tests/fake_cuda.cpp). So the linker redirects the calls that read the stack
// here (--wrap in CMakeLists.txt). If DOCTOR_FAKE_GPU is set, the stand-in driver in LD_LIBRARY_PATH answers them, else the runtime. There
// is no context or memory: work that needs a GPU fails.
#include <cuda_runtime.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool on_stand_in() {
  return std::getenv("DOCTOR_FAKE_GPU") != nullptr;
}

template <class... Parameters>
cudaError_t ask_stand_in(const char* function, Parameters... arguments) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = driver != nullptr ? dlsym(driver, function) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "DOCTOR_FAKE_GPU is set and LD_LIBRARY_PATH has no stand-in with %s\n", function);
    std::abort();
  }
  return static_cast<cudaError_t>(reinterpret_cast<int (*)(Parameters...)>(found)(arguments...));
}

}  // namespace

// Before CUDA 13 a macro gives cudaGetDeviceProperties another name.
#define REAL(name) REAL_EXPANDED(name)
#define REAL_EXPANDED(name) __real_##name
#define WRAPPED(name) WRAPPED_EXPANDED(name)
#define WRAPPED_EXPANDED(name) __wrap_##name

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker makes these names
extern "C" {

cudaError_t REAL(cudaGetDeviceCount)(int*);
cudaError_t REAL(cudaGetDeviceProperties)(cudaDeviceProp*, int);
cudaError_t REAL(cudaSetDevice)(int);

cudaError_t WRAPPED(cudaGetDeviceCount)(int* count) {
  if (!on_stand_in()) return REAL(cudaGetDeviceCount)(count);
  const cudaError_t started = ask_stand_in("cuInit", 0U);
  return started == cudaSuccess ? ask_stand_in("cuDeviceGetCount", count) : started;
}

cudaError_t WRAPPED(cudaGetDeviceProperties)(cudaDeviceProp* p, int device) {
  if (!on_stand_in()) return REAL(cudaGetDeviceProperties)(p, device);
  *p = {};
  const auto attribute = [&](int* value, cudaDeviceAttr which) {
    ask_stand_in("cuDeviceGetAttribute", value, static_cast<int>(which), device);
  };
  attribute(&p->major, cudaDevAttrComputeCapabilityMajor);
  attribute(&p->minor, cudaDevAttrComputeCapabilityMinor);
  attribute(&p->multiProcessorCount, cudaDevAttrMultiProcessorCount);
  ask_stand_in("cuDeviceTotalMem_v2", &p->totalGlobalMem, device);
  ask_stand_in("cuDeviceGetUuid_v2", &p->uuid, device);
  return ask_stand_in("cuDeviceGetName", p->name, static_cast<int>(sizeof p->name), device);
}

cudaError_t WRAPPED(cudaSetDevice)(int device) {
  return on_stand_in() ? cudaSuccess : REAL(cudaSetDevice)(device);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
