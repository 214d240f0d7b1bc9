// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/comparison.hpp"

#include "reports/judge/library_files.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

/// Each record's name in a table: its stack and, where two are of one stack, when it was made.
std::vector<std::string> labels_of(std::span<const record> records) {
  std::vector<std::string> labels;
  for (const auto& r : records) {
    const auto alike = std::count_if(records.begin(), records.end(),
                                     [&](const record& o) { return stack_label(o) == stack_label(r); });
    labels.push_back(alike == 1 ? stack_label(r) : fmt::format("{} ({})", stack_label(r), r.started));
  }
  return labels;
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

/// What a reader is to know about a change; the worst first.
struct change_advice {
  change what;
  std::string_view says;
};
constexpr std::array change_advices{
    change_advice{change::unresolved, "nothing was proved: repair the harness, the control or the machine"},
    change_advice{change::worsened, "a status became a crash, a hang, wrong numbers or a damaged context"},
    change_advice{change::remedy_broken, "the failure is the same and its remedy no longer clears it"},
    change_advice{change::changed, "it behaves in another way"},
    change_advice{change::gone, "the failure no longer happens, or a dead end now clears it"},
    change_advice{change::absent,
                  "observed in the baseline, and not in the candidate: run the same cases and tiers of both"},
    change_advice{change::added, "observed in the candidate alone: there is nothing to compare it with"}};

std::map<change, std::size_t> changes_in(const gate_report& report) {
  std::map<change, std::size_t> counts;
  for (const gated_arm& a : report.arms) ++counts[a.found.what];
  if (report.unobserved > 0) counts[change::unobserved] = report.unobserved;
  return counts;
}

std::string text_of(const std::map<change, std::size_t>& counts) {
  std::vector<std::string> words;
  for (const auto& name : names_of(change{}))
    if (const auto found = counts.find(name.value); found != counts.end())
      words.push_back(fmt::format("{} {}", found->second, name.name));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string allowance_text(const gated_arm& a) {
  return a.allowed_by ? fmt::format(" [allowed until {}: {}]", a.allowed_by->expires, a.allowed_by->reason)
                      : std::string();
}

/// One line of an arm, in the words of the gate.
std::string line_of(const gated_arm& a) {
  std::string text = join_key(a.case_name, a.arm);
  if (!a.summary.empty()) text += fmt::format(" ({})", a.summary);
  if (!a.found.why.empty()) text += ": " + a.found.why;
  return text + allowance_text(a);
}

/// A line for the arms of a case that have the same reason: "memory.leak: one, two (no GPU)".
std::vector<std::string> lines_by_case(const std::vector<const gated_arm*>& arms, gate_extent extent) {
  std::map<std::pair<std::string, std::string>, std::string> names;  // by case and what follows
  for (const gated_arm* a : arms) {
    std::string rest;
    if (extent == gate_extent::reasons) {
      if (!a->found.why.empty() && a->found.why != not_in_baseline && a->found.why != not_in_candidate)
        rest = fmt::format(" ({})", a->found.why);
      rest += allowance_text(*a);
    }
    std::string& here = names[{a->case_name, rest}];
    here += (here.empty() ? "" : ", ") + a->arm;
  }
  std::vector<std::string> lines;
  for (const auto& [key, listed] : names)
    lines.push_back(fmt::format("{}: {}{}", key.first, listed, key.second));
  return lines;
}

/// Likewise, of absent arms. Of a case that the candidate does not have there is only the number: "memory.leak: all 12 arms".
std::vector<std::string> lines_of_absent(const std::vector<const gated_arm*>& absent,
                                         const gate_report& report, gate_extent extent) {
  std::set<std::string> named_cases;  // in which something was observed, or has a reason or an allowance
  for (const gated_arm& a : report.arms)
    if (!a.after.empty() || a.allowed_by) named_cases.insert(a.case_name);
  for (const gated_arm* a : absent)
    if (a->found.why != not_in_candidate) named_cases.insert(a->case_name);
  std::vector<const gated_arm*> named;
  std::map<std::string, std::size_t> whole;
  for (const gated_arm* a : absent) {
    if (named_cases.contains(a->case_name))
      named.push_back(a);
    else
      ++whole[a->case_name];
  }
  std::vector<std::string> lines = lines_by_case(named, extent);
  for (const auto& [case_name, arms] : whole)
    lines.push_back(fmt::format("{}: all {}", case_name, plural(arms, "arm")));
  return lines;
}

std::string line_of(const allowance& a) {
  return fmt::format("{}: {} of {} (until {}: {})", a.source, to_string(a.what), a.arm, a.expires, a.reason);
}

}  // namespace

int print_differences(std::ostream& out, std::span<const record> records, table_style style,
                      missing_arms missing) {
  std::vector<table_row> rows;
  std::vector<std::string> reasons;  // of rows
  std::size_t equal = 0, unobserved = 0, missed = 0;
  for (const joined_arm& joined : join(records)) {
    const auto has = [](const arm_result* arm) { return arm != nullptr && observed(*arm); };
    if (std::none_of(joined.each.begin(), joined.each.end(), has) &&
        std::count(joined.each.begin(), joined.each.end(), nullptr) == 0) {
      ++unobserved;
      continue;
    }
    const bool all = std::all_of(joined.each.begin(), joined.each.end(), has);
    if (!all && missing == missing_arms::counted) {
      ++missed;
      continue;
    }
    std::string reason;
    bool differs = !all;
    for (std::size_t i = 1; i < joined.each.size() && all && !differs; ++i) {
      const arm_change found = compare_arms(joined.each[0], joined.each[i]);
      differs = found.what != change::unchanged;
      reason = fmt::format("{}: {}", to_string(found.what), found.why);
    }
    if (!differs) {
      ++equal;
      continue;
    }
    table_row cells{joined.case_name, joined.arm};
    for (const auto* arm : joined.each) cells.push_back(arm == nullptr ? "(no such arm)" : seen_by(*arm));
    // Where all look alike, a measurement, a rate or an edge differs.
    const bool alike = all && std::all_of(joined.each.begin(), joined.each.end(), [&](const arm_result* arm) {
                         return describe(*arm) == describe(*joined.each[0]);
                       });
    reasons.push_back(alike ? reason : "");
    rows.push_back(std::move(cells));
  }

  const auto labels = labels_of(records);
  std::vector<table_row> of_files;  // name, which record, what the first has, what that one has
  for (std::size_t i = 1; i < records.size(); ++i)
    for (const stack_difference& d : file_differences(records[0].stack, records[i].stack))
      of_files.push_back({d.name, labels[i], or_dash(d.before), or_dash(d.after)});
  if (style == table_style::markdown) {
    if (!of_files.empty()) {
      print_table(out, {"of the stack", "record", "in the first", "in it"}, of_files, style);
      out << '\n';
    }
    table_row head{"case", "arm"};
    head.insert(head.end(), labels.begin(), labels.end());
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!reasons[i].empty()) rows[i].back() += "\n" + reasons[i];
    if (!rows.empty()) print_table(out, head, rows, style);
  } else {
    for (const table_row& f : of_files)
      out << fmt::format("{}\n  {}: {}\n  {}: {}\n", cell(f[0], style), cell(labels[0], style),
                         cell(f[2], style), cell(f[1], style), cell(f[3], style));
    // Signatures are too long to stand side by side.
    for (std::size_t i = 0; i < rows.size(); ++i) {
      out << cell(join_key(rows[i][0], rows[i][1]), style) << "\n";
      for (std::size_t of = 0; of < labels.size(); ++of)
        out << fmt::format("  {}: {}\n", cell(labels[of], style), cell(rows[i][of + 2], style));
      if (!reasons[i].empty()) out << fmt::format("  {}\n", cell(reasons[i], style));
    }
    if (!rows.empty() || !of_files.empty()) out << '\n';
  }
  out << fmt::format("{} different{}, {} equal", plural(rows.size(), "arm"),
                     missing == missing_arms::shown ? " or missing" : "", equal);
  if (missed > 0) out << fmt::format(", {} not observed in all", missed);
  if (unobserved > 0) out << fmt::format(", {} observed in none", unobserved);
  out << '\n';
  return static_cast<int>(rows.size());
}

void print_gate(std::ostream& out, const gate_report& report, table_style style, gate_extent extent) {
  limited_output page(out, style);
  const std::string verdict = verdict_line(exit_reasons(report), 0);
  page.heading("cufault gate: " + verdict);
  const auto observed_in = [&](std::string gated_arm::*seen) {
    return plural(
        static_cast<std::size_t>(std::count_if(report.arms.begin(), report.arms.end(),
                                               [&](const gated_arm& a) { return !(a.*seen).empty(); })),
        "arm");
  };
  page.line(fmt::format("baseline: {}: {} observed", report.baseline, observed_in(&gated_arm::before)));
  page.line(fmt::format("candidate: {}: {} observed", report.candidate, observed_in(&gated_arm::after)));

  std::vector<table_row> rows;
  for (const stack_difference& d : report.stacks)
    rows.push_back({d.name, or_dash(d.before), or_dash(d.after)});
  if (rows.empty())
    page.line("The stacks are equal.");
  else
    page.table("What differs between the stacks", {"of the stack", "baseline", "candidate"}, rows);

  const auto compared = [](const gated_arm& a) {
    return !a.found.why.empty() && !a.before.empty() && !a.after.empty();
  };
  if (extent == gate_extent::reasons && std::any_of(report.arms.begin(), report.arms.end(), compared))
    page.line("Below, expected is what the baseline showed, and seen what the candidate showed.");
  for (const auto& [what, says] : change_advices) {
    std::vector<const gated_arm*> arms;
    for (const bool allowed : {false, true})
      for (const gated_arm& a : report.arms)
        if (a.found.what == what && a.allowed_by.has_value() == allowed) arms.push_back(&a);
    if (arms.empty()) continue;
    std::vector<std::string> lines;
    if (what == change::absent)
      lines = lines_of_absent(arms, report, extent);
    else if (extent == gate_extent::names || what == change::added)
      lines = lines_by_case(arms, extent);
    else
      for (const gated_arm* a : arms) lines.push_back(line_of(*a));
    constexpr std::size_t enough = 10;
    page.list(fmt::format("{}, {}: {}", to_string(what), plural(arms.size(), "arm"), says), lines,
              what == change::added ? enough : SIZE_MAX);
  }
  for (const auto& [title, allowances] :
       {std::pair{"allowances that have expired, and cover nothing", &report.expired},
        std::pair{"allowances that nothing needs: remove them", &report.unused}}) {
    std::vector<std::string> lines;
    for (const allowance& a : *allowances) lines.push_back(line_of(a));
    if (!lines.empty()) page.list(title, lines);
  }
  if (!report.unread.empty()) page.list("files that could not be read", report.unread);
  page.last(fmt::format("{}: {}; {} of the candidate executed, the floor is {}",
                        plural(report.arms.size() + report.unobserved, "arm"), text_of(changes_in(report)),
                        plural(report.executed, "case"), report.at_least));
  if (style == table_style::text) page.last("gate: " + verdict);
}

nlohmann::json to_json(const gate_report& report) {
  nlohmann::json stacks = nlohmann::json::array(), arms = nlohmann::json::array(),
                 counts = nlohmann::json::object();
  const std::vector<exit_reason> reasons = exit_reasons(report);
  for (const stack_difference& d : report.stacks)
    stacks.push_back({{"name", d.name}, {"baseline", d.before}, {"candidate", d.after}});
  for (const gated_arm& a : report.arms) {
    if (a.found.what == change::unchanged) continue;
    nlohmann::json j{{"case", a.case_name},  {"arm", a.arm},
                     {"summary", a.summary}, {"change", to_string(a.found.what)},
                     {"why", a.found.why},   {"baseline", a.before},
                     {"candidate", a.after}};
    if (a.allowed_by) j["allowed"] = {{"reason", a.allowed_by->reason}, {"expires", a.allowed_by->expires}};
    arms.push_back(std::move(j));
  }
  for (const auto& [what, count] : changes_in(report)) counts[to_string(what)] = count;
  const auto allowances = [](const std::vector<allowance>& all) {
    auto list = nlohmann::json::array();
    for (const allowance& a : all)
      list.push_back(
          {{"arm", a.arm}, {"change", to_string(a.what)}, {"reason", a.reason}, {"expires", a.expires}});
    return list;
  };
  return {{"schema", 1},
          {"exit_code", exit_code(reasons)},
          {"reasons", to_json(reasons)},
          {"baseline", report.baseline},
          {"candidate", report.candidate},
          {"stacks", stacks},
          {"arms", arms},
          {"counts", counts},
          {"executed_cases", report.executed},
          {"floor", report.at_least},
          {"expired_allowances", allowances(report.expired)},
          {"unused_allowances", allowances(report.unused)},
          {"unread", report.unread}};
}

}  // namespace cufault
