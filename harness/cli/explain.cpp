// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault explain`: reads a log, and ranks what can have caused its failure.
#include "harness/cli/cli.hpp"
#include "reports/base/files.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/failures.hpp"
#include "reports/printers/print_explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::size_t read_at_once = 256 << 10;

/// Reads to the end in pieces. Throws input_error: name, offset and reason.
log_findings read_log(const std::string& name, int fd, const lexicon& known) {
  event_finder finder(known);
  std::vector<char> piece(read_at_once);
  std::uint64_t offset = 0;
  for (;;) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw input_error(fmt::format("{}: byte {}: {}", one_line(name), offset, std::strerror(errno)));
    if (got == 0) return finder.finish();
    const std::string_view bytes{piece.data(), static_cast<std::size_t>(got)};
    if (offset == 0)
      if (const std::string why = why_no_log(bytes); !why.empty())
        throw input_error(fmt::format("{}: byte 0: {}", one_line(name), why));
    finder.add(bytes);
    offset += bytes.size();
  }
}

log_findings read_file(const std::string& name, const lexicon& known) {
  const descriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw input_error(fmt::format("{}: byte 0: {}", one_line(name), std::strerror(errno)));
  return read_log(name, file.get(), known);
}

bool is_file(const std::string& word) {
  std::error_code none;
  return fs::exists(fs::path(word), none);
}

/// A word that is meant to be a file: nothing that programs print of a failure looks so.
bool looks_like_file(const std::string& word) {
  if (word.find_first_of(" \t\n:'\"`(") != std::string::npos) return false;
  return word.starts_with("/") || word.starts_with("./") || word.ends_with(".log") ||
         word.ends_with(".txt") || word.ends_with(".out") || word.ends_with(".err");
}

struct input {
  std::string name;
  std::optional<std::string> text;  ///< of the command line; else the name is a file, or "-"
};

std::vector<input> inputs_of(const std::vector<std::string>& words) {
  if (words.empty() || words == std::vector<std::string>{"-"}) {
    if (isatty(STDIN_FILENO) != 0)
      throw usage_error(
          "nothing to explain: give a message, a file, or pipe a log to it, as in: ./program 2>&1 | cufault "
          "explain");
    return {{"-", {}}};
  }
  std::vector<input> files;
  std::vector<std::string> missing;
  for (const std::string& word : words) {
    if (word == "-" || is_file(word))
      files.push_back({word, {}});
    else if (looks_like_file(word))
      missing.push_back(word);
  }
  if (files.empty() && missing.empty()) return {{"command line", fmt::format("{}", fmt::join(words, " "))}};
  if (files.size() + missing.size() < words.size() && words.size() > 1 && missing.empty()) {
    // A word of a message that is also the name of a folder, say.
    return {{"command line", fmt::format("{}", fmt::join(words, " "))}};
  }
  for (const std::string& name : missing) files.push_back({name, {}});  // reading says why it cannot be read
  return files;
}

}  // namespace

int explain_logs(const explain_arguments& arguments) {
  const std::vector<input> inputs = inputs_of(arguments.words);
  const lexicon words = load_lexicon(explain_folder());
  std::vector<record> records;
  for (const fs::path& path : records_in(arguments.records)) {
    records.push_back(load_record(path));
    for (case_result& c : records.back().cases) judge(c, {}, keys_of(records.back()));
  }
  const evidence seen = evidence_in(records, words);
  const auto reports = reports_of_causes(load_failures(failures_file()), words);

  bool any_bad = false;
  bool all_answered = true;
  for (const input& in : inputs) {
    const std::string name = in.name == "-" ? "standard input" : in.name;
    try {
      log_findings found;
      if (in.text) {
        event_finder finder(words);
        finder.add(*in.text);
        found = finder.finish();
      } else {
        found = in.name == "-" ? read_log(name, STDIN_FILENO, words) : read_file(name, words);
      }
      const explanation e = explain(std::move(found), {words, seen, reports});
      all_answered = all_answered && !e.causes.empty();
      if (arguments.json) {
        const auto json = explanation_json(e, name);
        std::cout << (inputs.size() == 1 ? json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                                         : dump_json(json))
                  << '\n';
      } else {
        if (inputs.size() > 1) std::cout << "== " << one_line(name) << '\n';
        print_explanation(std::cout, e, name);
        if (inputs.size() > 1) std::cout << '\n';
      }
    } catch (const input_error& error) {
      std::cerr << "cufault: " << error.what() << '\n';
      any_bad = true;
    }
  }
  return any_bad ? exit_unresolved : all_answered ? 0 : exit_no_answer;
}

}  // namespace cufault
