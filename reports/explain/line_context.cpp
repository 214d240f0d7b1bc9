// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/line_context.hpp"

#include "reports/explain/text_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t longest_prefix = 72;
constexpr double day = 86400;

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Exactly so many digits.
std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  if (at + count > text.size()) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + count, value);
  if (error != std::errc{} || end != text.data() + at + count || !is_digit_at(text, at)) return std::nullopt;
  return value;
}

/// One to five digits; `at` is moved behind them.
std::optional<int> number_at(std::string_view text, std::size_t& at) {
  std::size_t end = at;
  while (is_digit_at(text, end)) ++end;
  if (end == at || end - at > 5) return std::nullopt;
  const auto value = digits_at(text, at, end - at);
  at = end;
  return value;
}

std::optional<int> rank_in_field(std::string_view field) {
  for (const std::string_view name : {"rank", "Rank", "default"}) {
    const auto found = field.find(name);
    if (found == std::string_view::npos || (found > 0 && is_letter(field[found - 1]))) continue;
    std::size_t at = found + name.size();
    while (at < field.size() && (field[at] == ' ' || field[at] == '=' || field[at] == ':')) ++at;
    if (const auto rank = number_at(field, at)) return rank;
  }
  return std::nullopt;
}

std::optional<int> rank_of(std::string_view line) {
  std::size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos) return std::nullopt;
  if (std::size_t end = at; const auto label = number_at(line, end))
    return line.substr(end).starts_with(": ") ? label : std::nullopt;
  for (int field = 0; field < 4 && at < line.size() && (line[at] == '[' || line[at] == '('); ++field) {
    const char close = line[at] == '[' ? ']' : ')';
    const auto end = line.find(close, at);
    if (end == std::string_view::npos || end - at > longest_prefix) return std::nullopt;
    const std::string_view inside = line.substr(at + 1, end - at - 1);
    if (const auto rank = rank_in_field(inside)) return rank;
    const std::string_view behind = line.substr(end + 1);
    std::size_t number = 0;
    if (const auto comma = inside.find(','); comma != std::string_view::npos && behind.starts_with("<std"))
      number = comma + 1;  // mpirun --tag-output: job and rank
    else if (!behind.starts_with(":"))
      number = inside.size();
    if (const auto rank = number_at(inside, number); rank && number == inside.size()) return rank;
    at = end + 1;
    while (at < line.size() && (line[at] == ':' || line[at] == ' ')) ++at;
  }
  return std::nullopt;
}

/// The day of the year, roughly, that ends directly before a time.
double day_before(std::string_view line, std::size_t time) {
  if (time < 5) return 0;
  std::size_t end = time;
  while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == 'T')) --end;
  if (end >= 5 && line[end - 3] == '-')
    if (const auto month = digits_at(line, end - 5, 2), date = digits_at(line, end - 2, 2); month && date)
      return (31.0 * *month + *date) * day;
  if (end >= 5 && is_letter(line[end - 5]))
    if (const auto month = digits_at(line, end - 4, 2), date = digits_at(line, end - 2, 2); month && date)
      return (31.0 * *month + *date) * day;
  return 0;
}

std::optional<double> time_of(std::string_view line) {
  const std::string_view head = line.substr(0, longest_prefix);
  for (std::size_t colon = head.find(':'); colon != std::string_view::npos;
       colon = head.find(':', colon + 1)) {
    if (colon < 2 || colon + 3 >= head.size() || head[colon + 3] != ':') continue;
    const auto hours = digits_at(head, colon - 2, 2), minutes = digits_at(head, colon + 1, 2),
               seconds = digits_at(head, colon + 4, 2);
    if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 60) continue;
    double fraction = 0, unit = 0.1;
    std::size_t at = colon + 6;
    if (at < head.size() && (head[at] == '.' || head[at] == ','))
      for (++at; is_digit_at(head, at); ++at, unit /= 10) fraction += unit * (head[at] - '0');
    return day_before(head, colon - 2) + 3600.0 * *hours + 60.0 * *minutes + *seconds + fraction;
  }
  return std::nullopt;
}

bool is_in(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}
bool has_any(std::string_view text, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const auto& word) { return text.find(word) != text.npos; });
}
bool begins_with_any(std::string_view text, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const auto& word) { return text.starts_with(word); });
}

/// "return code: 13" is what a program prints.
bool is_source(std::string_view text, const log_grammar& grammar) {
  return begins_with_any(text, grammar.source) && !text.starts_with("return code:") &&
         !text.starts_with("return value:") && !text.starts_with("return status:");
}

/// "... (#123)": the title of a change.
bool ends_with_change(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (!text.ends_with(')')) return false;
  text.remove_suffix(1);
  std::size_t digits = 0;
  while (digits < text.size() && is_digit_at(text, text.size() - 1 - digits)) ++digits;
  return digits > 0 && text.substr(0, text.size() - digits).ends_with("(#");
}

bool is_name(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

/// "sm_89" or "sm89" at the place.
bool is_architecture(std::string_view lower, std::size_t at) {
  if (!lower.substr(at).starts_with("sm") || (at > 0 && is_name(lower[at - 1]))) return false;
  std::size_t end = at + 2;
  if (end < lower.size() && lower[end] == '_') ++end;
  return is_digit_at(lower, end) && is_digit_at(lower, end + 1);
}

/// "1a2b3c4 Handle", "1a2b3c4 (HEAD -> main) Handle" or "[main 1a2b3c4] Handle": a commit.
bool begins_with_commit(std::string_view text) {
  if (text.starts_with('[')) text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  std::size_t length = 0, digits = 0;
  while (length < text.size() && (is_digit_at(text, length) || (text[length] >= 'a' && text[length] <= 'f')))
    digits += is_digit_at(text, length++) ? 1 : 0;
  if (digits == 0 || digits == length || (length != 40 && (length < 6 || length > 12))) return false;
  text.remove_prefix(length);
  if (text.starts_with(']')) text.remove_prefix(1);
  if (text.starts_with(" (")) text.remove_prefix(std::min(text.find(')'), text.size() - 1) + 1);
  return text.size() > 1 && text[0] == ' ' && (is_letter(text[1]) || text[1] == '[');
}

std::string_view first_word(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && text[end] >= 'a' && text[end] <= 'z') ++end;
  return text.substr(0, end);
}

/// Quotation marks around the words, and before them that somebody said so: wrote "out of memory".
bool is_quoted(std::string_view lower, std::size_t begin, std::size_t end, const log_grammar& grammar) {
  const auto open = lower.substr(0, begin).find_last_of("\"'`");
  if (open == std::string_view::npos || open < 2 || lower[open - 1] != ' ' ||
      lower.find(lower[open], end) == std::string_view::npos)
    return false;
  const std::string_view before = lower.substr(0, open - 1);
  return std::ranges::any_of(grammar.quoted, [&](const std::string& words) {
    return before == words || before.ends_with(' ' + words);
  });
}

}  // namespace

line_origin origin_of(std::string_view line) {
  return {.rank = rank_of(line).value_or(-1), .seconds = time_of(line)};
}

bool comparable_times(double a, double b) {
  return (a < 32 * day) == (b < 32 * day);
}

bool speaks_of_no_failure(std::string_view lower, const log_grammar& grammar) {
  for (auto at = lower.find(' '); at != std::string_view::npos; at = lower.find(' ', at + 1))
    for (const std::string_view result : {" passed", " xfail", " xpass", " xfailed", " skipped"}) {
      if (!lower.substr(at).starts_with(result)) continue;
      const std::string_view behind = lower.substr(at + result.size());
      const bool in_time = behind.starts_with(" in ") && is_digit_at(behind, 4);
      if (behind.empty() || behind.starts_with(" [") || behind.starts_with(" (") || in_time ||
          behind.starts_with(" '") || behind.starts_with(", ") || behind.find("::") != std::string_view::npos)
        return true;
    }
  for (const std::string_view result :
       {"--- pass:", "[       ok ]", "[  passed  ]", "error summary: 0 errors"})
    if (lower.find(result) != std::string_view::npos) return true;
  const auto at = lower.find_first_not_of(' ');
  if (at == std::string_view::npos) return false;
  std::string_view text = lower.substr(at);
  if (ends_with_change(text) || begins_with_commit(text) || text.starts_with("merge pull request") ||
      is_source(text, grammar))
    return true;
  if (text.starts_with("$ ") || text.starts_with("ok ") || text.starts_with("xfail ") ||
      text.starts_with("skipped "))
    return true;
  if (text.size() > 2 && text.starts_with("--") && is_letter(text[2])) return true;
  bool listed = false;
  while (text.starts_with("- ") || text.starts_with("* ") || text.starts_with("+ ") ||
         text.starts_with("| ")) {
    text.remove_prefix(2);
    listed = true;
  }
  if (listed && begins_with_commit(text)) return true;
  // A line of a diff: no bullet of a list, which says what a call returned.
  const auto end = lower.find_last_not_of(" \r");
  if (listed && (lower.front() == '+' || lower.front() == '-') &&
      std::string_view(";{)").find(lower[end]) != std::string_view::npos &&
      is_source(text.substr(std::min(text.find_first_not_of(' '), text.size())), grammar))
    return true;
  const bool in_brackets = text.starts_with('[');
  if (in_brackets) text.remove_prefix(1);
  const std::string_view word = first_word(text);
  if (!is_in(grammar.changes, word)) return false;
  const std::string_view behind = text.substr(word.size());
  return behind.starts_with(":") || behind.starts_with("(") || (listed && behind.starts_with(" ")) ||
         (in_brackets && behind.starts_with("]"));
}

bool is_only_spoken_of(std::string_view lower, std::size_t begin, std::size_t end,
                       const log_grammar& grammar) {
  std::size_t clause = begin, sentence = begin;
  const auto ends = [&](std::size_t at, std::string_view marks) {
    const std::string_view before = lower.substr(0, at);
    return marks.find(lower[at]) != std::string_view::npos &&
           (at + 1 == lower.size() || lower[at + 1] == ' ') && !before.ends_with("e.g") &&
           !before.ends_with("i.e");
  };
  while (clause > 0 && !ends(clause - 1, ".!?;:,|")) --clause;
  while (sentence > 0 && !ends(sentence - 1, ".!?;:|")) --sentence;
  for (std::string_view rest = lower.substr(clause, begin - clause); !rest.empty();) {
    std::size_t length = 0;
    while (length < rest.size() && (is_letter(rest[length]) || rest[length] == '\'' ||
                                    static_cast<unsigned char>(rest[length]) >= 0x80))
      ++length;
    const std::string_view word = rest.substr(0, length);
    if (is_in(grammar.denials, word) || word.ends_with("n't")) return true;
    rest.remove_prefix(std::max<std::size_t>(1, length));
  }
  if (has_any(lower.substr(clause, begin - clause), grammar.denials_within)) return true;
  if (is_quoted(lower, begin, end, grammar)) return true;
  std::size_t stop = end;
  while (stop < lower.size() && !ends(stop, ".!?;")) ++stop;
  if (has_any(lower.substr(end, stop - end), grammar.denials_behind)) return true;
  if (stop == lower.size() || lower[stop] != '?') return false;
  const auto first = lower.find_first_not_of(" \"'(", sentence);
  return first != std::string_view::npos && begins_with_any(lower.substr(first), grammar.questions);
}

bool is_exception(std::string_view line) {
  const auto end = line.find_first_of(": ");
  const std::string_view name = line.substr(0, end);
  if (name.empty() || !is_letter(name.front()) || (end != std::string_view::npos && line[end] != ':'))
    return false;
  if (std::ranges::any_of(name, [](char c) { return !is_letter(c) && c != '.' && (c < '0' || c > '9'); }))
    return false;
  for (const std::string_view kind : {"Error", "Exception", "Interrupt", "Exit", "OutOfResources"})
    if (name.ends_with(kind)) return true;
  return false;
}

bool names_gpu_library(std::string_view line, const log_grammar& grammar) {
  std::string lower_line;
  lower_case(line, lower_line);
  const std::string_view lower = lower_line;
  const std::string_view exception = lower.substr(0, lower.find_first_of(": "));
  const bool is_typed = lower.substr(exception.size()).starts_with(':');
  const auto dot = exception.rfind('.');
  if (is_typed &&
      is_in(grammar.other_exceptions, dot == std::string_view::npos ? exception : exception.substr(dot + 1)))
    return false;
  if (lower.find("nvrtc_error_compilation") != std::string_view::npos) return false;
  char quote = 0;
  for (std::size_t at = 0; at < lower.size(); ++at) {
    const char c = lower[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    const bool begins = at == 0 || !is_name(lower[at - 1]);
    if (c == '"' || c == '`' || (c == '\'' && begins)) {
      if (lower.find(c, at + 1) != std::string_view::npos) quote = c;
      continue;
    }
    if (!begins) continue;
    if (is_architecture(lower, at)) return true;
    const bool in_type = is_typed && at < exception.size();
    for (const std::string& library : grammar.libraries) {
      if (!lower.substr(at).starts_with(library)) continue;
      const std::size_t end = at + library.size();
      const char before = at == 0 ? ' ' : lower[at - 1], behind = end < lower.size() ? lower[end] : ' ';
      if (is_name(behind) || before == '/' || behind == '/' || behind == '-') continue;
      const bool is_device =
          library == "cuda" && line[at] == 'c' &&
          !is_in(grammar.behind_cuda, first_word(lower.substr(std::min(end + 1, lower.size()))));
      const bool is_part =
          (before == '.' || (behind == '.' && end + 1 < lower.size() && is_name(lower[end + 1])));
      if ((!is_part && !is_device) || in_type) return true;
    }
  }
  return false;
}

bool names_native_source(std::string_view lower) {
  for (const std::string_view end : {".cu", ".cpp", ".cc", ".c"})
    for (auto at = lower.find(end); at != std::string_view::npos; at = lower.find(end, at + 1)) {
      const std::size_t behind = at + end.size();
      if (behind < lower.size() && (lower[behind] == ':' || lower[behind] == '(') &&
          is_digit_at(lower, behind + 1))
        return true;
    }
  return false;
}

bool is_in_address(std::string_view lower, std::size_t begin) {
  if (lower.find("licen") != std::string_view::npos) return true;
  std::size_t first = begin;
  while (first > 0 && std::string_view(" \t\"'(<[").find(lower[first - 1]) == std::string_view::npos) --first;
  const std::string_view word = lower.substr(first, begin - first);
  return word.find("://") != std::string_view::npos || word.starts_with("www.") ||
         word.starts_with("github.com/") || word.starts_with("huggingface.co/");
}

bool is_head_of_commit(std::string_view line) {
  constexpr std::string_view head = "commit ";
  constexpr std::size_t digits = 40;
  if (!line.starts_with(head) || line.size() < head.size() + digits) return false;
  return std::ranges::all_of(line.substr(head.size(), digits),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_of_commit(std::string_view line) {
  if (line.empty() || line.front() == ' ') return true;
  for (const std::string_view head : {"Author:", "AuthorDate:", "Commit:", "CommitDate:", "Date:", "Merge:",
                                      "diff --git ", "index ", "--- ", "+++ ", "@@ ", "+", "-"})
    if (line.starts_with(head)) return true;
  return false;
}

std::string_view without_box(std::string_view line) {
  const auto is_edge = [](char c) { return c == ' ' || c == '|' || static_cast<unsigned char>(c) >= 0x80; };
  while (!line.empty() && is_edge(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_edge(line.back())) line.remove_suffix(1);
  return line;
}

}  // namespace cufault
