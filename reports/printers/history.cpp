// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/history.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace cufault {
namespace {

std::size_t flakes_of(const history_arm& arm) {
  std::size_t flakes = 0;
  for (const auto& e : arm.entries) flakes += e.flakes();
  return flakes;
}

std::size_t runs_of(const history_arm& arm) {
  std::size_t runs = 0;
  for (const auto& e : arm.entries) runs += e.runs;
  return runs;
}

/// "a (the first)" where it has been the same on all.
std::string since_text(const history_arm& arm) {
  const std::string since = letter_of(arm.entries[arm.since].stack);
  if (arm.entries.size() == 1) return since + " (the only one)";
  return arm.since == 0 ? since + " (the first)" : since;
}

bool changed(const history_arm& arm) {
  return std::ranges::any_of(arm.entries, [](const history_entry& e) { return e.changed; });
}

std::string share(std::size_t part, std::size_t all) {
  return fmt::format("{} of {}", part, all);
}

std::string line_of(const history_proposal& p) {
  const std::string runs = fmt::format("{} on {}, {} from {} to {}", p.arm, letter_of(p.stack),
                                       plural(p.runs, "run"), p.first.substr(0, 10), p.last.substr(0, 10));
  const std::string before =
      p.trials_before == 0 ? "" : fmt::format("; {} before", share(p.before, p.trials_before));
  return fmt::format("{}: {} trials{}: {}", runs,
                     p.steady ? "all " + std::to_string(p.now) : share(p.now, p.trials_now), before, p.seen);
}

/// What an arm shows on a stack; where it varies, each result with its share.
std::string seen_on(const history_entry& e) {
  if (e.results.size() == 1) return e.results[0].seen;
  std::size_t trials = 0;
  for (const auto& r : e.results) trials += r.trials;
  std::string text;
  for (const auto& r : e.results)
    text += fmt::format("{}{}: {}", text.empty() ? "" : " | ",
                        e.races ? fmt::format("{} of {} trials", r.trials, trials)
                                : fmt::format("{} of {} runs", r.runs, e.runs),
                        r.seen);
  return text;
}

}  // namespace

void print_history(std::ostream& out, const history_view& view, table_style style, history_extent extent) {
  limited_output page(out, style);
  page.heading("cufault history");
  page.line(fmt::format("{} on {}{}", plural(view.runs, "run"), plural(view.stacks.size(), "stack"),
                        view.runs == 0 ? "" : fmt::format(", from {} to {}", view.first, view.last)));
  std::vector<table_row> rows;
  for (std::size_t i = 0; i < view.stacks.size(); ++i)
    rows.push_back({letter_of(i), std::to_string(view.stacks[i].runs), view.stacks[i].label});
  if (!rows.empty())
    page.table("Stacks, in the order of architecture, driver, cuBLAS and the rest", {"", "runs", "stack"},
               rows);

  rows.clear();
  std::size_t steady = 0, single = 0;
  for (const history_arm& arm : view.arms) {
    const std::size_t flakes = flakes_of(arm);
    if (extent == history_extent::details) {
      for (std::size_t i = 0; i < arm.entries.size(); ++i) {
        const history_entry& e = arm.entries[i];
        const std::string since = i == 0 ? arm.name : "";
        rows.push_back(
            {since,
             letter_of(e.stack) +
                 (e.changed ? fmt::format(" (not as {})", letter_of(arm.entries[*e.nearest].stack)) : ""),
             std::to_string(e.runs), e.races ? "races" : fmt::format("{} of {}", e.flakes(), e.runs),
             seen_on(e)});
      }
    } else if (changed(arm) || flakes > 0) {
      const history_entry& now = arm.entries.back();
      rows.push_back({arm.name, since_text(arm),
                      now.races ? "races" : fmt::format("{} of {}", flakes, runs_of(arm)), seen_on(now)});
    } else {
      ++(arm.entries.size() > 1 ? steady : single);
    }
  }
  const auto put_proposals = [&] {
    for (const bool steady : {true, false}) {
      std::vector<std::string> lines;
      for (const history_proposal& p : view.proposals)
        if (p.steady == steady) lines.push_back(line_of(p));
      if (!lines.empty())
        page.list(steady ? "Recorded as racing, and steady since: file a fresh record (cufault baseline add "
                           "RECORD CASE/ARM)"
                         : "Recorded as racing, and of another rate since: file a fresh record (cufault "
                           "baseline add RECORD CASE/ARM)",
                  lines);
    }
  };
  if (extent == history_extent::details) {
    if (!rows.empty()) page.table("Arms", {"arm", "stack", "runs", "flakes", "what was seen"}, rows);
    put_proposals();
    page.last(plural(view.arms.size(), "arm"));
    return;
  }
  if (!rows.empty())
    page.table("Arms that changed between stacks, or flake", {"arm", "since", "flakes", "what it is"}, rows);
  put_proposals();
  page.last(fmt::format(
      "{}: {} changed or flake, {} the same on all stacks that observed them, {} observed on one stack only",
      plural(view.arms.size(), "arm"), rows.size(), steady, single));
}

nlohmann::json to_json(const history_view& view) {
  nlohmann::json stacks = nlohmann::json::array(), arms = nlohmann::json::array();
  for (const auto& s : view.stacks)
    stacks.push_back({{"label", s.label}, {"gpu", s.gpu}, {"keys", s.keys}, {"runs", s.runs}});
  for (const auto& arm : view.arms) {
    nlohmann::json entries = nlohmann::json::array();
    for (const auto& e : arm.entries) {
      nlohmann::json results = nlohmann::json::array();
      for (const auto& r : e.results)
        results.push_back(
            {{"seen", r.seen}, {"runs", r.runs}, {"trials", r.trials}, {"first", r.first}, {"last", r.last}});
      entries.push_back(
          {{"stack", e.stack},
           {"runs", e.runs},
           {"races", e.races},
           {"flakes", e.flakes()},
           {"changed", e.changed},
           {"compared_with", e.nearest ? nlohmann::json(arm.entries[*e.nearest].stack) : nlohmann::json()},
           {"results", std::move(results)}});
    }
    arms.push_back(
        {{"arm", arm.name}, {"since", arm.entries[arm.since].stack}, {"stacks", std::move(entries)}});
  }
  nlohmann::json proposals = nlohmann::json::array();
  for (const auto& p : view.proposals)
    proposals.push_back(
        {{"arm", p.arm},
         {"stack", p.stack},
         {"steady", p.steady},
         {"runs", p.runs},
         {"first", p.first},
         {"last", p.last},
         {"seen", p.seen},
         {"trials", {{"now", {p.now, p.trials_now}}, {"before", {p.before, p.trials_before}}}}});
  return {{"schema", 1},
          {"runs", view.runs},
          {"first", view.first},
          {"last", view.last},
          {"stacks", stacks},
          {"arms", std::move(arms)},
          {"proposals", std::move(proposals)}};
}

}  // namespace cufault
