// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/benchmarks/samples.hpp"
#include "harness/run/stack.hpp"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace cufault {

/// Puts the stack (see read_stack) into the context of Google Benchmark's JSON, a key for each part; objects as JSON in a string. The
/// program `cufault` lies beside this one. To be called while this process has no children.
inline void add_stack_to_context() {
  static const nvml management;
  const auto self = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cufault";
  const nlohmann::json stack = for_record(read_stack(self, {}, management));
  for (const auto& [key, value] : stack.items())
    benchmark::AddCustomContext(key, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace cufault
