// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault why` says of a command that failed.
#pragma once

#include "harness/doctor/diagnosis.hpp"
#include "harness/system/passed_through.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cufault {

struct why_arguments {
  std::optional<double> after;       ///< seconds: then say where each thread waits in the driver
  bool verbose = false;              ///< and what `trace` tells
  bool no_preload = false;           ///< the driver's log alone
  std::filesystem::path json{};      ///< where to write the answer, too; empty: nowhere
  std::filesystem::path capture{};   ///< the program of the first failing call; empty: none
  std::vector<std::string> command;  ///< never empty
};
/// Null in a build without cuda.h. Returns the command's exit code. `seen`: what doctor has found; null: the checks run where the command fails. `libraries`: those that
/// called the driver or asked for variables are added.
[[gnu::weak]] int why_command(const why_arguments& arguments, const diagnosis* seen = nullptr,
                              std::set<std::string>* libraries = nullptr);

/// A run of the command.
struct why_run {
  std::string command;
  std::string began;  ///< "2026-11-27 22:21:32", in UTC
  passed_end end;
  bool loaded = true;  ///< the preloaded library, by any program
  bool preloaded = true;
  std::string ended_in;        ///< calls that were in flight when a signal ended the command
  std::filesystem::path logs;  ///< a file of each process
  bool one_of_several =
      false;  ///< a launcher started ranks, each under a `why` of its own: their logs are beside these
  std::filesystem::path driver_log;
  std::uintmax_t driver_log_began = 0;
};

/// For people, and for programs (reports/schemas/why.schema.json).
struct why_words {
  std::string text;  ///< at most 25 lines of at most 100 columns
  nlohmann::ordered_json json;
};
/// How the command ended.
nlohmann::ordered_json why_json(const why_run& run);
/// `checks`: of the machine; nullptr: they are made here. Throws input_error where records or data
/// of cases cannot be read.
why_words why_answer(const why_run& run, const diagnosis* checks);

/// "failed with exit code 1"
std::string ended_text(const passed_end& end);

}  // namespace cufault
