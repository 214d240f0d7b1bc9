// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/gpu_answers.hpp"
#include "harness/doctor/library_facts.hpp"
#include "harness/doctor/measured.hpp"

#include <cufault/known_issue.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// A program that libraries are searched for.
struct searching_program {
  std::filesystem::path file{};  ///< on the machine, links resolved
  elf_facts elf{};
};

/// All that probes look at. Tests give their own.
struct machine {
  std::map<std::string, std::string> environment{};
  std::filesystem::path root = "/";            ///< under which the files of the machine lie
  std::optional<searching_program> program{};  ///< none: no RPATH and RUNPATH but those of libraries
  std::vector<std::string> hwcaps{};           ///< of this processor, the best first: "x86-64-v3"
  std::function<driver_answers()> driver{};
  std::function<management_answers()> management{};
  std::function<library_answers(const std::filesystem::path&)> ask{};
  /// Libraries in the maps of a process after a product; throws std::runtime_error, with why there are none.
  std::function<std::vector<std::filesystem::path>()> loaded{};
  measured_facts measured{};
  std::map<std::string, std::string> packages{};  ///< of the Python here: {"torch", "2.11.0"}
  /// Of a version, on a compute capability, of a library; empty: there is no list.
  std::function<std::vector<known_match>(std::string_view, std::string_view, std::string_view)> known{};

  [[nodiscard]] std::filesystem::path at(const std::filesystem::path& path) const {
    return root / path.relative_path();
  }
  [[nodiscard]] std::string variable(const std::string& name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
  }
  [[nodiscard]] bool has(const std::string& name) const { return environment.contains(name); }
};

/// The environment of this process, and the libraries that it would find. Without `loaded`, `measured`, `known` and `program`.
machine this_machine();

}  // namespace cufault
