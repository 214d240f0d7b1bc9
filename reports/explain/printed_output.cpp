// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/printed_output.hpp"

#include "reports/explain/log_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

std::string_view trimmed_line(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

/// A package's, the standard library's, or that of a program of the environment (bin/torchrun).
bool is_frame_of_user(std::string_view file) {
  if (file.starts_with('<') || file.find("-packages/") != file.npos) return false;
  if (file.find("/lib/python3") != file.npos || file.find("/lib64/python3") != file.npos) return false;
  return file.ends_with(".py") || !std::filesystem::path(file).parent_path().string().ends_with("/bin");
}

}  // namespace

printed_output printed_output_of(const std::string& output) {
  std::vector<std::pair<std::string, std::string>> lines;  // rank and text
  line_cutter cutter([&](const log_line& line) {
    std::string_view text = line.text, rank;
    if (const auto end = text.find("]: "); text.starts_with("[rank") && end != text.npos) {
      rank = text.substr(1, end - 1);
      text.remove_prefix(end + 3);
    }
    lines.emplace_back(rank, text);
  });
  cutter.add(output);
  cutter.end();
  printed_output found;
  std::map<std::string, std::size_t> open;  // by rank
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [rank, line] = lines[i];
    const std::string_view text = trimmed_line(line);
    if (text.empty()) continue;
    found.last_line = text;
    const bool begins = text == "Traceback (most recent call last):", is_frame = text.starts_with("File \"");
    if (begins || (is_frame && !open.contains(rank))) {  // the beginning of the output may be lost
      open[rank] = found.tracebacks.size();
      found.tracebacks.push_back({rank, {}, {}});
    }
    if (begins || !open.contains(rank)) continue;
    traceback& of = found.tracebacks[open[rank]];
    if (line[0] != ' ' && line[0] != '\t') {
      of.exception = text;
      open.erase(rank);
    }
    const auto name_end = text.find('"', 6), line_at = text.find(", line ");
    if (!is_frame || name_end == text.npos || line_at == text.npos) continue;
    const std::string_view file = text.substr(6, name_end - 6);
    if (!is_frame_of_user(file)) continue;
    const auto in = text.find(", in ");
    const auto number = text.substr(line_at + 7, in == text.npos ? in : in - line_at - 7);
    const auto code = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, lines.end(),
                                   [&of](const auto& next) { return next.first == of.rank; });
    of.frame = fmt::format("{}:{}{}: {}", file, number,
                           in == text.npos ? "" : fmt::format(" in {}", text.substr(in + 5)),
                           code == lines.end() ? "" : trimmed_line(code->second));
  }
  return found;
}

const traceback* traceback_of(const std::vector<traceback>& all, const std::string& rank,
                              const std::function<log_findings(const std::string&)>& find) {
  std::vector<const traceback*> those;
  for (const traceback& each : all)
    if (!rank.empty() && each.rank == rank) those.push_back(&each);
  if (those.empty())
    for (const traceback& each : all) those.push_back(&each);
  std::string exceptions;
  for (const traceback* each : those) exceptions += each->exception + '\n';
  for (const log_event& event : find(exceptions).events)
    if (event.role == event_role::failure && event.line > 0 && event.line <= those.size())
      return those[event.line - 1];
  const auto last =
      std::find_if(those.rbegin(), those.rend(), [](const auto* t) { return !t->frame.empty(); });
  return last != those.rend() ? *last : those.empty() ? nullptr : those.back();
}

}  // namespace cufault
