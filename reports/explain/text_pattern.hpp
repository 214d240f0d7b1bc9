// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// A piece of text as programs print it, with places that vary. Upper and lower case are the same, a space is one or more of
/// spaces and tabs.
///
///   {name}    a word of letters, digits and _      {name:n}  digits
///   {name:v}  a version: digits and dots           {name:*}  anything, as little as fits, 160 characters at most
///   *         anything, likewise
///
/// Where a pattern begins or ends with a letter, a digit or a place, so does the word in the text: "assert" is not in "assertions".
/// Takes time linear in the text for each place that begins like the pattern.
class text_pattern {
 public:
  explicit text_pattern(std::string_view pattern);  ///< throws input_error

  struct match {
    std::size_t begin = 0, end = 0;
    std::map<std::string, std::string> values;  ///< by name
  };
  /// `lower` is lower_case(text), which many patterns share.
  [[nodiscard]] std::optional<match> find(std::string_view text, std::string_view lower) const;
  [[nodiscard]] std::optional<match> find(std::string_view text) const;

  /// The longest piece of it that does not vary, in lower case; without spaces, since those vary.
  [[nodiscard]] const std::string& literal() const { return literal_; }
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  enum class kind { literal, word, digits, version, anything };
  struct piece {
    kind what = kind::literal;
    std::string text;  ///< of a literal, in lower case; else the name
  };
  static std::optional<std::size_t> step(const piece& p, std::string_view text, std::size_t at);
  static std::optional<std::size_t> first_place(const piece& p, std::string_view text, std::size_t from,
                                                std::size_t last);
  [[nodiscard]] std::optional<match> match_at(std::string_view text, std::string_view lower,
                                              std::size_t at) const;

  std::vector<piece> pieces_;
  std::string literal_, head_;  ///< head: how its text begins, up to a space; empty: with a place
};

/// Of ASCII alone.
void lower_case(std::string_view text, std::string& lower);

/// Which of many words a text holds, in one pass over it (Aho and Corasick). Upper and lower case are the same.
class word_finder {
 public:
  explicit word_finder(std::span<const std::string> words);  ///< in lower case, none empty
  /// Adds the indices of the words in the text to `found`, each once, in order of their first end.
  void find(std::string_view text, std::vector<std::uint32_t>& found);

 private:
  std::array<std::uint8_t, 256>
      kind_of_{};  ///< of a byte: those of no word are alike, so that states are small
  std::size_t kinds_ = 1;
  std::vector<std::int32_t> next_;   ///< state * kinds_ + kind of the next byte
  std::vector<std::uint32_t> ends_;  ///< words that end in state 0, then those of state 1, ...
  std::vector<std::uint32_t> ends_behind_{
      0};                            ///< where those of a state begin in ends_; behind it, where they end
  std::vector<std::uint64_t> seen_;  ///< the search in which a word was found last
  std::uint64_t search_ = 0;
};

}  // namespace cufault
