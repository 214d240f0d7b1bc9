// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/known_issues.hpp"

#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cufault/known_issues.hpp>
#include <map>
#include <set>
#include <tuple>

namespace cufault {
namespace {

std::string in_blanks(std::string_view text) {
  std::string words = " " + in_lower_case(text) + " ";
  std::ranges::replace(words, '-', ' ');
  return words;
}

bool is_of(const known_issue& issue, std::string_view call, std::string_view status) {
  return issue.status == status &&
         fmt::format(" {} ", issue.calls).find(fmt::format(" {} ", call)) != std::string::npos;
}

}  // namespace

std::size_t rank_of_harm(std::string_view harm) {
  return static_cast<std::size_t>(std::ranges::find(harms, harm) - std::begin(harms));
}

std::string architecture_of(std::string_view gpu) {
  if (gpu.size() >= 3 && gpu.find_first_not_of("0123456789.") == gpu.npos && gpu.find('.') != gpu.npos)
    return std::string(gpu);
  const std::string name = in_blanks(gpu);
  for (const auto& [known, architecture] : known_gpus)
    if (name.find(in_blanks(known)) != name.npos) return std::string(architecture);
  return {};
}

std::string_view first_workaround(const known_issue& issue) {
  return issue.workarounds.substr(0, issue.workarounds.find('\n'));
}

std::vector<known_match> issues_of(std::string_view version, std::string_view architecture,
                                   std::string_view library) {
  std::vector<known_match> found = known_issues(version, architecture, library);
  std::ranges::stable_sort(found, {}, [](const known_match& m) {
    return std::tuple(std::max(m.level, known_level::reported), rank_of_harm(m.issue->harm), m.level);
  });
  return found;
}

std::vector<std::string> issues_of_failure(std::string_view call, std::string_view status,
                                           std::string_view version, std::string_view gpu) {
  std::vector<std::string> lines;
  if (call.empty() || status.empty()) return lines;
  const std::string architecture = architecture_of(gpu);
  const auto say = [&](const known_issue& issue, std::string_view because) {
    const std::string_view way = first_workaround(issue);
    lines.push_back(
        fmt::format("{}: {} ({}){}{}", issue.id, issue.what, because, way.empty() ? "" : ". ", way));
  };
  if (known_version any{}; known_details::parse(version, any)) {
    for (const known_match& m : issues_of(version, architecture))
      if (m.level < known_level::affected_elsewhere && is_of(*m.issue, call, status))
        say(*m.issue, m.because);
    return lines;
  }
  std::map<std::size_t, std::set<std::string>> measured;  // versions, by issue
  for (const known_span& span : known_spans)
    if (span.level == known_level::measured && known_details::is_among(span.architectures, architecture))
      measured[span.issue].insert(fmt::format("{}", fmt::join(span.from, ".")));
  for (const auto& [index, versions] : measured)
    if (const known_issue& issue = known_issues_table[index]; is_of(issue, call, status))
      say(issue, fmt::format("measured with {} {}", issue.library == "cublas" ? "cuBLAS" : "cuBLASLt",
                             fmt::join(versions, ", ")));
  return lines;
}

}  // namespace cufault
