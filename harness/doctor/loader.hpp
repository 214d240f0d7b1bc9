// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/machine.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

inline constexpr const char* by_no_path = "no search path";

/// Where the loader would find a library, and by which rule.
struct found_library {
  std::string name{};            ///< "libcublas.so.13"
  std::filesystem::path file{};  ///< on the machine, links not resolved
  /// "LD_LIBRARY_PATH", "RUNPATH", "RPATH", "RPATH of the program", "RUNPATH of the program", "ld.so.cache", "default folder"; "no search
  /// path" where the loader does not find it
  std::string by{};
};

/// Which file a program gets for a bare name, by the order of ld.so(8): RPATH of the library that asks, unless it has a RUNPATH; then RPATH
/// of the program, unless that has one; LD_LIBRARY_PATH; RUNPATH of the one that asks; /etc/ld.so.cache; default folders. In each folder
/// those of glibc-hwcaps that the processor can use come first. A library of another machine is passed over.
/// `asks`: the library that needs it, with its folder; none for what the program opens by itself.
struct asking_library {
  const elf_facts* elf = nullptr;
  std::filesystem::path folder{};
};
std::optional<found_library> find_library(const machine& m, const std::string& name,
                                          const asking_library& asks = {});

/// The program that a command of a shell runs: found by PATH; of a script, its interpreter, also behind /usr/bin/env. None where that is no
/// file that read_elf takes.
std::optional<searching_program> program_of(const machine& m, const std::string& command);

/// Files of /etc/ld.so.cache by name, in its order; empty where it cannot be read, or is not of the form of glibc 2.2 and newer.
std::vector<std::pair<std::string, std::filesystem::path>> cached_libraries(std::string_view cache);

/// Files named STEM.so or STEM.so.*, in the places where toolkits, drivers and Python packages put them; each file once. At most 64.
std::vector<std::filesystem::path> libraries_on_disk(const machine& m, const std::string& stem);

/// As one word of a shell.
std::string shell_word(const std::string& text);
/// The command that takes a folder out of LD_LIBRARY_PATH.
std::string search_path_without(const machine& m, const std::string& folder);

/// By the name that a program asks for: as find_library(), else among libraries_on_disk(). Throws input_error that says where it was looked
/// for.
found_library library_named(const machine& m, const std::string& name);

/// The folders of LD_LIBRARY_PATH; an empty one is the current folder.
std::vector<std::string> folders_of(const std::string& search_path);

}  // namespace cufault
