// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What this program starts itself as, on a GPU.
#include "harness/binding/cublas_binding.hpp"
#include "harness/binding/driver_api.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/run_arguments.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/neighbour.hpp"
#include "harness/system/process.hpp"
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
namespace {

struct trial_arguments {
  std::string case_name, arm;
  std::optional<std::int64_t> level;
  std::uint64_t seed = 0;
  int stage = 0;
  target where;
};
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

void add_trial(command_line& line) {
  const auto said = std::make_shared<trial_arguments>();
  CLI::App* trial = line.own_command("trial", [said] { return serve_trial(*said); });
  trial->add_option("CASE", said->case_name)->required();
  trial->add_option("ARM", said->arm)->required();
  trial->add_option("--level", said->level);
  trial->add_option("--seed", said->seed);
  trial->add_option("--stage", said->stage);
  add_target(trial, said->where);
}

void add_trials_command(command_line& line) {
  struct given {
    target where;
    bool gpu = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* trials = line.own_command("trials", [said] { return serve_trials(said->where, said->gpu); });
  trials->add_flag("--gpu", said->gpu);
  add_target(trials, said->where);
}

void add_other_process(command_line& line) {
  struct given {
    int device = 0;
    std::uint64_t leave_free = 0;
  };
  const auto said = std::make_shared<given>();
  CLI::App* other_process = line.own_command(
      "other-process", [said] { return other_process::serve(said->device, said->leave_free); },
      /*outlives_thread=*/true);
  other_process->add_option("--device", said->device);
  other_process->add_option("--leave-free", said->leave_free)->required();
}

void add_neighbour(command_line& line) {
  struct given {
    int device = 0;
    std::string fault;
  };
  const auto said = std::make_shared<given>();
  CLI::App* neighbour = line.own_command(
      "neighbour", [said] { return neighbour::serve(said->device, fault_called(said->fault)); },
      /*outlives_thread=*/true);
  neighbour->add_option("--device", said->device);
  neighbour->add_option("--fault", said->fault)->required();
}

void add_driver_hold(command_line& line) {
  line.own_command("hold-driver", serve_driver_hold);
}

void add_product(command_line& line) {
  const auto where = std::make_shared<target>();
  line.own_command("load-product", [where] { return serve_product(*where); });
}

const register_command trial_here{"trial", add_trial, hidden, {needs::cuda}};
const register_command trials_here{"trials", add_trials_command, hidden, {needs::cuda}};
const register_command other_process_here{"other-process", add_other_process, hidden, {needs::cuda}};
const register_command neighbour_here{"neighbour", add_neighbour, hidden, {needs::cuda}};
const register_command hold_driver_here{"hold-driver", add_driver_hold, hidden, {needs::cuda}};
const register_command load_product_here{"load-product", add_product, hidden, {needs::cuda}};

}  // namespace

void check_libraries(const target& where) {
  try {
    static_cast<void>(files_of({where.cublas, where.cublaslt}));
    name_libraries(where.others);
  } catch (const binding_error& absent) {
    throw usage_error(absent.what());
  }
}

}  // namespace cufault
