// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/driver_message.hpp"

#include <fmt/format.h>

#include <cctype>

namespace cufault {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view take_while(std::string_view& rest, bool (*belongs)(char)) {
  std::size_t n = 0;
  while (n < rest.size() && belongs(rest[n])) ++n;
  const auto taken = rest.substr(0, n);
  rest.remove_prefix(n);
  return taken;
}

bool take(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return false;
  rest.remove_prefix(prefix.size());
  return true;
}

std::string_view trimmed(std::string_view text, std::string_view at_end) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && at_end.find(text.back()) != at_end.npos) text.remove_suffix(1);
  return text;
}

/// "719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2"
bool is_return(std::string_view rest, driver_message_parts& parts) {
  auto code = take_while(rest, [](char c) { return c >= '0' && c <= '9'; });
  if (code.empty()) return false;
  if (take(rest, " (")) {
    code = take_while(rest, is_word);
    take(code, "CUDA_ERROR_");
    if (!take(rest, ")")) return false;
  }
  if (!take(rest, " from ")) return false;
  parts.function = take_while(rest, is_word);
  parts.code = code;
  return !parts.function.empty() && trimmed(rest, " .\r\n").empty();
}

/// "[...]": what is inside.
std::optional<std::string_view> take_field(std::string_view& rest) {
  if (rest.empty() || rest.front() != '[') return {};
  const auto end = rest.find(']');
  if (end == rest.npos) return {};
  const auto inside = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return inside;
}

/// "22:21:32.099"
bool is_time(std::string_view text) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i != 2 && i != 5 && !(i == 8 && text[i] == '.') && (text[i] < '0' || text[i] > '9')) return false;
  return true;
}

}  // namespace

std::string describe(const driver_message& m) {
  std::string said = m.function.empty() ? std::string() : fmt::format("{}: {}", m.function, m.code);
  if (!m.text.empty()) said += said.empty() ? m.text : fmt::format(" ({})", m.text);
  return said;
}

driver_message_parts driver_message_parts_of(std::string_view message) noexcept {
  constexpr std::string_view returning = "Returning ";
  driver_message_parts parts;
  const auto at = message.rfind(returning);
  const bool alone = at == 0 || (at != message.npos && message[at - 1] == ' ');
  if (alone && is_return(message.substr(at + returning.size()), parts)) {
    parts.text = trimmed(message.substr(0, at), " ,:");
    return parts;
  }
  return {.function = {}, .code = {}, .text = trimmed(message, " \r\n")};
}

std::optional<driver_log_line> driver_log_line_of(std::string_view line) noexcept {
  constexpr std::string_view source = "][CUDA][";
  const auto at = line.find(source);
  if (at == line.npos) return {};
  // Back to the time, across the thread.
  const auto thread = line.rfind('[', at);
  if (thread == line.npos || thread == 0) return {};
  const auto time = line.rfind('[', thread - 1);
  if (time == line.npos) return {};
  std::string_view rest = line.substr(time);
  driver_log_line found;
  const auto when = take_field(rest), who = take_field(rest);
  take_field(rest);
  const auto severity = take_field(rest);
  if (!when || !is_time(*when) || !who || !severity) return {};
  found.time = *when;
  found.thread = *who;
  found.severity = *severity;
  std::string_view function;
  if (rest.starts_with("[cu"))
    if (const auto field = take_field(rest)) function = *field;
  found.message = driver_message_parts_of(trimmed(rest, " \r\n"));
  if (found.message.function.empty()) found.message.function = function;
  return found;
}

}  // namespace cufault
