// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/table.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/judge/remedy_outcome.hpp"
#include "reports/judge/usual_messages.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/record_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cufault {

using json = nlohmann::ordered_json;

void row_writer::begin(const char* table, const char* what, std::span<const column> columns) {
  json names = json::array();
  for (const auto& [name, says] : columns) names.push_back({name, says});
  out_ << json{{"table", table}, {"what", what}, {"columns", std::move(names)}}.dump() << '\n';
}

void row_writer::row(const json& values) {
  out_ << values.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
}

json or_null(std::string text) {
  return text.empty() ? json() : json(std::move(text));
}

namespace {

/// What follows from the line of an arm, made once.
struct judged_arm {
  judged_arm(const record& of, const case_result& in, const arm_result& a, const usual_messages& usual,
             const cost_notes& costs)
      : r(of),
        c(in),
        arm(a),
        cell(c.name.starts_with(matrix_family) ? cell_named(arm.name) : std::nullopt),
        name(cell.value_or(cell_name{})),
        tried(remedy_outcome_of(c, arm)),
        cost(note_of(costs, stack_label(r), remedy_of_arm(join_key(c.name, arm.name)))),
        failures(count_failures(arm.trials)) {
    const auto is_compared = [](const observation& o) { return comparable(o); };
    const auto first = std::ranges::find_if(arm.trials, is_compared);
    if (first == arm.trials.end()) return;
    signatures = distinct_signatures({arm.trials.begin(), arm.trials.end()});
    for (const counted_signature& s : signatures) severity = std::max(severity, cufault::severity(s.seen));
    for (const call_record& call : first->calls) {
      if (call.what.ok || call.swept) continue;
      failed_call = &call;
      driver = usual.reason(call);
      break;
    }
    trial = &*first;
  }

  const record& r;
  const case_result& c;
  const arm_result& arm;
  const std::optional<cell_name> cell;
  const cell_name name;  ///< empty where the arm is no cell
  const std::optional<remedy_outcome> tried;
  const std::string cost;              ///< of its remedy, where that was measured
  const observation* trial = nullptr;  ///< the first that can be compared
  const failure_count failures;
  std::vector<counted_signature> signatures{};
  int severity = 0;
  const call_record* failed_call = nullptr;  ///< of that trial
  const driver_message* driver = nullptr;    ///< why it failed
};

json yes_or_null(bool yes) {
  return yes ? json(1) : json();
}

struct arms_column {
  row_writer::column says;
  json (*of)(const judged_arm&);
};
// clang-format off
const arms_column arm_columns[] = {
    {{"family", "first word of the case"}, [](const judged_arm& a) -> json { return a.c.name.substr(0, a.c.name.find('.')); }},
    {{"case_name", "the case"}, [](const judged_arm& a) -> json { return a.c.name; }},
    {{"arm", "the arm"}, [](const judged_arm& a) -> json { return a.arm.name; }},
    {{"kind", "control, fault, remedy, dead_end or diagnosis"}, [](const judged_arm& a) -> json { return to_string(a.arm.kind); }},
    {{"summary", "what the arm does"}, [](const judged_arm& a) { return or_null(a.arm.summary); }},
    {{"fault", "of a cell of the matrix: its fault"}, [](const judged_arm& a) { return or_null(a.cell ? a.c.name.substr(matrix_family.size()) : ""); }},
    {{"operation", "of a cell: its operation"}, [](const judged_arm& a) { return or_null(a.name.operation); }},
    {{"state", "of a cell: cold or warm handle"}, [](const judged_arm& a) { return or_null(a.name.state); }},
    {{"timing", "of a cell: when the fault arrives"}, [](const judged_arm& a) { return or_null(a.name.timing); }},
    {{"level", "of a cell: level of the fault"}, [](const judged_arm& a) { return a.name.level ? json(*a.name.level) : json(); }},
    {{"remedy", "of a cell: its remedy"}, [](const judged_arm& a) { return or_null(a.name.remedy); }},
    {{"against", "the fault arm that a remedy in place from the start answers"}, [](const judged_arm& a) { return or_null(a.arm.against); }},
    {{"made_up", "1: its fault is injected, or a stand-in"}, [](const judged_arm& a) -> json { return int{is_made_up(a.arm)}; }},
    {{"counterpart_of", "of an injected fault: the arm that has it for real"}, [](const judged_arm& a) { return or_null(a.arm.counterpart_of); }},
    {{"races", "why its outcome may differ from trial to trial"}, [](const judged_arm& a) { return or_null(a.arm.races); }},
    {{"expected", "1: other runs are judged by it"}, [](const judged_arm& a) -> json { return int{a.arm.expected}; }},
    {{"trials", "how many trials"}, [](const judged_arm& a) -> json { return a.arm.trials.size(); }},
    {{"compared", "trials that can be compared: completed, crashed or hung"}, [](const judged_arm& a) -> json { return a.failures.compared; }},
    {{"failing", "trials of these in which the work that counts failed"}, [](const judged_arm& a) -> json { return a.failures.failing; }},
    {{"failed", "1: it failed in each of these"}, [](const judged_arm& a) { return a.failures.compared == 0 ? json() : json(int{a.failures.failing == a.failures.compared}); }},
    {{"cleared", "of a remedy or dead end: 1, if it cleared its fault in each trial"}, [](const judged_arm& a) { return a.tried ? json(int{a.tried->cleared}) : json(); }},
    {{"answers", "of one that was in place from the start: the CASE/ARM that shows its fault"}, [](const judged_arm& a) { return a.tried ? or_null(a.tried->against) : json(); }},
    {{"words", "of a remedy or dead end that was tried: what was done"}, [](const judged_arm& a) { return a.tried ? or_null(a.tried->words) : json(); }},
    {{"remedy_name", "by which the cost of its remedy is measured"}, [](const judged_arm& a) { return a.tried ? or_null(remedy_of_arm(join_key(a.c.name, a.arm.name))) : json(); }},
    {{"cost", "of its remedy, where that was measured on the stack"}, [](const judged_arm& a) { return or_null(a.cost); }},
    {{"unproved", "1: a control of its case is unresolved, so the arm proves nothing"}, [](const judged_arm& a) { return yes_or_null(control_unresolved(a.c)); }},
    {{"outcomes", "different signatures"}, [](const judged_arm& a) -> json { return a.signatures.size(); }},
    {{"severity", "0 success, 1 a status, 2 wrong numbers, damaged context, crash or hang"}, [](const judged_arm& a) { return a.trial == nullptr ? json() : json(a.severity); }},
    {{"call", "the call that failed first, in the first trial"}, [](const judged_arm& a) { return a.failed_call == nullptr ? json() : json(a.failed_call->what.name.api); }},
    {{"variant", "which use of that call"}, [](const judged_arm& a) { return a.failed_call == nullptr ? json() : or_null(a.failed_call->what.name.variant); }},
    {{"status", "what it returned"}, [](const judged_arm& a) { return a.failed_call == nullptr ? json() : or_null(a.failed_call->what.status); }},
    {{"driver_call", "the driver call that failed inside it"}, [](const judged_arm& a) { return a.driver == nullptr ? json() : or_null(a.driver->function); }},
    {{"driver_code", "the code of that driver call"}, [](const judged_arm& a) { return a.driver == nullptr ? json() : or_null(a.driver->code); }},
    {{"driver_text", "what the driver logged"}, [](const judged_arm& a) { return a.driver == nullptr ? json() : or_null(a.driver->text); }},
    {{"ended", "how the process of that trial ended"}, [](const judged_arm& a) { return a.trial == nullptr ? json() : json(to_string(a.trial->ended)); }},
    {{"context", "the CUDA context afterwards: usable, damaged, none, unchecked"}, [](const judged_arm& a) { return a.signatures.empty() ? json() : json(a.signatures.front().seen.context); }},
    {{"numbers", "right, wrong or unchecked"}, [](const judged_arm& a) { return a.signatures.empty() ? json() : json(a.signatures.front().seen.numbers); }},
    {{"applied", "the remedy or dead end, in words"}, [](const judged_arm& a) { return a.trial == nullptr ? json() : or_null(a.trial->applied); }},
    {{"saw", "all that is compared, in words"}, [](const judged_arm& a) { return observed(a.arm) ? or_null(describe(a.arm)) : json(); }},
    {{"verdict", "by the record of its own stack, or by the nearest one"}, [](const judged_arm& a) -> json { return to_string(a.arm.judged); }},
    {{"why", "reason of that verdict"}, [](const judged_arm& a) { return or_null(a.arm.why); }},
    {{"predicted_from", "the stack that it was judged by or predicted from"}, [](const judged_arm& a) { return or_null(a.arm.compared_with); }},
    {{"run", "when its latest trials were made, UTC"}, [](const judged_arm& a) { return or_null(latest_run(a.arm)); }},
    {{"source", "FILE:LINE in the record"}, [](const judged_arm& a) { return or_null(a.arm.source.substr(a.arm.source.rfind('/') + 1)); }},
};
// clang-format on

json array_or_null(const json& all) {
  return all.empty() ? json() : all;
}

/// Identifies equal steps, and writes each once.
class known_steps {
 public:
  std::size_t id_of(const step& s) {
    json values{s.name.api, or_null(s.name.variant), or_null(s.status),
                int{s.ok},  name_of(s.numbers),      s.facts.empty() ? json() : facts_json(s.facts)};
    const auto [at, is_new] = ids_.try_emplace(values.dump(), ids_.size());
    if (is_new) all_.push_back(std::move(values));
    return at->second;
  }
  void write(row_writer& to) const {
    to.begin("steps", "what a call came to: each once",
             {{"step_id", "its number"},
              {"api", "the function"},
              {"variant", "which use of it"},
              {"status", "what it returned; null: it did not return"},
              {"ok", "1: it did what it should"},
              {"numbers", "right, wrong or unchecked"},
              {"facts", "what else was seen, as JSON"}});
    for (std::size_t i = 0; i < all_.size(); ++i) {
      json values = all_[i];
      values.insert(values.begin(), i);
      to.row(values);
    }
  }

 private:
  std::unordered_map<std::string, std::size_t> ids_;
  std::vector<json> all_;
};

json driver_json(const call_record& call) {
  json all = json::array();
  for (const driver_message& m : call.driver) all.push_back(write_json(m));
  return array_or_null(all);
}

constexpr const char* stack_keys_shown[] = {"compute_capability", "driver",  "runtime", "cublas", "cublaslt",
                                            "other_cublas",       "pytorch", "jax",     "cupy"};

void write_stacks(row_writer& to, std::span<const record> judged) {
  std::vector<row_writer::column> columns{{"stack_id", "its number, in the order of the records"},
                                          {"stack", "the stack in words: cuBLAS, GPU, driver"},
                                          {"gpu", "name of the GPU"}};
  for (const char* key : stack_keys_shown) columns.emplace_back(key, "of `cufault stack`");
  columns.insert(columns.end(), {{"keys", "all keys of `cufault stack`, as JSON"},
                                 {"python", "its Python and what that imported, as JSON; null without one"},
                                 {"started", "when the run of the record began; null of a stack"},
                                 {"options", "of `cufault run`, to repeat an arm on its libraries"}});
  to.begin("stacks", "a record: a run, or what is kept of a stack", columns);
  std::size_t id = 0;
  for (const record& r : judged) {
    const stack_keys keys = keys_of(r);
    json values{id++, stack_label(r), or_null(gpu_name(*r.stack))};
    for (const char* key : stack_keys_shown)
      values.push_back(keys.contains(key) ? json(keys.at(key)) : json());
    values.push_back(keys);
    const auto python = r.stack->find("python");
    values.push_back(python == r.stack->end() ? json() : json(*python));
    values.push_back(or_null(r.started));
    values.push_back(or_null(library_options(r)));
    to.row(values);
  }
}

void write_judged(row_writer& to, std::span<const record> judged, const cost_notes& costs) {
  std::vector<row_writer::column> columns{{"arm_id", "its number"}, {"stack_id", "of the table stacks"}};
  for (const arms_column& column : arm_columns) columns.push_back(column.says);
  to.begin("judged_arms", "an arm of a record", columns);
  std::size_t id = 0, stack = 0;
  for (const record& r : judged) {
    const usual_messages usual(r);
    for (const case_result& c : r.cases)
      for (const arm_result& arm : c.arms) {
        const judged_arm a(r, c, arm, usual, costs);
        json values{id++, stack};
        for (const arms_column& column : arm_columns) values.push_back(column.of(a));
        to.row(values);
      }
    ++stack;
  }
}

/// Calls takes (number of the arm, number of the trial, the arm, the trial).
template <class Take>
void each_trial(std::span<const record> judged, Take take) {
  std::size_t id = 0;
  for (const record& r : judged)
    for (const case_result& c : r.cases)
      for (const arm_result& arm : c.arms) {
        for (std::size_t i = 0; i < arm.trials.size(); ++i) take(id, i, arm, arm.trials[i]);
        ++id;
      }
}

void write_trials(row_writer& to, std::span<const record> judged) {
  to.begin("trials", "a trial of an arm",
           {{"arm_id", "of the table judged_arms"},
            {"trial", "which of the arm, from 0"},
            {"level", "of an arm with levels"},
            {"refined", "1: a level between the stated ones"},
            {"ended", "completed, crashed, timed_out, not_provoked or harness_failed"},
            {"why", "the signal, or why nothing can be compared"},
            {"comparable", "1: completed, crashed or hung"},
            {"failed", "1: the work that counts failed"},
            {"context", "afterwards: usable, damaged, none or unchecked"},
            {"applied", "the remedy, in words"},
            {"heard", "1: its run kept what the driver logged"},
            {"notes", "texts that it read, as JSON: [[name, text]]"},
            {"measurements", "numbers that it measured, as JSON: [[name, value, unit]]"}});
  each_trial(judged, [&](std::size_t id, std::size_t number, const arm_result& arm, const observation& o) {
    json notes = json::array(), measured = json::array();
    for (const note& n : o.notes) notes.push_back({n.name, n.text});
    for (const measurement& m : o.measurements) measured.push_back({m.name, m.value, m.unit});
    const bool compared = comparable(o);
    to.row({id, number, o.level ? json(*o.level) : json(), yes_or_null(o.refined), to_string(o.ended),
            or_null(o.why), int{compared}, compared ? json(int{failed(signature_of(o))}) : json(), o.context,
            or_null(o.applied), int{heard_driver_log(arm, number)}, array_or_null(notes),
            array_or_null(measured)});
  });
}

void write_calls(row_writer& to, std::span<const record> judged) {
  known_steps steps;
  to.begin("made_calls", "an observed call of a trial",
           {{"arm_id", "of the table judged_arms"},
            {"trial", "of the table trials"},
            {"number", "which of the trial, from 0"},
            {"step_id", "of the table steps"},
            {"after", "1: made after the remedy"},
            {"driver", "what the driver logged during it, as JSON: function, code, text"},
            {"swept", "of a row of a sweep: what was made to fail, and what came of it, as JSON"}});
  each_trial(judged, [&](std::size_t id, std::size_t trial, const arm_result&, const observation& o) {
    for (std::size_t i = 0; i < o.calls.size(); ++i) {
      const call_record& call = o.calls[i];
      to.row({id, trial, i, steps.id_of(call.what), yes_or_null(call.after_remedy), driver_json(call),
              call.swept ? write_json(*call.swept) : json()});
    }
  });
  steps.write(to);
}

/// In one line, and the digest by which a result is known again (FNV-1a).
json result_of(const std::vector<signature>& signatures, std::size_t trials) {
  std::vector<plateau> plateaus;
  for (const signature& s : signatures) plateaus.push_back({.seen = s});
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : canonical(plateaus)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  constexpr std::size_t readable = 2000;
  std::string text = describe(signatures);
  if (text.size() > readable) text = text.substr(0, readable - 3) + "...";
  return {fmt::format("{:016x}", hash), std::move(text), trials};
}

/// What trials of one run came to.
json results_of(const arm_result& arm, const std::vector<observation>& trials) {
  json results = json::array();
  if (!arm.races.empty()) {
    for (const counted_signature& s : distinct_signatures(trials))
      results.push_back(result_of({s.seen}, static_cast<std::size_t>(s.trials)));
    return results;
  }
  // Refined levels only locate an edge, at another level in each run.
  std::vector<signature> stated;
  for (const plateau& p : plateaus_of(trials))
    if (p.stated && (stated.empty() || stated.back() != p.seen)) stated.push_back(p.seen);
  results.push_back(result_of(stated, trials.size()));
  return results;
}

}  // namespace

void write_runs(row_writer& to, const std::string& file, const record& r) {
  // Its text identifies the stack in histories: sorted, and never another.
  to.row({{"record", file},
          {"stack", dump_json(nlohmann::json{{"keys", keys_of(r)}, {"gpu", gpu_name(*r.stack)}})}});
  for (const case_result& c : r.cases)
    for (const arm_result& arm : c.arms) {
      std::vector<run_of_trials> runs = arm.runs;
      if (runs.empty())
        runs = {{.commit = r.commit,
                 .dirty = r.dirty,
                 .started = r.started,
                 .seed = r.seed,
                 .trials = arm.trials.size()}};
      auto from = arm.trials.begin();
      for (const run_of_trials& made : runs) {
        const auto to_trial = from + static_cast<std::ptrdiff_t>(made.trials);
        const std::vector<observation> trials(std::exchange(from, to_trial), to_trial);
        if (trials.empty() || !std::ranges::all_of(trials, comparable)) continue;
        to.row({join_key(c.name, arm.name), made.started, std::to_string(made.seed),
                made.commit + (made.dirty ? ", modified" : ""), int{!arm.races.empty()},
                results_of(arm, trials)});
      }
    }
  to.row(nullptr);
}

void write_arms(row_writer& to, std::span<const record> judged, const cost_notes& costs) {
  write_stacks(to, judged);
  write_judged(to, judged, costs);
  write_trials(to, judged);
  write_calls(to, judged);
}

void write_costs(row_writer& to, std::span<const cost_record> records) {
  to.begin("cost_runs", "a run of remedy_cost",
           {{"run", "its number"},
            {"stack", "the stack in words"},
            {"gpu", "name of the GPU"},
            {"started", "when it began"},
            {"commit_id", "of cufault"},
            {"modified", "1: with changes that no commit has"},
            {"seed", "as text"},
            {"size", "usual, or tiny: shapes of a test, whose figures mean nothing"},
            {"complete", "1: it came to its end"}});
  for (std::size_t run = 0; run < records.size(); ++run) {
    const cost_record& r = records[run];
    record of_stack;
    of_stack.stack = r.stack;
    to.row({run, stack_label(of_stack), or_null(gpu_name(*r.stack)), r.started, r.commit, int{r.dirty},
            std::to_string(r.seed), r.size, int{r.complete}});
  }
  const auto estimate = [](const median_estimate& e) {
    return json{{"median", e.median}, {"low", e.low}, {"high", e.high}, {"coverage", e.coverage}};
  };
  to.begin("costs", "a remedy on a kind of work, or a kind of work that was not measured",
           {{"run", "of the table cost_runs"},
            {"work", "its name"},
            {"work_words", "the work in words"},
            {"clock", "device or host"},
            {"type", "of its products"},
            {"operations", "arithmetic operations of a call"},
            {"bytes", "of the operands of a call"},
            {"without_ms", "time of a call, as JSON: median, low, high and coverage of the interval"},
            {"control", "the work by itself in the same round, likewise"},
            {"unsteady", "1: the control differs by more than chance and by more than a fiftieth"},
            {"remedy", "its name"},
            {"words", "what is done"},
            {"verdict", "measured, inside the noise, too few rounds, wrong numbers or not measured"},
            {"why", "it was not measured"},
            {"rounds", "how often it was measured"},
            {"with_ms", "time of a call, as JSON"},
            {"ratio", "of the time to that without it in the same round, as JSON"},
            {"more_bytes", "device memory that it takes"}});
  const auto of_work = [](std::size_t run, const cost_comparison& c) {
    return json{run, c.name, c.work, or_null(c.clock), or_null(c.type), c.operations, c.bytes};
  };
  for (std::size_t run = 0; run < records.size(); ++run) {
    for (const judged_cost& j : judged(records[run])) {
      const bool timed = j.verdict != cost_verdict::failed;
      json values = of_work(run, *j.where);
      for (json& value :
           json{estimate(j.without), estimate(j.control), yes_or_null(is_unsteady(j.control)), j.what->remedy,
                j.what->words, to_string(j.verdict), or_null(j.why), j.what->milliseconds.size(),
                timed ? estimate(j.milliseconds) : json(), timed ? estimate(j.ratio) : json(),
                j.more_bytes ? json(*j.more_bytes) : json()})
        values.push_back(std::move(value));
      to.row(values);
    }
    for (const cost_comparison& c : records[run].comparisons) {
      if (c.failed.empty()) continue;
      json values = of_work(run, c);
      for (const json& value : json{json(), json(), json(), json(), json(), to_string(cost_verdict::failed),
                                    c.failed, 0, json(), json(), json()})
        values.push_back(value);
      to.row(values);
    }
  }
}

void write_claims(row_writer& to, const std::vector<claim_verdict>& verdicts) {
  to.begin("claims", "a claim of a source document",
           {{"claim", "its identifier"},
            {"kind", "failure, remedy, dead_end or statement"},
            {"text", "what it says"},
            {"verdict", "what the evidence says together"},
            {"status", "of a failure: the documented status"},
            {"call", "of a failure: the documented call"},
            {"untestable", "why nothing in it can be run"},
            {"awaits", "what alone can tell"},
            {"source", "where its document is from"},
            {"arms", "those behind the verdict, by what they say; each stack has a letter"}});
  for (const auto& [what, verdict, evidence, arms] : verdicts)
    to.row({what.id, to_string(what.kind), what.text, verdict, or_null(what.status), or_null(what.call),
            or_null(what.untestable), or_null(what.awaits), or_null(what.source), arms});
  to.begin("claim_evidence", "what an arm says of a claim, natural ones first",
           {{"claim", "of the table claims"},
            {"case_name", "the case"},
            {"arm", "the arm"},
            {"stack", "the stack in words"},
            {"says", "confirmed, other status, refuted, partly or cut off"},
            {"why", "its signature, or what decided a rule"},
            {"made_up", "1: its fault is injected, or a stand-in"},
            {"cost", "of a remedy that cleared its fault, where that was measured on the stack"}});
  for (const claim_verdict& v : verdicts)
    for (const claim_evidence& e : v.evidence)
      to.row({v.what.id, e.case_name, e.arm, e.stack, e.says, e.why, int{e.made_up}, or_null(e.cost)});
}

}  // namespace cufault
