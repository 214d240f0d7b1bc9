// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace cufault {

/// The management library of the driver, loaded if it is there. Needs no CUDA context and makes none, so that
/// the parent process may look. Everything is optional: without NVML every answer is empty. Source of the
/// entry points: NVML API reference; only functions whose ABI is frozen by a _v2 name or by their first
/// release.
class nvml {
 public:
  nvml();
  ~nvml();
  nvml(const nvml&) = delete;
  nvml& operator=(const nvml&) = delete;

  [[nodiscard]] std::optional<std::string> driver_version() const;  ///< "580.159.04"
  [[nodiscard]] std::optional<std::uint64_t> used_bytes(
      const std::string& gpu_uuid) const;  ///< by all processes together
  /// Processes with a context or graphics on it.
  [[nodiscard]] std::set<unsigned> users(const std::string& gpu_uuid) const;

 private:
  struct library;
  std::unique_ptr<library> library_;
};

/// "2 other processes use GPU 0 (pid 12, 34): ..."; empty where there is none. Processes of `own`, this program, are left out: runs of it
/// wait for each other.
std::string line_of_others(int number, std::set<unsigned> users, const std::filesystem::path& own);

}  // namespace cufault
