// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The tested build of the injector and its programs: this one, or one for another processor, whose programs an emulator runs (ci/selftest).
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

/// This build and its command; each test program defines them.
extern const char* const build_tree;
extern const char* const build_command;

inline const std::string tree = from_environment("CUFAULT_TESTED_TREE", build_tree);
/// Runs programs of the tree, with its options; empty if none is needed.
inline const std::string emulator = from_environment("CUFAULT_TESTED_UNDER", "");
inline const bool emulated = !emulator.empty();
/// The command is built for this processor. It uses the libraries of its own tree, so ci/selftest copies it into that of another processor.
inline const std::string tested_command = emulated ? tree + "/bin/cufault" : std::string(build_command);

/// A command line in which the emulator, if there is one, runs each program whose path begins with `program`.
inline std::string emulating(const std::string& words, const std::string& program) {
  if (!emulated) return words;
  static const std::regex special(R"([.^$|()\[\]{}*+?\\])");
  const std::string path = std::regex_replace(program, special, R"(\$&)");
  return std::regex_replace(words, std::regex("(^|[ '])" + path), "$1" + emulator + " " + program);
}

/// The same for the words of a command.
inline std::vector<std::string> emulating(std::vector<std::string> command) {
  if (emulated && command.at(0).starts_with(tree)) {
    std::istringstream in(emulator);
    command.insert(command.begin(), std::istream_iterator<std::string>(in),
                   std::istream_iterator<std::string>());
  }
  return command;
}

/// Output of a command line. The command's shell of this processor cannot load a library of another one; its messages about that are
/// removed.
inline std::vector<std::string> said_with_emulator(const std::string& command_line) {
  std::vector<std::string> said = said_by(command_line);
  if (emulated)
    std::erase_if(said, [](const std::string& line) { return line.starts_with("ERROR: ld.so: object"); });
  return said;
}

}  // namespace cufault
