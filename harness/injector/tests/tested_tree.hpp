// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Which build of the injector and of its programs is tested: this one, or one for another processor, whose programs an emulator runs (ci/selftest).
#pragma once

#include "harness/system/tests/said_by.hpp"

#include <cstdlib>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {

inline std::string from_environment(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : otherwise;
}

/// This build and its command: each program of tests defines them.
extern const char* const build_tree;
extern const char* const build_command;

inline const std::string tree = from_environment("CUFAULT_TESTED_TREE", build_tree);
/// What runs programs of the tree, with its options; empty where none is needed.
inline const std::string emulator = from_environment("CUFAULT_TESTED_UNDER", "");
inline const bool emulated = !emulator.empty();
/// The command itself is of this processor. It takes the libraries of the tree that it lies in, so ci/selftest copies it into that of another processor.
inline const std::string tested_command = emulated ? tree + "/bin/cufault" : std::string(build_command);

/// A command line in which the emulator, if there is one, runs each program whose path begins with this.
inline std::string emulating(const std::string& words, const std::string& program) {
  if (!emulated) return words;
  static const std::regex special(R"([.^$|()\[\]{}*+?\\])");
  const std::string path = std::regex_replace(program, special, R"(\$&)");
  return std::regex_replace(words, std::regex("(^|[ '])" + path), "$1" + emulator + " " + program);
}

/// Likewise of the words of a command.
inline std::vector<std::string> emulating(std::vector<std::string> command) {
  if (emulated && command.at(0).starts_with(tree)) {
    std::istringstream in(emulator);
    command.insert(command.begin(), std::istream_iterator<std::string>(in),
                   std::istream_iterator<std::string>());
  }
  return command;
}

/// What a command line prints. A shell of this processor, which the command starts, cannot load a library of another one; its words about that are left out.
inline std::vector<std::string> said_with_emulator(const std::string& command_line) {
  std::vector<std::string> said = said_by(command_line);
  if (emulated)
    std::erase_if(said, [](const std::string& line) { return line.starts_with("ERROR: ld.so: object"); });
  return said;
}

}  // namespace cufault
