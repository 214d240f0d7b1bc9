// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/why_answer.hpp"

#include "harness/cli/cli.hpp"
#include "harness/cli/doctor.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/events.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/failed_calls.hpp"
#include "reports/explain/printed_output.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/failures.hpp"
#include "reports/printers/print_explanation.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t most_width = 100, most_lines = 25, most_measured = 3, most_cures = 4;

class answer {
 public:
  void line(const std::string& text) { lines_.push_back(one_line(text)); }
  void row(std::string_view head, const std::string& text) {
    if (!text.empty()) line(fmt::format("  {:<12} {}", head, text));
  }
  /// Of the failure, not of a cause; programs know it by the key.
  void fact(const char* key, std::string_view head, const std::string& text) {
    row(head, text);
    if (!text.empty()) json[key] = text;
  }
  /// Lines that are too long go on in a second one where there is room for all, and are cut else. The last one stays.
  [[nodiscard]] std::string text() const {
    const terminal here = terminal_of(std::cerr);
    const std::size_t width = here.width == 0 ? most_width : std::min(most_width, here.width);
    std::vector<std::string> shown;
    for (const std::string& each : lines_) {
      shown.push_back(each.substr(0, width));
      if (each.size() <= width) continue;
      const auto space = shown.back().rfind(' ');
      const auto at = space != std::string::npos && space > width / 2 ? space + 1 : width;
      shown.back().resize(at == width ? width : space);
      shown.push_back(std::string(15, ' ') + cut(each.substr(at), width - 15));
    }
    if (shown.size() > most_lines) {
      shown.clear();
      for (const std::string& each : lines_) shown.push_back(cut(each, width));
    }
    if (shown.size() > most_lines) shown.erase(shown.begin() + most_lines - 1, shown.end() - 1);
    return fmt::format("{}\n", fmt::join(shown, "\n"));
  }
  nlohmann::ordered_json json{};

 private:
  static std::string cut(const std::string& text, std::size_t size) {
    return text.size() > size ? text.substr(0, size - 3) + "..." : text;
  }
  std::vector<std::string> lines_;
};

void add_causes(answer& out, const explanation& e, const cost_notes& costs) {
  std::size_t place = 0;
  for (const ranked_cause& c : e.causes) {
    out.line(fmt::format("{}. {} ({}): {}", ++place, c.what->id, to_string(c.sure), c.what->text));
    for (const std::string& found : c.machine) out.row("this machine", found);
    if (c.next) out.row("check", fmt::format("{}: {}", c.next->text, c.next->says));
  }
  if (e.causes.empty()) return;
  const ranked_cause& c = e.causes.front();
  std::vector<std::string> cures;
  for (const tried_remedy& t : c.clears) {
    if (cures.size() == most_measured) break;
    const std::string cost = note_of(costs, "", remedy_of_arm(t.arm));
    cures.push_back(fmt::format("{} (measured on {}{}{})", t.words, plural(t.cleared, "stack"),
                                cost.empty() ? "" : "; ", cost));
  }
  for (const std::string& said : c.cures)
    if (cures.size() < most_cures) cures.push_back(said + " (not measured)");
  for (const std::string& each : cures) out.row(&each == cures.data() ? "clears 1" : "", each);
}

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

}  // namespace

nlohmann::ordered_json why_json(const why_run& run) {
  return {{"schema", 1},
          {"command", run.command},
          {"exit_code", run.end.as_of_a_shell()},
          {"signal", run.end.signal},
          {"seconds", run.end.seconds}};
}

why_words why_answer(const why_run& run, const diagnosis* checks) {
  answer out;
  out.json = why_json(run);
  out.line(
      fmt::format("cufault why: {} {} after {:.1f} s", run.command, ended_text(run.end), run.end.seconds));
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

  out.fact("who", "who", who_failed(first, all));
  const traceback* trace = traceback_of(words.tracebacks, rank_of(first), find);
  if (trace != nullptr) out.fact("your_line", "your line", trace->frame);
  out.fact("it_said", "it said",
           trace != nullptr && !trace->exception.empty() ? trace->exception : words.last_line);
  std::string log;
  if (first.call != nullptr) {
    const std::string name = first.call->call.substr(0, first.call->call.find('#'));
    out.fact("failed_call", "failed call", fmt::format("{} {}", name, first.call->text));
    log = fmt::format("{}: {}\n", name, first.call->text);
  }
  if (first.driver) {
    out.fact("driver_call",
             first.inside            ? "inside it"
             : first.call != nullptr ? "before it"
                                     : "driver call",
             describe(*first.driver));
    out.json["driver_call_inside"] = first.inside;
    std::string messages;
    for (const std::string& text : first.messages)
      messages += fmt::format("[00:00:00.000][{}][CUDA][E] {}\n", first.of_driver->thread, text);
    log.insert(0, messages);
  }
  out.fact("ended_in", "ended in", run.ended_in);
  out.fact("not_seen", "not seen", why_not_seen(run));

  const log_findings found = find(log + run.end.last_output);
  const auto says_something = [](const log_event& event) {
    return event.role != event_role::condition && event.role != event_role::noise;
  };
  const bool seen_in_calls = first.call != nullptr || first.driver;
  if (!seen_in_calls && std::ranges::none_of(found.events, says_something)) {
    out.line("No failure of a GPU library was seen: neither a call that failed nor words of one.");
  } else {
    const std::vector<std::filesystem::path> recorded{default_recorded()};
    const std::vector<record> records = judged_records(recorded);
    const auto reports = reports_of_causes(load_failures(failures_file()), known);
    const evidence seen = evidence_in(records, known);
    const auto here = checks == nullptr ? look_at_machine(records)
                                        : looked_at_machine{.findings = findings_of_cases(*checks)};
    const explanation e =
        explain(found, {known, seen, reports, here ? here->findings : std::vector<machine_finding>()});
    out.json["explanation"] = explanation_json(e, (run.logs / "output.log").string());
    if (e.causes.empty())
      out.line(e.failure || seen_in_calls ? "No cause of this failure is known."
                                          : "No failure of a GPU library was seen.");
    if (e.aside)
      out.row("other", e.aside->words + (e.aside_cause == nullptr ? "" : ": " + e.aside_cause->text));
    add_causes(out, e, measured_costs(recorded));
    const std::string call = e.failure ? e.failure->call : std::string(),
                      status = e.failure ? e.failure->status : std::string();
    // Which cuBLAS the command loaded is not known: each line says with which versions it was measured.
    const std::string gpu = here && here->gpus.size() == 1 ? here->gpus.front() : std::string();
    for (const std::string& issue : known_of_failure(call, status, {}, gpu)) {
      out.row("known issue", issue);
      out.json["known_issues"].push_back(issue);
    }
    if (e.page != nullptr) {
      out.row("page", e.page->command());
      out.json["page"] = e.page->address();
    }
  }
  out.line(fmt::format("Full log: {}", run.logs.string()));
  out.json["log"] = run.logs.string();
  return {out.text(), std::move(out.json)};
}

std::string ended_text(const passed_end& end) {
  if (end.signal != 0) return fmt::format("ended by signal {} ({})", end.signal, strsignal(end.signal));
  return fmt::format("failed with exit code {}", end.exit_code);
}

}  // namespace cufault
