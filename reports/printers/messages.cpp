// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/messages.hpp"

#include "reports/explain/text_pattern.hpp"
#include "reports/matrix/observed_cells.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <ostream>
#include <utility>
#include <vector>

namespace cufault {
namespace {

std::string lower(const std::string& text) {
  std::string low;
  lower_case(text, low);
  return low;
}

/// A line of the log is looked up by what it says, and not by its time or its numbers; 719 and CUDA_ERROR_LAUNCH_FAILED are codes.
bool is_asked(const driver_saying& s, const std::string& asked, const lexicon& known) {
  const auto line = driver_log_line_of(asked);
  const driver_message_parts m = line ? line->message : driver_message_parts_of(asked);
  if (line || !m.function.empty())
    return (m.function.empty() || s.said.function == m.function) &&
           (m.code.empty() || s.said.code == m.code) &&
           general_text(s.said.text).find(general_text(std::string(m.text))) != std::string::npos;
  constexpr std::string_view of_driver = "CUDA_ERROR_";
  if (asked.starts_with(of_driver)) return s.said.code == asked.substr(of_driver.size());
  if (std::ranges::all_of(asked, [](char c) { return c >= '0' && c <= '9'; }) && asked.size() < 10) {
    const error_name* const error = known.by_code("cuda", std::stoi(asked));
    return s.said.code == asked ||
           (error != nullptr && std::ranges::any_of(error->also, [&](const std::string& name) {
              return name == std::string(of_driver) + s.said.code;
            }));
  }
  return lower(describe(s.said)).find(lower(asked)) != std::string::npos;
}

using counted = std::pair<std::string, std::uint64_t>;

/// The most frequent first.
template <class Counts, class Name>
std::vector<counted> by_count(const Counts& counts, Name name) {
  std::vector<counted> all;
  for (const auto& [what, times] : counts) all.emplace_back(name(what), times);
  std::ranges::stable_sort(all, [](const counted& a, const counted& b) { return a.second > b.second; });
  return all;
}

std::string some_of(const std::vector<counted>& all, std::size_t most) {
  std::vector<std::string> shown;
  for (const auto& [what, times] : all)
    if (shown.size() < most) shown.push_back(fmt::format("{} ({})", what, times));
  if (all.size() > most) shown.push_back(fmt::format("and {} more", all.size() - most));
  return fmt::format("{}", fmt::join(shown, "; "));
}

std::vector<counted> causes_of(const driver_saying& s, const lexicon& known) {
  return by_count(s.causes, [&](std::size_t cause) { return known.causes[cause].text; });
}
std::vector<counted> behind_of(const driver_saying& s) {
  return by_count(s.behind, [](const std::string& what) { return shortened(what); });
}

}  // namespace

std::size_t print_messages(std::ostream& out, const driver_sayings& said, const lexicon& known,
                           const std::string& asked, table_style style) {
  constexpr std::size_t most_causes = 3, most_statuses = 4;
  const bool text = style == table_style::text;
  std::vector<table_row> failed, harmless;
  for (const driver_saying& s : said.all) {
    if (!asked.empty() && !is_asked(s, asked, known)) continue;
    if (s.failed > 0)
      failed.push_back({describe(s.said), some_of(causes_of(s, known), most_causes),
                        some_of(behind_of(s), most_statuses), std::to_string(s.failed),
                        std::to_string(s.succeeded), std::to_string(s.stacks.size())});
    else
      harmless.push_back({describe(s.said), std::to_string(s.succeeded), std::to_string(s.stacks.size())});
  }
  if (text)
    for (const table_row& row : failed) {
      print_entry(out, "", row[0]);
      print_entry(out, "  what had happened   ", row[1]);
      print_entry(out, "  the call returned   ", row[2]);
      print_entry(
          out, "  seen                ",
          fmt::format("failed calls: {}; calls that succeeded: {}; stacks: {}", row[3], row[4], row[5]));
      out << '\n';
    }
  else if (!failed.empty())
    print_table(out,
                {"the driver says", "what had happened", "what the call returned", "failed calls",
                 "calls that succeeded", "stacks"},
                failed, style);
  if (!harmless.empty()) print_heading(out, "Harmless: only in calls that succeeded", 3, style);
  if (text)
    for (const table_row& row : harmless) {
      print_entry(out, "", row[0]);
      fmt::print(out, "  seen                calls: {}; stacks: {}\n\n", row[1], row[2]);
    }
  else if (!harmless.empty())
    print_table(out, {"the driver says", "calls", "stacks"}, harmless, style);
  if (asked.empty())
    fmt::print(out, "Of {} failed calls in runs that heard the log, the driver gave a reason for {}.\n",
               said.heard + said.silent, said.heard);
  return failed.size() + harmless.size();
}

nlohmann::ordered_json messages_json(const driver_sayings& said, const lexicon& known,
                                     const std::string& asked) {
  auto all = nlohmann::ordered_json::array();
  const auto counts = [](const std::vector<counted>& of) {
    auto object = nlohmann::ordered_json::object();
    for (const auto& [what, times] : of) object[what] = times;
    return object;
  };
  for (const driver_saying& s : said.all) {
    if (!asked.empty() && !is_asked(s, asked, known)) continue;
    all.push_back({{"function", s.said.function},
                   {"code", s.said.code},
                   {"text", s.said.text},
                   {"failed_calls", s.failed},
                   {"calls_that_succeeded", s.succeeded},
                   {"causes", counts(by_count(s.causes, [&](std::size_t c) { return known.causes[c].id; }))},
                   {"returned", counts(by_count(s.behind, [](const std::string& what) { return what; }))},
                   {"arms", s.arms},
                   {"stacks", s.stacks}});
  }
  return {{"schema", 1},
          {"failed_calls_with_a_reason", said.heard},
          {"failed_calls_without", said.silent},
          {"messages", all}};
}

nlohmann::ordered_json to_json(const std::vector<nature_and_injection>& pairs) {
  auto all = nlohmann::ordered_json::array();
  for (const nature_and_injection& p : pairs)
    all.push_back({{"stack", p.stack},
                   {"call", p.call},
                   {"function", p.function},
                   {"code", p.code},
                   {"agrees", agrees(p.natural, p.injected.empty() ? p.with_other_codes : p.injected)},
                   {"natural", p.natural},
                   {"injected", p.injected},
                   {"injected_with_other_codes", p.with_other_codes}});
  return {{"schema", 1}, {"nature", all}};
}

void print_nature(std::ostream& out, const std::vector<nature_and_injection>& pairs, table_style style) {
  const auto statuses = [](const std::map<std::string, std::uint64_t>& counts) {
    return some_of(by_count(counts, [](const std::string& s) { return std::string(short_status(s)); }), 4);
  };
  // By what the comparison came to, in the order of the rows.
  constexpr std::array verdicts{"differ", "differ from other codes", "agree", "agree with other codes",
                                "never injected"};
  std::array<std::vector<table_row>, verdicts.size()> rows;
  for (const nature_and_injection& p : pairs) {
    const bool same_code = !p.injected.empty();
    const auto& injected = same_code ? p.injected : p.with_other_codes;
    const std::size_t at =
        injected.empty() ? 4U : (agrees(p.natural, injected) ? 2U : 0U) + (same_code ? 0U : 1U);
    rows[at].push_back(
        {verdicts[at], p.call, p.function, p.code, statuses(p.natural), statuses(injected), p.stack});
  }
  if (pairs.empty()) {
    out << "No record has a call of a swept operation whose failing driver call the driver named.\n";
    return;
  }
  std::vector<std::string> counts;
  std::vector<table_row> all;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    counts.push_back(fmt::format("{}: {}", verdicts[i], rows[i].size()));
    std::ranges::move(rows[i], std::back_inserter(all));
  }
  fmt::print(out, "{}.\n\n", fmt::join(counts, "; "));
  print_table(out,
              {"", "call", "driver call", "code", "the driver failed it: trials",
               "a sweep failed it: driver calls", "stack"},
              all, style);
}

}  // namespace cufault
