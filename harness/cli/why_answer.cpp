// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/why_answer.hpp"

#include "harness/cli/doctor.hpp"
#include "harness/cli/records.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/events.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/failed_calls.hpp"
#include "reports/explain/printed_output.hpp"
#include "reports/explain/recorded_answers.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/known_issues.hpp"
#include "reports/printers/print_explanation.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t most_lines = 20;

/// Rows for people; programs know a fact by its key.
class answer_text {
 public:
  void fact(const char* key, std::string_view head, const std::string& text) {
    if (text.empty()) return;
    rows.push_back({.head = std::string(head), .text = text, .gives = 9, .least = 2});
    json[key] = text;
  }
  std::vector<answer_row> rows{};
  nlohmann::ordered_json json{};
};

/// Of the process that failed first, as lines of its traceback begin: "rank1"; "" where it has none.
std::string rank_of(const first_failure& first) {
  const said_line* one = first.call != nullptr ? first.call : first.of_driver;
  if (one == nullptr || !one->process.starts_with("rank ")) return {};
  return "rank" + one->process.substr(5, one->process.find(',') - 5);
}

/// "rank 1, pid 123 failed first, of 2 processes"; "" where one process without a rank has a file.
std::string who_failed(const first_failure& first, const std::vector<said_line>& all) {
  const said_line* one = first.call != nullptr ? first.call : first.of_driver;
  if (one == nullptr) return {};
  std::set<std::string> processes;
  for (const said_line& each : all) processes.insert(each.process);
  if (processes.size() < 2 && !one->of_other_run && !one->process.starts_with("rank")) return {};
  return fmt::format("{} failed first{}", one->process,
                     processes.size() > 1 ? fmt::format(", of {}", plural(processes.size(), "process")) : "");
}

std::string why_not_seen(const why_run& run) {
  if (run.end.last_output.find("libcufault_why.so") != std::string::npos &&
      run.end.last_output.find("GLIBC_") != std::string::npos)
    return "the C library there is older than cufault's: run it again with --no-preload";
  if (!run.preloaded)
    return "nothing was preloaded: calls are not known, only the driver's own log (CUDA 12.9)";
  if (!run.loaded)
    return "no program loaded cufault's library (static, setuid, another C library, or no such file there): "
           "only the driver's own log (CUDA 12.9) is known";
  return {};
}

/// What is known of the frameworks whose files a traceback names, where the output has the words of the message.
std::vector<std::string> known_of_frameworks(const std::string& output, const std::string& gpu) {
  std::set<std::string> folders;
  constexpr std::string_view begins = "File \"";
  for (std::size_t at = output.find(begins); at != output.npos; at = output.find(begins, at)) {
    at += begins.size();
    const std::string file = output.substr(at, output.find_first_of("\"\n", at) - at);
    for (const char* package : {"/torch/", "/triton/", "/jax/", "/cupy/"})
      if (const std::size_t end = file.find(package); end != file.npos) folders.insert(file.substr(0, end));
  }
  std::vector<std::string> lines;
  if (!folders.empty())
    for (const auto& [library, version] : frameworks_in({folders.begin(), folders.end()}))
      for (const known_match& m : issues_of(version, architecture_of(gpu), library))
        if (m.level < known_level::affected_elsewhere && !m.issue->status.empty() &&
            output.find(m.issue->status) != output.npos)
          lines.push_back(fmt::format("{} {} has a known issue, {}: {} ({}; {})", library, version,
                                      m.issue->id, m.issue->what, m.because, m.issue->addresses));
  return lines;
}

}  // namespace

nlohmann::ordered_json why_json(const why_run& run) {
  return {{"schema", 1},
          {"command", run.command},
          {"exit_code", run.end.as_of_a_shell()},
          {"signal", run.end.signal},
          {"seconds", run.end.seconds}};
}

why_words why_answer(const why_run& run, const diagnosis* checks) {
  answer_text out;
  out.json = why_json(run);
  out.rows.push_back({"", fmt::format("cufault why: {} {} after {:.1f} s", run.command, ended_text(run.end),
                                      run.end.seconds)});
  const lexicon known = load_lexicon(explain_folder());
  event_finder finder(known);
  const auto find = [&](const std::string& text) {
    finder.add(text);
    return finder.finish();
  };
  // Ranks that are each started by `why` have their folders beside this one.
  const std::vector<said_line> all = lines_below(run.one_of_several ? run.logs.parent_path() : run.logs,
                                                 run.logs, run.began, run.driver_log, run.driver_log_began);
  const log_findings printed = find(run.end.last_output);
  const auto told =
      std::ranges::find_if(printed.events, [](const log_event& e) { return e.role == event_role::failure; });
  const bool tells = told != printed.events.end();
  const printed_output words = printed_output_of(run.end.last_output);
  const first_failure first =
      first_failure_of(all, known, tells ? told->status : std::string(), !tells && !words.tracebacks.empty());

  out.fact("who", "Who", who_failed(first, all));
  const traceback* trace = traceback_of(words.tracebacks, rank_of(first), find);
  if (trace != nullptr) out.fact("your_line", "Your line", trace->frame);
  out.fact("it_said", "It said",
           trace != nullptr && !trace->exception.empty() ? trace->exception : words.last_line);
  std::string log;
  if (first.call != nullptr) {
    const std::string name = first.call->call.substr(0, first.call->call.find('#'));
    out.fact("failed_call", "Failed call", fmt::format("{} {}", name, first.call->text));
    log = fmt::format("{}: {}\n", name, first.call->text);
  }
  if (first.driver) {
    out.fact("driver_call",
             first.inside            ? "Inside it"
             : first.call != nullptr ? "Before it"
                                     : "Driver call",
             describe(*first.driver));
    out.json["driver_call_inside"] = first.inside;
    std::string messages;
    for (const std::string& text : first.messages)
      messages += fmt::format("[00:00:00.000][{}][CUDA][E] {}\n", first.of_driver->thread, text);
    log.insert(0, messages);
  }
  out.fact("ended_in", "Ended in", run.ended_in);
  out.fact("not_seen", "Not seen", why_not_seen(run));

  log_findings found = find(log + run.end.last_output);
  // Lines are those of output.log; what is put in front of it has none.
  const auto in_front = static_cast<std::uint64_t>(std::ranges::count(log, '\n'));
  for (log_event& e : found.events) e.line -= std::min(e.line, in_front);
  const auto says_something = [](const log_event& event) {
    return event.role != event_role::condition && event.role != event_role::noise;
  };
  std::string gpu;
  const bool seen_in_calls = first.call != nullptr || first.driver;
  if (!seen_in_calls && std::ranges::none_of(found.events, says_something)) {
    out.rows.push_back(
        {"", "No failure of a GPU library was seen: neither a call that failed nor words of one."});
  } else {
    const auto reports = reports_of_causes(load_failures(failures_file()), known);
    const evidence seen = answers_of({default_recorded()}, known).seen;
    const looked_at_machine here =
        checks == nullptr ? look_at_machine() : looked_at_machine{.findings = findings_of_cases(*checks)};
    explanation e = explain(found, {known, seen, reports, here.findings, true});
    if (here.gpus.size() == 1) gpu = here.gpus.front();
    // Which cuBLAS the command loaded is not known: each line says with which versions it was measured.
    if (e.failure) e.known_issues = issues_of_failure(e.failure->call, e.failure->status, {}, gpu);
    out.json["explanation"] = explanation_json(e, (run.logs / "output.log").string());
    if (!e.known_issues.empty()) out.json["known_issues"] = e.known_issues;
    if (e.page != nullptr) out.json["page"] = e.page->address();
    if (e.causes.empty())
      out.rows.push_back({"", e.failure || seen_in_calls ? "No cause of this failure is known."
                              : e.not_understood         ? "The failure is not understood."
                                                         : "No failure of a GPU library was seen."});
    for (answer_row& row : answer_rows(e))  // the failure and the driver's call stand above
      if (row.head != "Failed" && row.head != "Driver") out.rows.push_back(std::move(row));
  }
  for (const std::string& line : known_of_frameworks(run.end.last_output, gpu)) {
    out.rows.push_back({.head = "Known", .text = line, .gives = 5, .least = 1});
    out.json["known_issues"].push_back(line);
  }
  out.json["log"] = run.logs.string();
  std::ostringstream text;
  print_rows(text, std::move(out.rows), {.width = terminal_of(std::cerr).width}, most_lines);
  text << "Full log: " << run.logs.string() << '\n';
  return {text.str(), std::move(out.json)};
}

std::string ended_text(const passed_end& end) {
  if (end.signal != 0) return fmt::format("ended by signal {} ({})", end.signal, strsignal(end.signal));
  return fmt::format("failed with exit code {}", end.exit_code);
}

}  // namespace cufault
