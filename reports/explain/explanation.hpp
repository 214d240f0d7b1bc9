// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/events.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/explain/lexicon.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// Version of the rules by which causes are found and ranked, so that answers can be compared.
inline constexpr int explain_rules = 6;

/// How much speaks for a cause. how_sure() says it to people.
enum class confidence {
  possible,   ///< it can look like this, by documents and reports
  supported,  ///< what a program printed, the machine or records of this failure speak for it
  named,      ///< the log has words that leave hardly another cause
};
std::string to_string(confidence c);

struct next_check {
  std::string text;  ///< what to do
  double seconds = 0;
  std::string says;                     ///< what comes of it under this cause
  std::vector<std::string> others;      ///< ids of the causes under which it comes out otherwise
  std::size_t of_records = 0;           ///< trials that show what it says; 0: documents and reports
  std::optional<log_event> answered{};  ///< what the log says of it, so that nobody has to look
  bool holds = false;                   ///< of `answered`: whether it came out as `says`
};

/// What was done against it, and on how many stacks that cleared it or did not; of those that show the failure.
struct tried_remedy {
  std::string words, arm;
  std::size_t cleared = 0, failed = 0;
};

/// Something that was found on the machine that explains. It is no part of the log, which may come from another machine.
struct machine_finding {
  std::string case_name;  ///< that shows what comes of it: "environment.hidden_devices"
  std::string text;       ///< one line
  std::string decides{};  ///< the cause that it is, where every call of CUDA fails by it
};

struct ranked_cause {
  const known_cause* what = nullptr;
  confidence sure = confidence::possible;
  std::string text{};                  ///< what->text, with the names that the log has in their places
  std::vector<log_event> words;        ///< that a program printed and that speak for it, the strongest first
  std::vector<log_event> against{};    ///< likewise, that speak against it
  std::vector<std::string> machine{};  ///< findings that speak for it
  int fits = 0;                        ///< as fit() says, of the failure in the log
  int often = 0;           ///< frequency of the cause behind such a failure; 0: no document or report says
  int points = 0;          ///< by which causes that the log does not name are ranked
  bool shows_all = false;  ///< an arm of it shows all failures of the log, of which there are several
  std::set<std::string> natural_arms, stacks;  ///< of nature alone
  std::uint64_t natural_trials = 0, injected_trials = 0;
  /// Of natural_trials: those in which a call returned the status, not the driver alone, and those of the log's frameworks.
  std::uint64_t returned_trials = 0, framework_trials = 0;
  std::size_t reports = 0;  ///< sources that the catalogue of field failures names: reports, not measurements
  std::optional<next_check> next;
  std::vector<tried_remedy> clears, does_not_clear;
  std::vector<std::string> cures{};  ///< by documents and reports, those for the framework of the log first
  std::string reproduce;             ///< "cufault run CASE/ARM"; empty where no arm shows it
};

struct process_state {
  std::string state = "unknown";  ///< "lost", "usable", "ended" or "unknown"
  std::uint64_t damaged = 0,
                usable = 0;  ///< recorded trials of the first cause, by how its context was afterwards
  std::string why{};
};

/// Of a distributed program: which rank failed first. `all`: ranks that tell of failures; 0 where it is not known.
struct failing_ranks {
  int first = -1;
  std::size_t all = 0;
  bool by_time = false;  ///< else by the order of lines
};

struct explanation {
  std::optional<log_event> failure;  ///< the first one that can be causal; none: no failure of a GPU library
  process_state process;
  const message_page* page = nullptr;         ///< of this failure
  std::vector<ranked_cause> causes;           ///< empty: no answer
  std::optional<log_event> not_understood{};  ///< what ended the program and names a GPU library
  std::optional<log_event> aside;             ///< without a failure: what else failed
  const known_cause* aside_cause = nullptr;   ///< that it names, if any
  bool from_records = false;                  ///< whether records show any of them
  std::string
      kind{};  ///< "launch": causes of this kind of status, since no record is of its library; else empty
  log_findings log;
  std::string machine{};  ///< what is said of the machine that explains; empty: it was not looked at
  std::optional<log_event> driver{};  ///< its call that failed first, by the driver's own log
  failing_ranks ranks{};
  std::vector<std::string> known_issues{};  ///< a line each; set by who knows the list
  std::string
      tell_apart{};  ///< "cufault doctor": what tells the causes apart on the machine, where the log does not; else empty
};

/// "named by line 3", "supported by 285 recorded trials", "possible, by documents and reports": at most 45 characters.
/// All printers and pages say it in these words.
std::string how_sure(const ranked_cause& c);

/// how_sure() and what that rests on, in one line: "named by line 3: 10.25 MiB of 23.65 GiB is free".
std::string rests_on(const ranked_cause& c, const explanation& e);

/// What `explain` looks things up in.
struct knowledge {
  const lexicon& words;
  const evidence& records;
  const std::vector<std::size_t>& reports;  ///< reports_of_causes()
  std::vector<machine_finding> machine{};
  bool ran_here = false;  ///< the log is of this machine: what was found on it can decide
};

/// Ranks what can have caused the first failure of a log. Without a failure of a GPU library there is none: a circumstance opens no
/// cause. Causes that words of the log name come first, in their order, then those
/// that are supported. Among them those come first that are often behind such a failure and for which circumstances in the log or findings on the machine speak: a point
/// for each circumstance and for each case that findings are about, one
/// to three for the frequency, one where an arm shows all failures of the log; then what fits best, what was seen before what was
/// injected, and what more sources report. Behind a status alone, without a call, what is often behind it comes first among those. `of_each_class`: how many causes of one class.
explanation explain(log_findings log, const knowledge& known, std::size_t at_most = 3,
                    std::size_t of_each_class = 1);

}  // namespace cufault
