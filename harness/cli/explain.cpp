// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault explain`: reads a log, and ranks what can have caused its failure. Where there is a driver, it looks at this machine as doctor does.
#include "harness/cli/command_line.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/doctor/isolated.hpp"
#include "harness/doctor/loader.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/recorded_answers.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/known_issues.hpp"
#include "reports/printers/print_explanation.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct explain_arguments {
  std::vector<std::string> words;  ///< a message, or files; none, or "-": standard input
  records_to_read records{default_recorded()};
  bool json = false;
  bool more = false;        ///< all of the answer, not the first lines alone
  bool no_machine = false;  ///< do not look at this machine
};

constexpr std::size_t read_at_once = 256 << 10;

/// Reads to the end in pieces. Throws input_error: name, offset where something was read, and reason.
log_findings read_log(const std::string& name, int fd, const lexicon& known) {
  event_finder finder(known);
  std::vector<char> piece(read_at_once);
  std::uint64_t offset = 0;
  for (;;) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const std::string why = std::strerror(errno);
      throw input_error(offset == 0 ? fmt::format("{}: {}", one_line(name), why)
                                    : fmt::format("{}: byte {}: {}", one_line(name), offset, why));
    }
    if (got == 0) return finder.finish();
    const std::string_view bytes{piece.data(), static_cast<std::size_t>(got)};
    if (offset == 0)
      if (const std::string why = why_no_log(bytes); !why.empty())
        throw input_error(fmt::format("{}: {}", one_line(name), why));
    finder.add(bytes);
    offset += bytes.size();
  }
}

log_findings read_file(const std::string& name, const lexicon& known) {
  const descriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw input_error(fmt::format("{}: {}", one_line(name), std::strerror(errno)));
  return read_log(name, file.get(), known);
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
  std::error_code none;
  for (const std::string& word : words) {
    if (word == "-" || fs::exists(word, none))
      files.push_back({word, {}});
    else if (looks_like_file(word))
      missing.push_back(word);
  }
  if (files.empty() && missing.empty()) return {{"command line", fmt::format("{}", fmt::join(words, " "))}};
  if (files.size() + missing.size() < words.size() && words.size() > 1 && missing.empty()) {
    const auto log =
        std::ranges::find_if(files, [](const input& file) { return looks_like_file(file.name); });
    if (log != files.end())
      throw usage_error(one_line(log->name) +
                        " is a file, and other arguments are not: give files, or a message");
    // A word of a message that is also the name of a folder, say.
    return {{"command line", fmt::format("{}", fmt::join(words, " "))}};
  }
  for (const std::string& name : missing) files.push_back({name, {}});  // reading says why it cannot be read
  return files;
}

/// Each probe: an answer is worth less than waiting for it.
constexpr std::chrono::seconds longest_look{5};

}  // namespace

std::vector<machine_finding> findings_of_cases(const diagnosis& d) {
  std::vector<machine_finding> found;
  for (const probe_result& p : d.probes)
    for (const finding& f : p.report.findings) {
      if (f.level == finding_level::note || f.case_name.empty()) continue;
      found.push_back({f.case_name, f.text, f.decides});
    }
  return found;
}

looked_at_machine look_at_machine() {
  machine m = this_machine();
  m.measured = measured_here();
  looked_at_machine seen;
  const isolated_answer named = run_isolated(
      [&] {
        const management_answers said = m.management();
        std::string lines = said.driver;
        for (const gpu_state& gpu : said.gpus) lines += "\n" + gpu.name;
        return lines;
      },
      longest_look);
  std::istringstream lines(named.text);
  std::getline(lines, seen.driver);
  for (std::string gpu; std::getline(lines, gpu);) seen.gpus.push_back(gpu);

  std::vector<probe> probes = all_probes();
  // It reads all of every library, and what it finds names no case.
  std::erase_if(probes, [](const probe& p) { return p.name == "unread_variables"; });
  for (probe& p : probes) p.limit = std::min<std::chrono::milliseconds>(p.limit, longest_look);
  const diagnosis d = examine(probes, m);
  seen.findings = findings_of_cases(d);
  seen.counts = fmt::format("{}, {} in {}", plural(d.count(finding_level::failure), "failure"),
                            plural(d.count(finding_level::warning), "warning"), plural(d.asked(), "check"));
  return seen;
}

namespace {

/// Whether one of them is a part of another one: "H200" of "NVIDIA H200".
bool share_one(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  return std::ranges::any_of(some, [&](const std::string& a) {
    return std::ranges::any_of(others, [&](const std::string& b) {
      std::string one, other;
      lower_case(a, one);
      lower_case(b, other);
      return one.find(other) != std::string::npos || other.find(one) != std::string::npos;
    });
  });
}

/// By what a log differs from this machine: "GPU A100, not NVIDIA H200"; empty where it names nothing else.
std::string other_than_here(const log_findings& log, const looked_at_machine& here) {
  const auto other = [&](const char* fact, const char* what, const std::vector<std::string>& own) {
    const auto named = log.facts.find(fact);
    if (named == log.facts.end() || own.empty() || share_one(named->second, own)) return std::string();
    return fmt::format("{} {}, not {}", what, fmt::join(named->second, ", "), fmt::join(own, ", "));
  };
  if (std::string gpu = other("gpu", "GPU", here.gpus); !gpu.empty()) return gpu;
  return here.driver.empty() ? std::string() : other("driver", "driver", {here.driver});
}

/// What the log says of a fact; empty where it says nothing, or several things.
std::string only_one(const log_findings& log, const char* fact) {
  const auto at = log.facts.find(fact);
  return at == log.facts.end() || at->second.size() != 1 ? std::string() : at->second.front();
}

std::vector<std::string> known_of_log(const explanation& e) {
  if (!e.failure) return {};
  return issues_of_failure(e.failure->call, e.failure->status, only_one(e.log, "cublas"),
                           only_one(e.log, "gpu"));
}

int explain_logs(const explain_arguments& arguments) {
  const std::vector<input> inputs = inputs_of(arguments.words);
  const lexicon words = load_lexicon(explain_folder());
  const evidence seen = answers_of(arguments.records, words).seen;
  if (records_in(arguments.records).empty()) throw usage_error(no_record);
  const auto reports = reports_of_causes(load_failures(failures_file()), words);
  const std::optional<looked_at_machine> here =
      // Where there is no driver, the log is of another machine.
      arguments.no_machine || !find_library(this_machine(), "libcuda.so.1")
          ? std::nullopt
          : std::optional(look_at_machine());

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
      const std::string other = here ? other_than_here(found, *here) : std::string();
      const bool use = here && other.empty();
      explanation e = explain(std::move(found),
                              {words, seen, reports, use ? here->findings : std::vector<machine_finding>()});
      if (use)
        e.machine = here->counts + " (cufault doctor); --no-machine leaves it out";
      else if (here)
        e.machine = "not used, since the log is of another one: " + one_line(other);
      all_answered = all_answered && !e.causes.empty();
      e.known_issues = known_of_log(e);
      if (arguments.json) {
        const auto json = explanation_json(e, name);
        print_json(json, inputs.size() == 1 ? 2 : -1);
      } else {
        if (inputs.size() > 1) std::cout << "== " << one_line(name) << '\n';
        if (arguments.more)
          print_explanation(std::cout, e, name, measured_costs(arguments.records));
        else
          print_first_answer(std::cout, e, name);
        if (inputs.size() > 1) std::cout << '\n';
      }
    } catch (const input_error& error) {
      std::cerr << "cufault: " << error.what() << '\n';
      any_bad = true;
    }
  }
  return any_bad ? exit_unresolved : all_answered ? 0 : exit_no_answer;
}

void add_explain(command_line& line) {
  const auto said = std::make_shared<explain_arguments>();
  CLI::App* explain = line.command(
      "explain", "What can have caused the failure in a log, by records of failures",
      "Exit codes: 0 with causes; 4 no failure of a GPU library is in it, it is not understood, or no cause "
      "of it is known; 2 bad input.\n"
      "A message as arguments, a log as a file, or a log on standard input: ./program 2>&1 | cufault explain "
      "The driver's error log (CUDA_LOG_FILE) is read, too, alone or mixed into another log.",
      [said] { return explain_logs(*said); });
  explain->add_option(
      "TEXT|FILE", said->words,
      "a message, or logs; - or nothing: standard input. Several logs are explained one by one");
  add_to_read_as_option(explain, said->records, " to rank by");
  add_json(explain, said->json, "explanation", "; of several logs one object a line");
  explain->add_flag(
      "--more", said->more,
      "all of the answer: each cause with the words that speak for it, its records, and what was tried");
  explain->add_flag("--no-machine", said->no_machine,
                    "do not look at this machine, as doctor does where there is a driver; a log that names "
                    "another GPU or driver is explained without it anyway");
}

const register_command explain_here{"explain", add_explain, first(section::program_failed, 2)};

}  // namespace
}  // namespace cufault
