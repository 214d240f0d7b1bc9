// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/elf_file.hpp"
#include "harness/system/gpu_code.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace cufault {

/// What a library's file says. Nothing of it is executed.
struct library_facts {
  std::filesystem::path file{};
  std::string found_by{};  ///< by which rule, where it was asked for by name
  std::uint64_t size = 0;
  elf_facts elf{};
  gpu_code_facts code{};
  std::set<std::string> variables{};   ///< names in its data that look like CUDA_*, CUBLAS_*, NVIDIA_* ...
  std::uint64_t unsearched_bytes = 0;  ///< of its data: more than is looked through for names
};
library_facts read_library(const std::string& name, const readable& from);
library_facts read_library(const std::filesystem::path& file);  ///< throws input_error

/// Whether a variable's name is of the form that CUDA libraries ask for, and no enumerator's.
bool looks_like_variable(std::string_view name);

/// What a library says of itself. It is loaded for that, in a process of its own; no driver is needed.
struct library_answers {
  int version = 0;    ///< cuBLAS and cuBLASLt: 130100 is 13.1.0; a runtime: 13000 is 13.0; 0: not known
  int runtime = 0;    ///< the CUDA runtime inside of cuBLAS or cuBLASLt, as above
  std::string why{};  ///< nothing is known
};
library_answers ask_library(const std::filesystem::path& file, std::chrono::milliseconds limit);
std::string cublas_version_text(int version);   ///< 130100: "13.1.0"
std::string runtime_version_text(int version);  ///< 13010: "13.1"

}  // namespace cufault
