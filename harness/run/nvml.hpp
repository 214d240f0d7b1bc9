// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// The driver's management library, if it is there. It needs no CUDA context, so the parent process may use it. Without NVML every answer
/// is empty. Source: NVML API reference; only functions whose ABI is frozen by a _v2 name or by their first release.
class nvml {
 public:
  nvml();
  ~nvml();
  nvml(const nvml&) = delete;
  nvml& operator=(const nvml&) = delete;

  [[nodiscard]] std::optional<std::string> driver_version() const;  ///< "580.159.04"
  [[nodiscard]] std::optional<std::uint64_t> used_bytes(
      const std::string& gpu_uuid) const;  ///< by all processes together
  struct memory_of_gpu {
    std::uint64_t used, total;
  };
  [[nodiscard]] std::vector<memory_of_gpu> memory() const;  ///< of each GPU, in NVML's order
  /// Processes with a compute or graphics context on the GPU.
  [[nodiscard]] std::set<unsigned> users(const std::string& gpu_uuid) const;
  [[nodiscard]] std::set<unsigned> compute_users() const;  ///< with a compute context, on any GPU

 private:
  struct library;
  std::unique_ptr<library> library_;
};

/// E.g. "2 other processes use GPU 0 (pid 12, 34): ..."; "" if there is none. Leaves out processes of the program `own`: its runs wait for
/// each other.
std::string line_of_others(int number, std::set<unsigned> users, const std::filesystem::path& own);

}  // namespace cufault
