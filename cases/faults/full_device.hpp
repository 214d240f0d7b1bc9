// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/memory_pressure.hpp"
#include "harness/matrix/world.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// Device memory held by this process, so that so many bytes are left. An object of a world.
class device_squeeze {
 public:
  explicit device_squeeze(std::uint64_t leave_free) : held_(*device_, leave_free) {}
  void renew() { held_.renew(); }
  void release() { held_.release(); }

 private:
  std::unique_ptr<device_memory> device_ = current_device_memory();
  renewable_pressure held_;
};

/// Operations are ready, and then the device is full but for the level.
inline fault_type full_device(std::string name, std::string summary,
                              std::map<std::string, std::string> environment) {
  fault_type f;
  f.name = std::move(name);
  f.summary = std::move(summary);
  f.kind = "memory";
  f.levels = {0, 64};
  f.unit = "MiB free";
  f.environment = std::move(environment);
  f.cells = isolation::lasting;
  f.memory = memory_class::exclusive;
  f.provoke = [](world& w) {
    auto& held = w.keep<device_squeeze>(static_cast<std::uint64_t>(w.level()) << 20);
    w.undo_by([&held] { held.release(); });
    w.renew_by([&held] { held.renew(); });
  };
  return f;
}

}  // namespace cufault
