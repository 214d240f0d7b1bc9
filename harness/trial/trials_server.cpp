// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trial/trials_server.hpp"

#include "harness/binding/cublas_binding.hpp"
#include "harness/system/children.hpp"
#include "harness/trial/trial.hpp"
#include "kernels/product.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <string>

namespace cufault {
namespace {

namespace fs = std::filesystem;

std::size_t entries_of(const char* folder) {
  std::error_code none;
  fs::directory_iterator at(folder, none);
  return none ? 0 : static_cast<std::size_t>(std::distance(begin(at), end(at)));
}

/// State of this process that a trial must not change.
struct process_state {
  std::set<std::string> environment;
  fs::path folder;
  std::size_t descriptors = 0, threads = 0, children = 0;
  int device = 0;
  std::size_t free_memory = 0;
  std::uint64_t pool_memory = 0;
};

std::uint64_t pool_memory_of(int device) {
  cudaMemPool_t pool = nullptr;
  std::uint64_t used = 0, in_graphs = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess)
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  cudaDeviceGetGraphMemAttribute(device, cudaGraphMemAttrUsedMemCurrent, &in_graphs);
  return used + in_graphs;
}

process_state state_now(bool gpu) {
  process_state now;
  for (char** entry = environ; *entry != nullptr; ++entry) now.environment.insert(*entry);
  std::error_code none;
  now.folder = fs::current_path(none);
  now.descriptors = entries_of("/proc/self/fd");
  now.threads = entries_of("/proc/self/task");
  now.children = children_of_this_process().size();
  if (gpu) {
    std::size_t total = 0;
    cudaGetDevice(&now.device);
    cudaMemGetInfo(&now.free_memory, &total);
    now.pool_memory = pool_memory_of(now.device);
    cudaGetLastError();  // an older driver lacks the attribute; clears that error
  }
  return now;
}

/// Thresholds for memory taken by a trial, in bytes. With other users on the GPU the owner of taken memory is unknown, so only large
/// amounts count. Kernels loaded at first use stay.
constexpr std::size_t taken_alone = std::size_t{256} << 20, taken_beside_others = std::size_t{4} << 30;

/// What differs; "" if nothing does. Ignores an error that an earlier call left inside cuBLAS. On an H200, cublasSetMatrixAsync after
/// trials that left nothing else returned CUBLAS_STATUS_MAPPING_ERROR (reports/recorded/2026-11-24-runs.txt).
std::string damage(const process_state& before, bool gpu, bool alone) {
  // Without a driver or GPU the runtime returns an error to every call.
  const auto absent = [&](cudaError_t e) {
    return !gpu && (e == cudaErrorInsufficientDriver || e == cudaErrorNoDevice);
  };
  if (const cudaError_t left = cudaPeekAtLastError(); left != cudaSuccess && !absent(left))
    return fmt::format("the last error is {}", cudaGetErrorName(left));
  if (gpu) {
    if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess)
      return fmt::format("cudaDeviceSynchronize returns {}", cudaGetErrorName(e));
    bool right = false;
    if (const cudaError_t e = prove_context(fresh_seed(), &right); e != cudaSuccess || !right)
      return fmt::format("a product of ours came to {}",
                         e != cudaSuccess ? cudaGetErrorName(e) : "wrong numbers");
  }
  const process_state now = state_now(gpu);
  for (const std::string& entry : now.environment)
    if (!before.environment.contains(entry))
      return fmt::format("the environment has {}", entry.substr(0, entry.find('=')));
  if (now.environment != before.environment) return "the environment lacks a variable";
  if (now.folder != before.folder) return fmt::format("the working folder is {}", now.folder.string());
  const auto grown = [](const char* what, std::size_t was, std::size_t is) {
    return is > was ? fmt::format("{} {} where there were {}", is, what, was) : std::string();
  };
  for (const std::string& more : {grown("descriptors", before.descriptors, now.descriptors),
                                  grown("threads", before.threads, now.threads),
                                  grown("child processes", before.children, now.children)})
    if (!more.empty()) return more;
  if (now.device != before.device) return fmt::format("device {} is current", now.device);
  if (now.pool_memory > before.pool_memory)
    return fmt::format("{} bytes of the device's memory pool were not given back",
                       now.pool_memory - before.pool_memory);
  if (now.free_memory + (alone ? taken_alone : taken_beside_others) < before.free_memory)
    return fmt::format("{} bytes of device memory less are free", before.free_memory - now.free_memory);
  return {};
}

/// Makes what the first trial would make (a context, threads of the driver) before the state is read.
void warm_up(const target& where) {
  bind_cublas({where.cublas, where.cublaslt});
  bool right = false;
  cublasHandle_t handle = nullptr;
  if (cudaSetDevice(where.device) != cudaSuccess || prove_context(fresh_seed(), &right) != cudaSuccess)
    return;
  if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS) cublasDestroy(handle);
}

const arm& arm_called(const std::string& case_name, const std::string& name) {
  if (const arm* const a = find_arm(case_name, name); a != nullptr) return *a;
  throw std::runtime_error(fmt::format("there is no {}/{}", case_name, name));
}

bool tell(const std::string& line) {
  const std::string text = line + "\n";
  return send(STDIN_FILENO, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

}  // namespace

int serve_trials(const target& where, bool gpu) {
  name_libraries(where.others);
  if (gpu) warm_up(where);
  const process_state before = state_now(gpu);
  for (std::string request; std::getline(std::cin, request);) {
    const nlohmann::json asked = nlohmann::json::parse(request);
    const auto case_name = asked.at("case").get<std::string>(), arm_name = asked.at("arm").get<std::string>();
    const arm& a = arm_called(case_name, arm_name);
    trial_options options;
    options.seed = asked.at("seed").get<std::uint64_t>();
    options.device = where.device;
    options.libraries = {where.cublas, where.cublaslt};
    options.shares_process = true;
    trial::run(a, options);
    std::cout << std::flush;
    std::fflush(nullptr);
    // A batch damages its process on purpose; its arms report when they need another one.
    std::string found = a.batch.empty() ? damage(before, gpu, asked.at("alone").get<bool>())
                                        : trial::current().shares_no_further();
    if (!found.empty()) found = fmt::format("{}/{}: {}", asked.at("case").get<std::string>(), a.name, found);
    std::replace(found.begin(), found.end(), '\n', ' ');
    if (!tell(found)) return 1;
  }
  return 0;
}

}  // namespace cufault
