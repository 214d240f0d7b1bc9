// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/nvml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

namespace cufault {
namespace {

// NVML API reference: handles are opaque pointers, 0 is success, memory is three 64-bit byte counts.
using device_handle = void*;
struct memory_counts {
  unsigned long long total, free, used;
};
struct process_memory {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

struct nvml::library {
  void* handle = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_uuid)(const char*, device_handle*) = nullptr;
  int (*memory)(device_handle, memory_counts*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, device_handle*) = nullptr;
  std::array<int (*)(device_handle, unsigned*, process_memory*), 2> processes{};

  /// The `kind`-th list of processes of a GPU.
  void add_users(device_handle device, std::size_t kind, std::set<unsigned>& pids) const {
    std::array<process_memory, 256> found{};
    unsigned all = found.size();
    if (processes[kind] == nullptr || processes[kind](device, &all, found.data()) != 0) return;
    for (const process_memory& p : std::span(found).first(std::min<std::size_t>(all, found.size())))
      pids.insert(p.pid);
  }
};

nvml::nvml() {
  auto l = std::make_unique<library>();
  l->handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (l->handle == nullptr) return;
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(l->handle, name));  // NOLINT: what dlsym is for
    return function != nullptr;
  };
  int (*start)() = nullptr;
  if (bind(start, "nvmlInit_v2") && bind(l->shutdown, "nvmlShutdown") &&
      bind(l->driver_version, "nvmlSystemGetDriverVersion") &&
      bind(l->device_by_uuid, "nvmlDeviceGetHandleByUUID") && bind(l->memory, "nvmlDeviceGetMemoryInfo") &&
      start() == 0) {
    bind(l->count, "nvmlDeviceGetCount_v2");
    bind(l->device_by_index, "nvmlDeviceGetHandleByIndex_v2");
    // Missing in older drivers.
    bind(l->processes[0], "nvmlDeviceGetComputeRunningProcesses_v3");
    bind(l->processes[1], "nvmlDeviceGetGraphicsRunningProcesses_v3");
    library_ = std::move(l);
  } else {
    dlclose(l->handle);
  }
}

nvml::~nvml() {
  if (!library_) return;
  library_->shutdown();
  dlclose(library_->handle);
}

std::optional<std::string> nvml::driver_version() const {
  std::array<char, 96> text{};
  if (!library_ || library_->driver_version(text.data(), text.size()) != 0) return {};
  return std::string(text.data());
}

std::optional<std::uint64_t> nvml::used_bytes(const std::string& gpu_uuid) const {
  device_handle device = nullptr;
  memory_counts counts{};
  if (!library_ || library_->device_by_uuid(gpu_uuid.c_str(), &device) != 0) return {};
  if (library_->memory(device, &counts) != 0) return {};
  return counts.used;
}

std::vector<nvml::memory_of_gpu> nvml::memory() const {
  std::vector<memory_of_gpu> all;
  unsigned count = 0;
  if (!library_ || library_->count == nullptr || library_->device_by_index == nullptr ||
      library_->count(&count) != 0)
    return all;
  for (unsigned i = 0; i < count; ++i) {
    device_handle device = nullptr;
    memory_counts counts{};
    if (library_->device_by_index(i, &device) == 0) library_->memory(device, &counts);
    all.push_back({counts.used, counts.total});
  }
  return all;
}

std::set<unsigned> nvml::users(const std::string& gpu_uuid) const {
  std::set<unsigned> pids;
  device_handle device = nullptr;
  if (!library_ || library_->device_by_uuid(gpu_uuid.c_str(), &device) != 0) return pids;
  for (const std::size_t kind : {0, 1}) library_->add_users(device, kind, pids);
  return pids;
}

std::set<unsigned> nvml::compute_users() const {
  std::set<unsigned> pids;
  unsigned all = 0;
  if (!library_ || library_->count == nullptr || library_->device_by_index == nullptr ||
      library_->count(&all) != 0)
    return pids;
  device_handle device = nullptr;
  for (unsigned i = 0; i < all; ++i)
    if (library_->device_by_index(i, &device) == 0) library_->add_users(device, 0, pids);
  return pids;
}

std::string line_of_others(int number, std::set<unsigned> users, const std::filesystem::path& own) {
  std::erase_if(users, [&](unsigned pid) {
    std::error_code unseen;
    return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), unseen) == own;
  });
  if (users.empty()) return {};
  const bool one = users.size() == 1;
  return fmt::format(
      "{} other process{} GPU {} (pid {}): arms that fill its memory or end with a fault can disturb {}; "
      "see reports/pages/what-a-run-does.md",
      users.size(), one ? " uses" : "es use", number, fmt::join(users, ", "), one ? "it" : "them");
}

}  // namespace cufault
