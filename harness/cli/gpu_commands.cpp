// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/binding/cublas_binding.hpp"
#include "harness/binding/driver_api.hpp"
#include "harness/cli/cli.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/neighbour.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/stack_probe.hpp"
#include "harness/trial/trial.hpp"
#include "harness/trial/trials_server.hpp"
#include "reports/base/files.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <set>
#include <string>

namespace cufault {

void check_libraries(const target& where) {
  try {
    static_cast<void>(files_of({where.cublas, where.cublaslt}));
    name_libraries(where.others);
  } catch (const binding_error& absent) {
    throw usage_error(absent.what());
  }
}

int serve_trial(const trial_arguments& arguments) {
  const failure_case* const c = find_case(arguments.case_name);
  if (c == nullptr) throw usage_error("no case " + arguments.case_name);
  const arm* const a = find_arm(*c, arguments.arm);
  if (a == nullptr) throw usage_error(arguments.case_name + " has no arm " + arguments.arm);
  name_libraries(arguments.where.others);
  trial_options options;
  options.level = arguments.level;
  options.seed = arguments.seed;
  options.stage = arguments.stage;
  options.device = arguments.where.device;
  options.libraries = {arguments.where.cublas, arguments.where.cublaslt};
  return trial::run(*a, options);
}

int serve_shared_trials(const target& where, bool gpu) {
  return serve_trials(where, gpu);
}

int serve_other_process(int device, std::uint64_t leave_free) {
  return other_process::serve(device, leave_free);
}

int serve_neighbour(int device, const std::string& fault) {
  return neighbour::serve(device, fault_called(fault));
}

int serve_driver_hold() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) throw usage_error(fmt::format("libcuda.so.1: {}", dlerror()));
  if (const CUresult status = driver::cuInit(0); status != CUDA_SUCCESS)
    throw usage_error(fmt::format("cuInit returned {}", static_cast<int>(status)));
  // Standard input is a channel of both directions (resident_process).
  for (std::string request; std::getline(std::cin, request);)
    if (!write_all(STDIN_FILENO, "held\n")) return exit_unresolved;
  return 0;
}

int serve_probe(const target& where) {
  return probe_stack(where);
}

int serve_product(const target& where) {
  bind_cublas({where.cublas, where.cublaslt});
  constexpr int n = 32;
  float* device = nullptr;
  cublasHandle_t handle = nullptr;
  const float one = 1;
  const auto cuda = [](cudaError_t status, const char* call) {
    if (status != cudaSuccess) throw usage_error(fmt::format("{}: {}", call, cudaGetErrorName(status)));
  };
  const auto cublas = [](cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw usage_error(fmt::format("{}: {}", call, cublasGetStatusName(status)));
  };
  cuda(cudaSetDevice(where.device), "cudaSetDevice");
  cuda(cudaMalloc(reinterpret_cast<void**>(&device), 3 * n * n * sizeof(float)), "cudaMalloc");
  cuda(cudaMemset(device, 0, 3 * n * n * sizeof(float)), "cudaMemset");
  cublas(cublasCreate(&handle), "cublasCreate");
  cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, device, n, device + n * n, n, &one,
                     device + 2 * n * n, n),
         "cublasSgemm");
  cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string text; std::getline(maps, text);)
    if (const auto path = text.find('/'); path != text.npos) files.insert(text.substr(path));
  std::string said;
  for (const std::string& file : files) said += file + "\n";
  return write_all(report_fd, said) ? 0 : exit_unresolved;
}

}  // namespace cufault
