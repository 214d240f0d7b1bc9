// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/evidence.hpp"

#include "reports/explain/events.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/remedy_outcome.hpp"
#include "reports/judge/usual_messages.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/frameworks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

/// The status of a failed call, as `explain` would read it from a log. Where a framework's exception names no status, its text is read: a
/// "RuntimeError" alone says nothing.
class status_reader {
 public:
  explicit status_reader(const lexicon& known) : known_(known) {}

  /// Empty where the call succeeded.
  std::string of(const observation& o, const call_record& call) {
    const step& s = call.what;
    if (s.ok) return {};
    if (is_success_status(s.status)) return s.numbers == numbers_found::wrong ? status_wrong_numbers : "";
    if (s.status == status_crashed) return "SIGSEGV";
    if (s.status == status_timed_out) return status_hang;
    if (std::string said = said_by_exception(o, call); !said.empty()) return said;
    return canonical(s.status);
  }
  /// Caches lexicon::canonical(), which searches all names.
  const std::string& canonical(const std::string& status) {
    const auto [at, is_new] = canonical_.try_emplace(status);
    if (is_new) at->second = known_.canonical(status);
    return at->second;
  }

 private:
  /// Each call that raised an exception has a note of its name, in the same order.
  std::string said_by_exception(const observation& o, const call_record& call) {
    const step& s = call.what;
    const auto raised = [](const step& of) { return of.facts.contains("exception"); };
    if (!raised(s) || s.facts.at("exception") != fact(s.status)) return {};
    const auto before = std::count_if(o.calls.data(), &call, [&](const call_record& earlier) {
      return raised(earlier.what) && earlier.what.name == s.name;
    });
    const std::string name = s.name.variant.empty() ? s.name.api : s.name.api + " " + s.name.variant;
    auto skip = before;
    const auto text =
        std::ranges::find_if(o.notes, [&](const note& n) { return n.name == name && skip-- == 0; });
    if (text == o.notes.end()) return {};
    if (!finder_) finder_.emplace(known_);
    finder_->add(text->text);
    const auto events = finder_->finish().events;
    for (const log_event& e : events)
      if (e.role == event_role::failure) return e.status;
    for (const log_event& e : events)
      for (const event_pattern& p : known_.events)
        if (p.id == e.id && !p.fails.empty()) return p.fails;
    return {};
  }

  const lexicon& known_;
  std::map<std::string, std::string> canonical_{};
  std::optional<event_finder> finder_{};  ///< takes milliseconds to make, and few records have exceptions
};

/// Whether an error that an earlier kernel left comes back from it: an allocation that fails says nothing of kernels.
bool waits_for_kernels(const std::string& api) {
  return api.starts_with("cuda") &&
         (api.find("Synchronize") != std::string::npos || api.starts_with("cudaMemcpy"));
}

/// What checks would have said directly behind the step.
std::map<std::string, std::string> checks_behind(const observation& o, std::size_t index) {
  std::map<std::string, std::string> said;
  const call_record& call = o.calls[index];
  said["last_error"] = call.last_error.empty() ? "cudaSuccess" : call.last_error;
  if (call.what.name.api == "check.program") return said;  // the process that failed is another one
  if (o.context == "usable") said["context"] = "it works";
  if (o.context == "damaged") said["context"] = "it fails";
  for (std::size_t i = 0; i < index; ++i) {
    const step& before = o.calls[i].what;
    if (!waits_for_kernels(before.name.api)) continue;
    if (!before.ok && before.numbers != numbers_found::wrong)
      said["error_before"] = "an error";
    else if (before.name.api == "cudaDeviceSynchronize" && !said.contains("error_before"))
      said["error_before"] = "no error";
  }
  // A sample with more may be of before the memory was taken.
  for (const memory_sample& sample : o.memory)
    if (nearly_full(sample)) said["free_memory"] = "less than 2 %";
  return said;
}

/// What failed inside a call that failed, as the driver said it: a log may have this alone, or in front of the library's status.
std::optional<failure_seen> said_by_driver(const call_record& call, const usual_messages& usual,
                                           status_reader& statuses) {
  const driver_message* const why = call.what.ok ? nullptr : usual.reason(call);
  if (why == nullptr || why->function.empty() || why->code.empty()) return {};
  return failure_seen{statuses.canonical("CUDA_ERROR_" + why->code), why->function};
}

/// Collects evidence. The maps find a row; the vectors keep the order in which rows were first seen.
class collector {
 public:
  explicit collector(const lexicon& known) : known_(known), statuses_(known) {}

  void add(const record& r) {
    usual_.emplace(r);
    stack_ = stack_label(r);
    for (const case_result& c : r.cases) {
      if (control_unresolved(c)) continue;
      for (const arm_result& arm : c.arms) {
        const std::uint32_t first =
            std::exchange(trials_, trials_ + static_cast<std::uint32_t>(arm.trials.size()));
        if (c.name.starts_with("sweep."))
          add_sweep(c.name, arm);
        else if (arm.kind == arm_kind::fault)
          add_fault(c.name, arm, first);
        else if (arm.kind != arm_kind::control)
          add_remedy(c, arm);
      }
    }
  }
  evidence found() { return std::move(all_); }

 private:
  recorded_failure& failure(recorded_failure made) {
    const auto [at, is_new] = failures_.try_emplace(
        {made.cause, made.natural, made.by_driver, made.status, made.call, made.framework},
        all_.failures.size());
    return is_new ? all_.failures.emplace_back(std::move(made)) : all_.failures[at->second];
  }
  recorded_remedy& remedy_of(const std::string& arm, const std::string& words) {
    const auto [at, is_new] = remedies_.try_emplace(arm, all_.remedies.size());
    return is_new ? all_.remedies.emplace_back(recorded_remedy{.arm = arm, .words = words})
                  : all_.remedies[at->second];
  }

  void add_fault(const std::string& case_name, const arm_result& arm, std::uint32_t first_trial) {
    const std::string name = case_name + "/" + arm.name;
    const bool natural = !is_made_up(arm);
    std::optional<std::size_t> cause;
    // Cells give every operation to every fault: how many of them fail says nothing of how often a fault is the cause.
    const bool counts = !case_name.starts_with(matrix_family);
    bool fails = false;
    for (const observation& o : arm.trials) {
      if (!comparable(o)) continue;
      std::set<std::pair<std::string, std::string>> counted;
      for (std::size_t i = 0; i < o.calls.size(); ++i) {
        std::string status = statuses_.of(o, o.calls[i]);
        if (&o.calls[i] == call_in_flight(o)) status = o.ended == outcome::timed_out ? status_hang : o.why;
        if (status.empty() || o.calls[i].swept) continue;
        if (!std::exchange(fails, true)) cause = cause_of_arm(known_, case_name, arm);
        if (!cause || !counts) continue;
        const auto trial = first_trial + static_cast<std::uint32_t>(&o - arm.trials.data());
        const auto add = [&](const failure_seen& each, bool by_driver) {
          if (!counted.emplace(each.call, each.status).second) return;
          recorded_failure& f = failure({.cause = *cause,
                                         .call = each.call,
                                         .status = each.status,
                                         .natural = natural,
                                         .by_driver = by_driver,
                                         .framework = framework_of(name)});
          f.arms.insert(name);
          f.stacks.insert(stack_);
          if (!natural) ++f.injected;
          f.trials.push_back(trial);
          for (const auto& [check, said] : checks_behind(o, i)) f.observed[check][said].push_back(trial);
        };
        add({status, call_in_log(o.calls[i])}, false);
        if (const auto said = said_by_driver(o.calls[i], *usual_, statuses_)) add(*said, true);
      }
    }
    if (fails && !cause) all_.unassigned.push_back(name);
  }

  void add_sweep(const std::string& case_name, const arm_result& arm) {
    for (const observation& o : arm.trials) {
      if (!comparable(o)) continue;
      for (const call_record& row : o.calls) {
        if (!row.swept || row.what.ok || row.what.status.empty()) continue;
        for (std::size_t i = 0; i < known_.causes.size(); ++i) {
          const auto& codes = known_.causes[i].driver_codes;
          const bool meant = std::ranges::any_of(row.swept->codes, [&](const std::string& code) {
            return std::ranges::find(codes, code) != codes.end();
          });
          if (!meant) continue;
          recorded_failure& f = failure({.cause = i,
                                         .call = row.what.name.api,
                                         .status = statuses_.canonical(row.what.status),
                                         .natural = false,
                                         .framework = framework_of(case_name)});
          f.arms.insert(case_name + "/" + arm.name);
          f.stacks.insert(stack_);
          f.injected += row.swept->calls;
        }
      }
    }
  }

  void add_remedy(const case_result& c, const arm_result& arm) {
    const auto tried = remedy_outcome_of(c, arm);
    if (!tried) return;
    std::vector<failure_seen> before;
    for (const observation& o : arm.trials)
      for (const call_record& call : o.calls) {
        if (std::ranges::find(tried->before, &call) == tried->before.end()) continue;
        if (const std::string status = statuses_.of(o, call); !status.empty())
          before.push_back({status, call_in_log(call)});
        if (auto said = said_by_driver(call, *usual_, statuses_)) before.push_back(*std::move(said));
      }
    if (before.empty() && tried->against.empty()) return;
    recorded_remedy& of = remedy_of(join_key(c.name, arm.name), tried->words);
    if (!tried->against.empty()) of.answers.insert(tried->against);
    of.failures.insert(of.failures.end(), before.begin(), before.end());
    (tried->cleared ? of.cleared_on : of.failed_on).insert(stack_);
  }

  const lexicon& known_;
  status_reader statuses_;
  std::optional<usual_messages> usual_{};  // of the record that is added
  std::string stack_{};
  std::uint32_t trials_ = 0;
  evidence all_{};
  std::map<std::tuple<std::size_t, bool, bool, std::string, std::string, std::string>, std::size_t>
      failures_{};
  std::map<std::string, std::size_t> remedies_{};  // by arm
};

/// Without copies of a record, whose trials count once.
std::vector<const record*> without_copies(std::span<const record> all) {
  struct alike {
    std::size_t first;              // in `kept`
    std::set<std::string> texts{};  // of all of them, where there are several: texts are long
  };
  std::map<std::pair<std::string, std::size_t>, alike> by_start;
  std::vector<const record*> kept;
  for (const record& r : all) {
    const auto [at, is_new] = by_start.try_emplace({r.started, r.cases.size()}, alike{kept.size()});
    if (auto& texts = at->second.texts; !is_new) {
      if (texts.empty()) texts.insert(record_text(*kept[at->second.first]));
      if (!texts.insert(record_text(r)).second) continue;
    }
    kept.push_back(&r);
  }
  return kept;
}

/// Calls of which a failure of one says much of another: "create", "product", "destroy"; empty for others.
std::string_view family_of(std::string_view call) {
  const auto has = [&](std::string_view part) { return call.find(part) != std::string_view::npos; };
  if (!call.starts_with("cublas")) return call.starts_with("cudaMalloc") ? "allocate" : std::string_view{};
  if (has("Destroy")) return "destroy";
  if (call == "cublasCreate" || call == "cublasLtCreate" || call == "cublasXtCreate") return "create";
  if (has("Heuristic")) return "heuristic";
  if (has("gemm") || has("Gemm") || has("Matmul") || has("gemv") || has("trsm") || has("syrk") || has("symm"))
    return has("Desc") || has("Preference") ? std::string_view{} : "product";
  return {};
}

}  // namespace

std::string call_in_log(const call_record& call) {
  const auto named = call.what.facts.find("named_call");
  return named != call.what.facts.end() && std::holds_alternative<std::string>(named->second)
             ? std::get<std::string>(named->second)
             : call.what.name.api;
}

std::uint64_t distinct(trial_numbers trials) {
  std::ranges::sort(trials);
  return static_cast<std::uint64_t>(std::unique(trials.begin(), trials.end()) - trials.begin());
}

std::string framework_of(std::string_view arm) {
  const python_framework* const its = framework_of_case(arm);
  return its != nullptr ? std::string(its->title) : "";
}

std::optional<std::size_t> cause_of_arm(const lexicon& known, const std::string& case_name,
                                        const arm_result& arm) {
  const std::string& natural = arm.counterpart_of.empty() ? arm.name : arm.counterpart_of;
  const std::string name = case_name.starts_with(matrix_family) ? case_name : join_key(case_name, natural);
  const auto names_it = [&](const known_cause& c) { return std::ranges::find(c.arms, name) != c.arms.end(); };
  const auto found = std::ranges::find_if(known.causes, names_it);
  if (found == known.causes.end()) return {};
  return static_cast<std::size_t>(found - known.causes.begin());
}

evidence evidence_in(std::span<const record> records, const lexicon& known) {
  collector all(known);
  for (const record* r : without_copies(records)) all.add(*r);
  return all.found();
}

std::vector<std::size_t> reports_of_causes(const std::vector<field_failure>& catalogue,
                                           const lexicon& known) {
  std::vector<std::size_t> counts;
  for (const known_cause& cause : known.causes) {
    std::set<std::string> sources;
    for (const field_failure& f : catalogue)
      if (std::ranges::find(cause.failures, f.id) != cause.failures.end())
        for (const std::string& source : f.sources)
          if (source.find('#') != std::string::npos) sources.insert(source);
    counts.push_back(sources.size());
  }
  return counts;
}

int fit(const failure_seen& of_log, std::string_view status, std::string_view call) {
  if (of_log.status != status) return 0;
  if (of_log.call.empty()) return 2;
  if (of_log.call == call || of_log.call == std::string(call) + "_64" || of_log.call + "_64" == call)
    return 3;
  const std::string_view family = family_of(call);
  return !family.empty() && family == family_of(of_log.call) ? 3 : 1;
}

int fit(const failure_seen& of_log, const failure_pattern& pattern) {
  if (!matches_any(pattern.status, of_log.status) &&
      (of_log.kind.empty() || !matches_any(pattern.status, of_log.kind)))
    return 0;
  if (pattern.call.empty() || of_log.call.empty()) return 2;
  return matches_any(pattern.call, of_log.call) ? 3 : 0;
}

}  // namespace cufault
