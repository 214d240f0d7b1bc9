// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

 private:
  struct library;
  std::unique_ptr<library> library_;
};

}  // namespace cufault
