// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace cufault {
namespace {

// From the API reference: handles are opaque pointers, 0 is success, memory is three 64-bit byte counts.
using device_handle = void*;
struct memory_counts {
  unsigned long long total, free, used;
};

}  // namespace

struct nvml::library {
  void* handle = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_uuid)(const char*, device_handle*) = nullptr;
  int (*memory)(device_handle, memory_counts*) = nullptr;
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

}  // namespace cufault
