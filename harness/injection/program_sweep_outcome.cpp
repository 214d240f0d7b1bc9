// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/program_sweep_outcome.hpp"

#include "reports/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <iterator>
#include <set>
#include <sstream>

namespace cufault::program_sweep {
namespace {

constexpr std::array<std::string_view, outcomes> names{"reported",     "swallowed", "crashed",    "hung",
                                                       "other_output", "leaked",    "not_reached"};

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) found.push_back(line);
  return found;
}

/// E.g. "took 12 ms" becomes "took # ms"
std::string without_digits(const std::string& text) {
  std::string masked;
  for (const char c : text)
    if (c < '0' || c > '9')
      masked += c;
    else if (masked.empty() || masked.back() != '#')
      masked += '#';
  return masked;
}

/// Lines that clean runs do not print. If clean runs differ, digits are ignored.
std::vector<std::string> new_lines(const std::string& text, const std::string& clean, bool clean_is_same) {
  const auto all = lines_in(clean_is_same ? clean : without_digits(clean));
  const std::set<std::string> known(all.begin(), all.end());
  std::vector<std::string> found;
  for (const std::string& line : lines_in(text))
    if (!known.contains(clean_is_same ? line : without_digits(line)) &&
        line.find_first_not_of(" \t\r") != std::string::npos)
      found.push_back(line);
  return found;
}

/// E.g. "out of memory" for "OUT_OF_MEMORY", as cuGetErrorString has it; "launch failure" for "LaunchFailure".
std::string in_words(const std::string& code) {
  std::string words;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool begins = i > 0 && std::isupper(static_cast<unsigned char>(code[i])) != 0 &&
                        std::islower(static_cast<unsigned char>(code[i - 1])) != 0;
    if (begins) words += ' ';
    words += code[i] == '_' ? ' ' : code[i];
  }
  return in_lower_case(words);
}

/// Lines that report a failure.
std::vector<std::string> telling_lines(const std::vector<std::string>& lines, const std::string& code) {
  const std::string words = in_words(without_prefix(code));
  std::vector<std::string> found;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(found), [&](const std::string& line) {
    const std::string text = in_lower_case(line);
    const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
    return has("error") || has("fail") || has("exception") || has("cannot") || has("could not") ||
           has("out of memory") || has(in_lower_case(without_prefix(code))) || has(words);
  });
  return found;
}

/// Lines of standard output and standard error that clean runs do not print.
struct new_output {
  std::vector<std::string> output, errors;
};
new_output new_output_of(const process_result& p, const clean_runs& clean) {
  return {new_lines(p.stdout_text, clean.output, clean.same_output),
          new_lines(p.stderr_text, clean.errors, clean.same_errors)};
}

/// row::said.
std::string line_that_tells(const new_output& of, bool errors_are_compared, const std::string& code) {
  std::vector<std::string> lines = telling_lines(of.errors, code);
  const auto on_output = telling_lines(of.output, code);
  lines.insert(lines.end(), on_output.begin(), on_output.end());
  if (lines.empty() && errors_are_compared) lines = of.errors;  // clean runs do not print these lines
  if (lines.empty()) return {};
  const auto frame = [](const std::string& line) { return line.front() == ' ' || line.front() == '\t'; };
  const auto found = std::find_if_not(lines.begin(), lines.end(), frame);
  constexpr std::size_t most = 300;
  return (found == lines.end() ? lines.front() : *found).substr(0, most);
}

/// The signal that ended the process, or that a shell or launcher reports as 128 plus its number; 0 for none.
int fatal_signal(const process_result& process) {
  if (process.how == ending::signalled) return process.signal;
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGKILL})
    if (process.how == ending::exited && process.exit_code == 128 + signal) return signal;
  return 0;
}

std::string words_of_end(const process_result& process) {
  if (process.how == ending::timed_out) return "timed out";
  if (process.how == ending::signalled) return signal_name(process.signal);
  return fmt::format("exit {}", process.exit_code);
}

outcome outcome_of(const row& r, const run_seen& seen, const clean_runs& clean) {
  const process_result& p = seen.process;
  if (r.injections < (r.then ? 2U : 1U)) return outcome::not_reached;
  if (fatal_signal(p) != 0) return outcome::crashed;
  if (p.how == ending::timed_out) return outcome::hung;
  if (r.left.processes > 0 || !r.left.shared_memory.empty()) return outcome::leaked;
  if (p.exit_code == 0 && r.left.device_allocations > 0) return outcome::leaked;
  if (p.exit_code != 0) return outcome::reported;
  if (!r.said.empty()) return outcome::reported;
  const bool other = (clean.same_output && p.stdout_text != clean.output) ||
                     (clean.same_errors && p.stderr_text != clean.errors);
  return other ? outcome::other_output : outcome::swallowed;
}

std::string why_not_reached(const call_site& site, const run_log& log) {
  if (log.programs == 0) return "no program of the command loaded the injector";
  const auto called = log.called.find(site.function);
  if (called == log.called.end())
    return fmt::format("{} was never called, in processes that ended by themselves{}", site.function,
                       log.preload_removed ? "; one took LD_PRELOAD from the environment, so that what "
                                             "it started did not load the injector"
                                           : "");
  return fmt::format("{} was called {} times, and not so often by this call stack", site.function,
                     called->second);
}

}  // namespace

std::string_view name_of(outcome o) {
  return names.at(static_cast<std::size_t>(o));
}

std::optional<outcome> outcome_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<outcome>(found - names.begin());
}

bool is_acceptable(outcome o) {
  return o == outcome::reported || o == outcome::swallowed || o == outcome::not_reached;
}

bool wants_repeating(outcome o) {
  return !is_acceptable(o);
}

clean_runs agreed(const run_seen& first, const run_seen& second) {
  clean_runs clean;
  clean.output = first.process.stdout_text;
  clean.errors = first.process.stderr_text;
  clean.same_output = first.process.stdout_text == second.process.stdout_text;
  clean.same_errors = first.process.stderr_text == second.process.stderr_text;
  // Lines of either clean run are not new.
  if (!clean.same_output) clean.output += "\n" + second.process.stdout_text;
  if (!clean.same_errors) clean.errors += "\n" + second.process.stderr_text;
  clean.processes = std::max(first.process.stragglers, second.process.stragglers);
  clean.shared_memory = std::max(first.shared_memory.size(), second.shared_memory.size());
  clean.device_allocations = std::max(first.log.device_allocations, second.log.device_allocations);
  clean.milliseconds = std::max(first.process.milliseconds, second.process.milliseconds);
  return clean;
}

bool row::is_repeatable() const {
  return std::all_of(repeats.begin(), repeats.end(), [&](outcome each) { return each == came_to; });
}

row judged(const call_site& site, const planned_call& call, const run_seen& seen, const clean_runs& clean) {
  row r;
  r.site = site;
  r.ordinal = call.ordinal;
  r.code = call.code;
  r.then = call.then;
  r.ended = words_of_end(seen.process);
  r.injections = seen.log.injections;
  r.seconds = seen.process.milliseconds / 1000;
  // If the process was killed, the rest of it had to be killed too.
  const bool by_itself = seen.process.how == ending::exited;
  if (by_itself) r.left.processes = std::max(0, seen.process.stragglers - clean.processes);
  if (seen.shared_memory.size() > clean.shared_memory) r.left.shared_memory = seen.shared_memory;
  // Releases that a rule failed kept their memory; the program could not prevent that.
  const auto fails_release = [&](bool (*is_one)(std::string_view)) {
    return is_one(site.function) || (call.then && is_one(call.then->site.function));
  };
  const std::int64_t not_released =
      fails_release([](std::string_view function) { return change_of_allocations(function) < 0; })
          ? static_cast<std::int64_t>(r.injections)
          : 0;
  if (by_itself && !fails_release(releases))
    r.left.device_allocations =
        std::max<std::int64_t>(0, seen.log.device_allocations - clean.device_allocations - not_released);
  r.said = line_that_tells(new_output_of(seen.process, clean), clean.same_errors, r.code);
  r.came_to = outcome_of(r, seen, clean);
  r.acceptable = is_acceptable(r.came_to);
  if (r.came_to == outcome::not_reached)
    r.why = why_not_reached(r.injections == 0 ? site : call.then->site, seen.log);
  return r;
}

bool same_result(const row& a, const row& b) {
  return a.came_to == b.came_to && a.ended == b.ended && a.acceptable == b.acceptable;
}

}  // namespace cufault::program_sweep
