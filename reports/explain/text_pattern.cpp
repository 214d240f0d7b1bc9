// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/text_pattern.hpp"

#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace cufault {
namespace {

constexpr std::size_t longest_gap = 160;

// Not those of <cctype>: a log has bytes that are no characters, and the locale does not count.
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_word_character(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '_';
}
constexpr bool is_space(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

text_pattern::text_pattern(std::string_view pattern) {
  const auto refuse = [&](std::string_view why) {
    throw input_error(fmt::format("pattern \"{}\" {}", one_line(pattern), why));
  };
  std::string run;
  const auto end_of_run = [&] {
    if (!run.empty()) pieces_.push_back({kind::literal, run});
    run.clear();
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '*') {
      end_of_run();
      if (!pieces_.empty() && pieces_.back().what == kind::anything) refuse("has two * in a row");
      pieces_.push_back({kind::anything, ""});
    } else if (c == '{' && i + 1 < pattern.size() && is_word_character(pattern[i + 1])) {
      const auto close = pattern.find('}', i);
      if (close == std::string_view::npos) refuse("has a { without its }");
      std::string_view name = pattern.substr(i + 1, close - i - 1), type;
      if (const auto colon = name.find(':'); colon != std::string_view::npos) {
        type = name.substr(colon + 1);
        name = name.substr(0, colon);
      }
      end_of_run();
      if (type.empty())
        pieces_.push_back({kind::word, std::string(name)});
      else if (type == "n")
        pieces_.push_back({kind::digits, std::string(name)});
      else if (type == "v")
        pieces_.push_back({kind::version, std::string(name)});
      else if (type == "*")
        pieces_.push_back({kind::anything, std::string(name)});
      else
        refuse("has a place of an unknown type");
      i = close;
    } else if (is_space(c)) {
      if (run.empty() || run.back() != ' ') run += ' ';
    } else {
      run += lower(c);
    }
  }
  end_of_run();
  for (const piece& p : pieces_) {
    if (p.what != kind::literal) continue;
    std::string_view rest = p.text;
    while (!rest.empty()) {
      const auto word = rest.substr(0, rest.find(' '));
      if (word.size() > literal_.size()) literal_ = word;
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
  }
  if (!pieces_.empty() && pieces_.front().what == kind::literal)
    head_ = pieces_.front().text.substr(0, pieces_.front().text.find(' '));
  if (literal_.size() < 2) refuse("has no two characters in a row by which it can be found");
}

std::vector<std::string> text_pattern::names() const {
  std::vector<std::string> all;
  for (const piece& p : pieces_)
    if (p.what != kind::literal && !p.text.empty()) all.push_back(p.text);
  return all;
}

/// Where the piece ends that begins at `at` of a text in lower case.
std::optional<std::size_t> text_pattern::step(const piece& p, std::string_view text, std::size_t at) {
  const auto run_of = [&](auto belongs) -> std::optional<std::size_t> {
    std::size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    if (end == at) return std::nullopt;
    return end;
  };
  switch (p.what) {
    case kind::literal:
      for (const char c : p.text) {
        if (c == ' ') {
          const std::size_t begin = at;
          while (at < text.size() && is_space(text[at])) ++at;
          if (at == begin) return std::nullopt;
        } else if (at >= text.size() || text[at++] != c) {
          return std::nullopt;
        }
      }
      return at;
    case kind::word:
      return run_of(is_word_character);
    case kind::digits:
      return run_of(is_digit);
    case kind::version: {
      if (at >= text.size() || !is_digit(text[at])) return std::nullopt;
      auto end = *run_of([](char c) { return is_digit(c) || c == '.'; });
      while (text[end - 1] == '.') --end;
      return end;
    }
    case kind::anything:
      return at;
  }
  return std::nullopt;
}

/// The first place from `from` to `last` at which the piece fits.
std::optional<std::size_t> text_pattern::first_place(const piece& p, std::string_view text, std::size_t from,
                                                     std::size_t last) {
  const std::string_view head = std::string_view(p.text).substr(0, p.text.find(' '));
  for (std::size_t here = from; here <= last; ++here) {
    if (p.what == kind::literal) here = text.substr(0, last + head.size()).find(head, here);
    if (here > last) return std::nullopt;
    if (step(p, text, here)) return here;
  }
  return std::nullopt;
}

std::optional<text_pattern::match> text_pattern::match_at(std::string_view text, std::string_view lower,
                                                          std::size_t at) const {
  if (at > 0 && is_word_character(text[at - 1]) && pieces_.front().what != kind::anything &&
      (pieces_.front().what != kind::literal || is_word_character(pieces_.front().text.front())))
    return std::nullopt;
  match found{.begin = at, .end = at, .values = {}};
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const piece& p = pieces_[i];
    std::size_t from = found.end;
    std::optional<std::size_t> end;
    if (p.what == kind::anything) {
      const std::size_t last = std::min(text.size(), from + longest_gap);
      if (i + 1 == pieces_.size()) {
        end = p.text.empty() ? from : last;
      } else {
        // The first place where the next piece fits: it is not tried at a later one, so that the time stays linear.
        end = first_place(pieces_[i + 1], lower, from, last);
      }
    } else {
      end = step(p, lower, from);
    }
    if (!end) return std::nullopt;
    if (p.what != kind::literal && !p.text.empty())
      found.values[p.text] = std::string(text.substr(from, *end - from));
    found.end = *end;
  }
  const piece& last = pieces_.back();
  if (found.end < text.size() && is_word_character(text[found.end]) && last.what != kind::anything &&
      (last.what != kind::literal || is_word_character(last.text.back())))
    return std::nullopt;
  return found;
}

std::optional<text_pattern::match> text_pattern::find(std::string_view text, std::string_view lower) const {
  // What does not vary stands in this order, or nothing fits: most patterns end here.
  std::size_t from = 0;
  for (const piece& p : pieces_) {
    if (p.what != kind::literal) continue;
    std::string_view word = p.text;
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find(' '));
    from = lower.find(word, from);
    if (from == std::string_view::npos) return std::nullopt;
    from += word.size();
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!head_.empty()) at = lower.find(head_, at);
    if (at == std::string_view::npos) return std::nullopt;
    if (auto found = match_at(text, lower, at)) return found;
    // What it begins with may be anywhere, so that no other beginning is better.
    if (pieces_.front().what == kind::anything && at + longest_gap >= text.size()) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<text_pattern::match> text_pattern::find(std::string_view text) const {
  std::string lower;
  lower_case(text, lower);
  return find(text, lower);
}

void lower_case(std::string_view text, std::string& to) {
  to.resize(text.size());
  std::transform(text.begin(), text.end(), to.begin(), [](char c) { return lower(c); });
}

word_finder::word_finder(std::span<const std::string> words) : seen_(words.size(), 0) {
  for (const std::string& word : words)
    for (const char c : word)
      if (auto& kind = kind_of_[static_cast<unsigned char>(c)]; kind == 0) kind = kinds_++;
  for (char c = 'A'; c <= 'Z'; ++c)
    kind_of_[static_cast<unsigned char>(c)] = kind_of_[static_cast<unsigned char>(lower(c))];
  std::vector<std::vector<std::uint32_t>> ends_in;
  const auto new_state = [&] {
    next_.resize(next_.size() + kinds_, -1);
    ends_in.emplace_back();
    return static_cast<std::int32_t>(ends_in.size() - 1);
  };
  const auto edge = [&](std::int32_t state, std::size_t kind) -> std::int32_t& {
    return next_[static_cast<std::size_t>(state) * kinds_ + kind];
  };
  new_state();
  for (std::uint32_t w = 0; w < words.size(); ++w) {
    std::int32_t state = 0;
    for (const char c : words[w]) {
      const std::size_t kind = kind_of_[static_cast<unsigned char>(c)];
      if (edge(state, kind) < 0) {
        const std::int32_t made = new_state();
        edge(state, kind) = made;
      }
      state = edge(state, kind);
    }
    ends_in[static_cast<std::size_t>(state)].push_back(w);
  }
  std::vector<std::int32_t> shorter(ends_in.size(), 0);
  std::deque<std::int32_t> queue{0};
  while (!queue.empty()) {
    const std::int32_t state = queue.front();
    queue.pop_front();
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      const std::int32_t otherwise = state == 0 ? 0 : edge(shorter[static_cast<std::size_t>(state)], kind);
      std::int32_t& to = edge(state, kind);
      if (to < 0) {
        to = otherwise;
        continue;
      }
      shorter[static_cast<std::size_t>(to)] = otherwise;
      auto& ends = ends_in[static_cast<std::size_t>(to)];
      const auto& also = ends_in[static_cast<std::size_t>(otherwise)];
      ends.insert(ends.end(), also.begin(), also.end());
      queue.push_back(to);
    }
  }
  for (const auto& ends : ends_in) {
    ends_.insert(ends_.end(), ends.begin(), ends.end());
    ends_behind_.push_back(static_cast<std::uint32_t>(ends_.size()));
  }
}

void word_finder::find(std::string_view text, std::vector<std::uint32_t>& found) {
  ++search_;
  std::size_t state = 0;
  for (const char c : text) {
    state = static_cast<std::size_t>(next_[state * kinds_ + kind_of_[static_cast<unsigned char>(c)]]);
    for (std::uint32_t i = ends_behind_[state]; i < ends_behind_[state + 1]; ++i) {
      const std::uint32_t w = ends_[i];
      if (seen_[w] == search_) continue;
      seen_[w] = search_;
      found.push_back(w);
    }
  }
}

}  // namespace cufault
