// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/shared_texts.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace cufault {
namespace {

using ordered = nlohmann::ordered_json;

constexpr char sign = '$';
constexpr std::size_t shortest_key = 3, longest_key = 8;
constexpr std::string_view digits = "0123456789abcdef";

bool is_key(std::string_view text) {
  return text.size() >= shortest_key && text.size() <= longest_key &&
         text.find_first_not_of(digits) == text.npos;
}

bool is_like_a_sign(const std::string& text) {
  return text.starts_with(sign) && is_key(std::string_view(text).substr(1));
}

/// Each text that is shared where that takes less room (`take(text, true)`), and each other one (`take(text, false)`).
template <class Json, class Take>
void each_text(Json& at, bool is_shareable, const Take& take) {
  if (at.is_string()) return take(at, is_shareable);
  if (!at.is_structured()) return;
  const bool is_object = at.is_object();
  for (auto& [key, value] : at.items())
    each_text(value, is_shareable && !(is_object && (key == "calls" || key == "after")), take);
}

template <class Json, class Take>
void each_text_of_line(Json& line, const Take& take) {
  for (auto& [key, value] : line.items()) each_text(value, key == "races" || key == "trials", take);
}

/// Bytes that sharing saves.
std::ptrdiff_t saved_by(const std::string& text, std::ptrdiff_t times) {
  const auto bytes = static_cast<std::ptrdiff_t>(dump_json(text).size());
  constexpr std::ptrdiff_t key = shortest_key, in_a_line = key + 3;
  const std::ptrdiff_t stated = bytes + key + 4;
  return times * (bytes - in_a_line) - stated;
}

}  // namespace

shared_texts::shared_texts(const std::vector<ordered>& lines) {
  std::map<std::string, std::ptrdiff_t> times;
  for (const ordered& line : lines)
    each_text_of_line(line, [&](const ordered& text, bool is_shareable) {
      const auto& of = text.get_ref<const std::string&>();
      if (is_shareable || is_like_a_sign(of)) ++times[of];
    });
  std::map<std::string, std::string> by_hash;
  for (const auto& [text, count] : times)
    if (is_like_a_sign(text) || saved_by(text, count) > 0) {
      std::string hash = hash_of(text);
      // Two texts with one hash: the later one stays where it is, or gets another that is free if it has to be stated.
      for (int other = 0; by_hash.contains(hash) && is_like_a_sign(text); ++other)
        hash = hash_of(fmt::format("{} {}", text, other));
      by_hash.try_emplace(hash, text);
    }
  // As short as tells them apart, so that another text changes few signs.
  std::set<std::string_view> hashes;
  for (const auto& [hash, text] : by_hash) hashes.insert(hash);
  const auto equal_digits = [](std::string_view a, std::string_view b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  };
  for (const auto& [hash, text] : by_hash) {
    const auto at = hashes.find(hash);
    std::size_t length = shortest_key;
    if (at != hashes.begin()) length = std::max(length, equal_digits(*std::prev(at), hash) + 1);
    if (std::next(at) != hashes.end()) length = std::max(length, equal_digits(*std::next(at), hash) + 1);
    texts_[hash.substr(0, length)] = text;
  }
}

shared_texts::shared_texts(const json_cursor& line) {
  line.only({"texts"});
  for (const auto& [key, text] : line.at("texts").members()) {
    if (!is_key(key)) text.fail("what stands for a text is 3 to 8 digits of 0-9 and a-f");
    texts_[key] = text.string();
  }
}

ordered shared_texts::line() const {
  return {{"texts", texts_}};
}

ordered shared_texts::with_signs(ordered line) const {
  std::map<std::string_view, std::string_view> keys;
  for (const auto& [key, text] : texts_) keys[text] = key;
  each_text_of_line(line, [&](ordered& text, bool is_shareable) {
    const auto& of = text.get_ref<const std::string&>();
    const auto known = keys.find(of);
    if (known != keys.end() && (is_shareable || is_like_a_sign(of)))
      text = fmt::format("{}{}", sign, known->second);
  });
  return line;
}

std::string shared_texts::restored(std::string_view line, const std::string& file, int number,
                                   std::size_t& room) const {
  std::string whole;
  const auto refuse = [&](std::string_view why) {
    throw input_error(fmt::format("{}:{}: {}", file, number, why));
  };
  const auto add = [&](std::string_view part) {
    if (part.size() > room) refuse("more is shared than fits into memory; state it in each arm");
    room -= part.size();
    whole += part;
  };
  // In valid JSON a quote without a backslash in front of it and with '$' behind it begins a string.
  constexpr std::string_view beginning = "\"$";
  for (std::size_t from = 0;;) {
    const auto at = line.find(beginning, from);
    if (at == line.npos) {
      if (from == 0) return std::string(line);
      add(line.substr(from));
      return whole;
    }
    const auto begin = at + beginning.size();
    const auto end = line.find('"', begin);
    const std::string_view key = line.substr(begin, end - begin);
    if (end == line.npos || (at > 0 && line[at - 1] == '\\') || !is_key(key)) {
      add(line.substr(from, begin - from));
      from = begin;
      continue;
    }
    const auto known = texts_.find(key);
    if (known == texts_.end())
      refuse(fmt::format(
          "\"${}\" stands for a text that the file does not state; add it to the line {{\"texts\": {{...}}}}",
          key));
    add(line.substr(from, at - from));
    add(dump_json(known->second));
    from = end + 1;
  }
}

}  // namespace cufault
