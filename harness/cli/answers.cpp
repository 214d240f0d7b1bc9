// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What explain, causes and why read in place of all records.
#include "harness/cli/command_line.hpp"
#include "harness/cli/commit.hpp"
#include "reports/base/files.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/explain/recorded_answers.hpp"

#include <fmt/format.h>

#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// The build makes it beside the program: cufault_answers in CMakeLists.txt.
fs::path answers_file() {
  return share_folder() / "answers.jsonl";
}

/// Empty where the file is missing, damaged or made from other sources.
std::optional<recorded_answers> answers_of_the_build() {
  std::error_code none;
  if (!fs::exists(answers_file(), none)) return {};
  try {
    return read_answers(answers_file(), digest_of_sources());
  } catch (const std::exception&) {  // A source cannot be read. Reading the records reports which one.
    return {};
  }
}

/// Writes that file. Returns the exit code.
int make_answers() {
  fs::create_directories(answers_file().parent_path());
  try {
    const std::string digest = digest_of_sources();  // first: a source that changes meanwhile has another one
    const lexicon words = load_lexicon(explain_folder());
    write_answers(answers_file(), answers_in(judged_records({default_recorded()}), words), digest);
  } catch (const std::exception& error) {
    std::cerr << fmt::format("cufault: {}; explain will read the records\n", error.what());
    write_whole(answers_file(), "");
  }
  return 0;
}

void add_make_answers(command_line& line) {
  line.command("make-answers", "", "", make_answers)->group("");
}

const register_command make_answers_here{"make-answers", add_make_answers, hidden};

}  // namespace

std::string digest_of_sources() {
  return digest_of({default_recorded(), explain_folder(), claims_file(), failures_file()},
                   this_build.reports);
}

recorded_answers answers_of(const records_to_read& named, const lexicon& words) {
  if (named == records_to_read{default_recorded()})
    if (auto made = answers_of_the_build()) return *std::move(made);
  return answers_in(judged_records(named), words);
}

}  // namespace cufault
