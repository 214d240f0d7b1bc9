// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/messages.hpp"

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

}  // namespace

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
