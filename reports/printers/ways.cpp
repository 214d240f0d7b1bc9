// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/ways.hpp"

#include "reports/explain/evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <ostream>
#include <utility>

namespace cufault {
namespace {

constexpr std::size_t most_tried = 2;

/// What to look at, and what it shows if this is the cause; empty where nothing is known.
std::string check_text(const ranked_cause& c) {
  if (!c.next) return {};
  const std::string time =
      c.next->seconds > 60 ? fmt::format(" (takes {:.0f} min)", c.next->seconds / 60) : std::string();
  return fmt::format("{} If it is this: {}{}", c.next->text, c.next->says, time);
}

/// The trials that show it, whose they are, and what repeats one.
std::string trials_seen_text(const ranked_cause& c, const std::string& framework) {
  if (c.natural_trials == 0) return "by documents and reports";
  std::string text =
      fmt::format("{} on {}", plural(c.natural_trials, "recorded trial"), plural(c.stacks.size(), "stack"));
  if (!framework.empty()) text += fmt::format(", {} in {}", c.framework_trials, framework);
  if (const auto alone = c.natural_trials - c.returned_trials; alone > 0)
    text += fmt::format(", {} in the driver's words alone", alone);
  return c.reproduce.empty() ? text : text + "; " + c.reproduce;
}

/// Remedies that were tried in this framework or in none. Without a framework, those of any, each with its name. Costs are of these stacks.
std::string remedies_text(const std::vector<tried_remedy>& all, const std::string& framework,
                          const std::set<std::string>& stacks, const cost_notes& costs) {
  std::vector<std::string> parts;
  for (const tried_remedy& t : all) {
    const std::string own = framework_of(t.arm);
    const bool elsewhere = !own.empty() && own != framework;
    if (parts.size() == most_tried || (elsewhere && !framework.empty())) continue;
    std::string cost;
    for (const std::string& stack : stacks)
      if (const std::string note = note_of(costs, stack, remedy_of_arm(t.arm)); cost.empty() && !note.empty())
        cost = fmt::format("; {} on {}", note, stack.substr(0, stack.find(", driver")));
    parts.push_back(t.words + (elsewhere ? ", in " + own : ""));
    if (t.cleared > 0 && t.failed > 0)
      parts.back() += fmt::format(" (cleared it on {}, not on {})", plural(t.cleared, "stack"), t.failed);
    else if (t.cleared > 0)
      parts.back() += fmt::format(" ({}{})", plural(t.cleared, "stack"), cost);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

using labelled_lines = std::vector<std::pair<std::string, std::string>>;

labelled_lines lines_of(const explanation& e, const ranked_cause& c, const cost_notes& costs) {
  const std::string framework = e.page == nullptr ? std::string() : e.page->framework;
  labelled_lines all{{"check", check_text(c)},
                     {"clears", c.cures.empty() ? "" : c.cures.front()},
                     {"measured", remedies_text(c.clears, framework, c.stacks, costs)},
                     {"does not clear", remedies_text(c.does_not_clear, framework, c.stacks, costs)},
                     {"seen", trials_seen_text(c, framework)}};
  std::erase_if(all, [](const auto& line) { return line.second.empty(); });
  return all;
}

}  // namespace

void print_ways(std::ostream& out, const explanation& e, table_style style, std::size_t width,
                const cost_notes& costs) {
  const bool markdown = style == table_style::markdown;
  // Wrapped text stands beside the label.
  const auto print = [&](std::string label, const std::string& text) {
    for (const std::string& part : markdown ? std::vector{text} : wrapped(text, width - label.size())) {
      out << (part.empty() ? part : label + part) << '\n';
      label.assign(label.size(), ' ');
    }
  };
  for (std::size_t i = 0; i < e.causes.size(); ++i) {
    const std::string bold = markdown ? "**" : "";
    print(fmt::format("{}. ", i + 1), bold + cell(e.causes[i].text, style) + bold);
    for (const auto& [head, text] : lines_of(e, e.causes[i], costs))
      print(markdown ? fmt::format("   - *{}:* ", head) : fmt::format("   {:<16}", head), cell(text, style));
  }
  out << '\n';
}

void begin_ways(row_writer& to) {
  to.begin("page_causes", "a cause of the message that a page is of, the likely ones first",
           {{"page", "its name"},
            {"cause", "its identifier"},
            {"text", "what had happened"},
            {"said", "of it, as JSON: [[LABEL, TEXT]]"},
            {"call", "that failed, where the message names one"},
            {"stacks", "of its trials, as JSON"},
            {"returned", "trials in which a call returned the status"}});
}

void write_ways(row_writer& to, const std::string& page, const explanation& e, const cost_notes& costs) {
  for (const ranked_cause& c : e.causes)
    to.row({page, c.what->id, c.text, lines_of(e, c, costs), e.failure ? e.failure->call : "", c.stacks,
            c.returned_trials});
}

}  // namespace cufault
