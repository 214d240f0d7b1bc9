// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/report.hpp"

#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/library_files.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/atlas.hpp"
#include "reports/printers/render.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace cufault {
namespace {

/// What an arm came to in a run: each signature of its trials once. Nothing where it was not observed.
using result_of_run = std::vector<signature>;

result_of_run result_of(const arm_result& arm) {
  result_of_run seen;
  for (const observation& o : arm.trials) {
    signature s = signature_of(o);
    if (std::ranges::find(seen, s) == seen.end()) seen.push_back(std::move(s));
  }
  return seen;
}

/// Equal but for the order of the trials.
bool same(const result_of_run& a, const result_of_run& b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

/// Runs in which an arm came to the same.
struct kept_result {
  result_of_run seen{};
  arm_result earliest{};
  std::string started{};  ///< of `earliest`
  std::size_t runs = 0;
};

struct kept_arm {
  arm_result latest{};  ///< moved away by result()
  bool was_observed = false;
  std::string started{};  ///< of `latest`
  std::string record{};   ///< its name
  std::vector<kept_result> results{};
};

struct kept_stack {
  record header{};  ///< of the latest record
  std::string header_name{};
  std::size_t runs = 0;
  std::string first{};
  // The key is CASE/ARM.
  std::unordered_map<std::string, kept_arm> arms{};
  std::size_t merged = 0;  ///< index of report_builder::state::merged, made by result()
  std::string file{};
};

/// Of two the one that was observed, then the later one; the name decides where both began in the same second.
bool comes_after(const kept_arm& known, bool was_observed, const std::string& started,
                 const std::string& name) {
  return std::tie(known.was_observed, known.started, known.record) < std::tie(was_observed, started, name);
}

void keep(kept_stack& stack, const std::string& name, const std::string& case_name, arm_result arm) {
  kept_arm& known = stack.arms[join_key(case_name, arm.name)];
  const bool was_observed = observed(arm);
  std::string started = latest_run(arm);
  if (was_observed) {
    result_of_run seen = result_of(arm);
    auto there =
        std::ranges::find_if(known.results, [&](const kept_result& r) { return same(r.seen, seen); });
    if (there == known.results.end()) there = known.results.insert(there, {std::move(seen), arm, started});
    if (started < there->started) {
      there->earliest = arm;
      there->started = started;
    }
    ++there->runs;
  }
  if (!known.record.empty() && !comes_after(known, was_observed, started, name)) return;
  known.latest = std::move(arm);
  known.was_observed = was_observed;
  known.started = std::move(started);
  known.record = name;
}

/// Where arms that were tried at several levels stop failing, and what handles take that are never destroyed. By the row, without the stacks.
struct memory_tables {
  std::map<table_row, std::set<std::string>> edges, leaks;  // letters of stacks

  void add(const std::string& name, const std::string& letter, const arm_result& arm) {
    std::string handles;
    for (const observation& o : arm.trials) {
      const measurement* const fails = find_measurement(o, "largest failing");
      const measurement* const succeeds = find_measurement(o, "smallest succeeding");
      if (fails != nullptr && succeeds != nullptr && fails->unit == succeeds->unit)
        edges[{name, fmt::format("{}", fails->value), fmt::format("{}", succeeds->value), fails->unit}]
            .insert(letter);
      for (const measurement& m : o.measurements) {
        if (m.name == "handles created") handles = fmt::format("{}", m.value);
        if (!handles.empty() && m.name.starts_with("device memory per handle"))
          leaks[{name, handles, fmt::format("{:.3f}", m.value / 1024 / 1024), m.name}].insert(letter);
      }
    }
  }
  [[nodiscard]] std::vector<report_part::table> tables() const {
    std::vector<report_part::table> all;
    const auto put = [&](const char* title, table_row head, const auto& rows) {
      if (rows.empty()) return;
      auto& table = all.emplace_back(report_part::table{title, std::move(head)});
      for (const auto& [row, letters] : rows)
        table.rows.emplace_back(row).push_back(fmt::format("{}", fmt::join(letters, ", ")));
    };
    put("Edges between failure and success",
        {"arm", "largest failing", "smallest succeeding", "unit", "stacks"}, edges);
    put("Handles that are never destroyed", {"arm", "handles", "MiB each", "measured", "stacks"}, leaks);
    return all;
  }
};

std::string file_name(const record& r, std::set<std::string>& taken) {
  std::string stem = "unknown-stack";
  try {
    stem = stack_folder_name(*r.stack);
  } catch (const input_error&) {
    // A machine without a GPU does not say which cuBLAS it has.
  }
  std::string name = stem;
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
  return fmt::format("records/{}.jsonl", name);
}

/// What tells stacks apart.
std::string key_of_stack(const record& r) {
  std::string key = stack_label(r);
  const auto keys = keys_of(r);
  for (const auto& [name_of_key, title] :
       {std::pair{"other_cublas", "other cuBLAS"}, {"pytorch", "PyTorch"}, {"jax", "JAX"}, {"cupy", "CuPy"}})
    if (const auto found = keys.find(name_of_key); found != keys.end() && found->second != "none")
      key += fmt::format(", {} {}", title, found->second);
  return key;
}

report_run run_from(const std::string& name, const record& r) {
  report_run run{.name = name,
                 .started = r.started,
                 .stack = key_of_stack(r),
                 .gpu = gpu_name(*r.stack),
                 .exit_code = r.exit_code,
                 .complete = r.complete,
                 .filed = r.commit.empty()};
  for (const case_result& c : r.cases) run.arms += c.arms.size();
  run.green = run.complete && run.exit_code == 0 && (run.filed || r.mode == run_mode::gate);
  return run;
}

bool is_before(const report_run& a, const report_run& b) {
  return std::tie(a.started, a.name) < std::tie(b.started, b.name);
}

}  // namespace

struct report_builder::state {
  std::map<std::string, kept_stack> stacks;  // by label and other keys that tell stacks apart
  std::vector<report_run> runs;
  std::vector<record> merged;
  std::set<std::string> names;
  std::vector<std::string> unread, incomplete;
};

report_builder::report_builder() : state_(std::make_unique<state>()) {}
report_builder::~report_builder() = default;

bool report_builder::empty() const {
  return state_->stacks.empty();
}

void report_builder::add_unread(std::string why) {
  state_->unread.push_back(std::move(why));
}

void report_builder::add_green(const std::string& name, const record& r) {
  report_run run = run_from(name, r);
  run.asked = true;
  run.green = r.complete && r.exit_code == 0;
  state_->runs.push_back(std::move(run));
}

void report_builder::add(const std::string& name, record r) {
  if (!state_->names.insert(name).second) return;
  if (!r.complete) state_->incomplete.push_back(name);
  state_->runs.push_back(run_from(name, r));
  const std::string key = state_->runs.back().stack;
  kept_stack& stack = state_->stacks[key];
  if (stack.runs == 0 || r.started < stack.first) stack.first = r.started;
  ++stack.runs;
  for (case_result& c : r.cases)
    for (arm_result& a : c.arms) keep(stack, name, c.name, std::move(a));
  if (!stack.header_name.empty() &&
      std::tie(r.started, name) <= std::tie(stack.header.started, stack.header_name))
    return;
  r.cases.clear();
  stack.header = std::move(r);
  stack.header_name = name;
}

report report_builder::result(const baselines& recorded, const std::vector<claim>& claims,
                              const cost_notes& costs) {
  report all;
  memory_tables memory;
  all.unread = state_->unread;
  all.incomplete = state_->incomplete;
  all.runs = state_->runs;
  std::ranges::sort(all.runs, is_before);
  std::ranges::sort(all.unread);
  std::ranges::sort(all.incomplete);
  std::set<std::string> taken;
  std::vector<record>& merged = state_->merged;
  merged.reserve(state_->stacks.size());
  for (auto& [label, stack] : state_->stacks) {
    std::vector<std::string> names;
    for (const auto& [name, arm] : stack.arms) names.push_back(name);
    std::ranges::sort(names);
    stack.merged = merged.size();
    record& of_stack = merged.emplace_back(stack.header);
    stack.file = file_name(stack.header, taken);
    int line = 1;
    for (const std::string& name : names) {
      kept_arm& arm = stack.arms.at(name);
      arm.latest.source = fmt::format("{}:{}", stack.file, ++line);
      case_in(of_stack.cases, name.substr(0, name.find('/'))).arms.push_back(std::move(arm.latest));
    }
    for (case_result& c : of_stack.cases) judge(c, recorded, keys_of(of_stack));
    of_stack.exit_code = exit_code(exit_reasons(of_stack.cases, run_mode::gate, 0));
    report::stack shown{.letter = letter_of(all.stacks.size()),
                        .run = report_of(of_stack, costs),
                        .keys = keys_of(of_stack),
                        .file = stack.file,
                        .runs = stack.runs,
                        .first = stack.first,
                        .latest = of_stack.started};
    for (const auto& [library, words] : words_of_files(*of_stack.stack))
      shown.keys[library + " file"] = words;
    shown.run.stack = label;
    shown.run.mode = run_mode::observe;  // several runs are no gate
    auto of_arm = shown.run.arms.begin();
    for (const case_result& c : of_stack.cases)
      for (const arm_result& latest : c.arms) {
        report_arm& a = *of_arm++;
        const kept_arm& arm = stack.arms.at(join_key(c.name, latest.name));
        for (const kept_result& r : arm.results) {
          a.runs += r.runs;
          if (arm.was_observed && arm.results.size() > 1 && !same(r.seen, result_of(latest)) &&
              !is_same(compare_arms(&r.earliest, &latest).v))
            a.otherwise += r.runs;
        }
        if (!control_unresolved(c)) memory.add(join_key(c.name, latest.name), shown.letter, latest);
      }
    all.stacks.push_back(std::move(shown));
  }
  all.matrix = matrix_of(merged);
  std::vector<report_part::table> atlas;
  for (const named_table& t : atlas_tables(merged, atlas_extent::overview))
    atlas.push_back({t.stack, t.head(), t.shown_rows()});
  all.parts = {
      {.id = "memory",
       .title = "Memory",
       .otherwise =
           "Not measured: no arm of these records has an edge between failure and success, or leaks handles.",
       .tables = memory.tables()},
      {.id = "atlas",
       .title = "Atlas",
       .otherwise = "Not measured: these records have no sweep; cufault sweep makes them.",
       .tables = std::move(atlas)},
      {.id = "claims", .title = "Claims", .otherwise = "No claims were given."}};
  if (!claims.empty()) {
    const auto verdicts = judge_claims(claims, merged, costs);
    report_part& part = all.parts.back();
    part.before = "What documents say, judged by these records. The letters are of this section.";
    for (const auto& [stack, letter] : letters_of(verdicts))
      part.list.push_back(fmt::format("{}: {}", letter, stack));
    auto& table = part.tables.emplace_back();  // as `cufault claims` prints it (reports/answers/claims.py)
    table.head = {"claim", "kind", "verdict", "what it says", "arms behind the verdict"};
    std::vector<std::string> words;
    for (const claim_verdict& v : verdicts) {
      words.push_back(v.verdict);
      table.rows.push_back({v.what.id, to_string(v.what.kind), v.verdict, v.what.text, v.arms});
    }
    part.after = fmt::format("{}: {}", plural(verdicts.size(), "claim"), counted_words(words));
  }
  return all;
}

std::optional<std::string> report_builder::last_green(const report& all) const {
  const auto latest =
      std::find_if(all.runs.rbegin(), all.runs.rend(), [](const auto& r) { return !r.asked; });
  if (latest == all.runs.rend()) return {};
  const report_run* found = nullptr;
  const auto nearness = [&](const report_run& r) {
    return std::tuple(r.asked, r.stack == latest->stack, r.gpu == latest->gpu);
  };
  for (const report_run& r : all.runs)
    if (r.green && (r.asked || (!r.filed && is_before(r, *latest) &&
                                (r.stack == latest->stack || r.gpu == latest->gpu))))
      if (found == nullptr || nearness(*found) <= nearness(r)) found = &r;
  return found == nullptr ? std::optional<std::string>{} : found->name;
}

report_change report_builder::change_since(const std::string& name, const record& green,
                                           const report& all) const {
  const auto latest =
      std::find_if(all.runs.rbegin(), all.runs.rend(), [](const auto& r) { return !r.asked; });
  const kept_stack& stack = state_->stacks.at(latest->stack);
  const bool asked =
      std::ranges::any_of(all.runs, [&](const report_run& r) { return r.asked && r.name == name; });
  record now = state_->merged[stack.merged];
  for (case_result& c : now.cases)  // of the same stack, what later runs observed
    std::erase_if(c.arms, [&](const arm_result& a) {
      return !asked && stack.arms.at(join_key(c.name, a.name)).started <= green.started;
    });
  std::erase_if(now.cases, [](const case_result& c) { return c.arms.empty(); });
  const comparison found = compare(std::array{green, std::move(now)});
  const auto& shown =
      *std::ranges::find_if(all.stacks, [&](const report::stack& s) { return s.run.stack == latest->stack; });
  report_change change{.letter = shown.letter,
                       .now = latest->stack,
                       .green = name,
                       .started = green.started,
                       .label = stack_label(green),
                       .filed = green.commit.empty(),
                       .stacks = found.stacks,
                       .unknown = found.not_asked + found.unobserved};
  std::vector<described_arm> arms;
  std::vector<const compared_arm*> changed;
  for (const compared_arm& a : found.arms) {
    ++(is_same(a.found.v) ? change.same : a.found.v == verdict::unrecorded ? change.unknown : change.changed);
    if (is_same(a.found.v) || a.found.v == verdict::unrecorded) continue;
    arms.push_back(described(join_key(a.case_name, a.arm), a.found));
    changed.push_back(&a);
  }
  for (change_group& g : groups_of(arms)) {
    const compared_arm& a = *changed[g.arms[0]];
    const auto at = std::ranges::find_if(
        shown.run.arms, [&](const report_arm& r) { return r.arm == a.arm && r.case_name == a.case_name; });
    change.groups.push_back({std::move(g), a, at == shown.run.arms.end() ? std::string() : at->repeat});
  }
  return change;
}

report report_of_run(run_report run, std::string file) {
  report all;
  all.command = "cufault run";
  const std::string started = run.started;
  all.stacks.push_back({letter_of(0), std::move(run), {}, std::move(file), 1, started, started});
  return all;
}

std::vector<report_file> report_builder::files() const {
  std::vector<report_file> files;
  for (const auto& [label, stack] : state_->stacks)
    files.push_back({stack.file, &state_->merged[stack.merged]});
  return files;
}

}  // namespace cufault
