// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// An entry of <cufault/known_issues.hpp>, and whether it says anything of a version.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What an entry says of a version on an architecture.
enum class known_level {
  measured,    ///< cufault measured it with this version on this architecture
  documented,  ///< NVIDIA's release notes say it; not measured
  reported,    ///< users say it; not measured
  not_measured  ///< not measured with this version or on this architecture; the nearest that was measured has it
};

/// Lists are words with spaces between them.
struct known_issue {
  std::string_view id{};            ///< "lt-66-uneven-split-k"; it never changes
  std::string_view sort{};          ///< "measured", "documented" or "reported"
  std::string_view library{};       ///< "cublas" or "cublaslt"
  std::string_view harm{};          ///< "wrong_numbers", "crash", "hang", "worse_status" or "other"
  std::string_view what{};          ///< one sentence
  std::string_view reach{};         ///< "any", "forced_algorithm" or "refused_call" (by other releases)
  std::string_view calls{};         ///< "cublasLtMatmul cublasGemmEx"; empty: not known
  std::string_view workarounds{};   ///< sentences; empty where none is known
  std::string_view addresses{};     ///< of release notes and threads
  std::string_view affected{};      ///< measured: "9.0/12.8.4 9.0/13.1.0"
  std::string_view not_affected{};  ///< measured: likewise
  std::string_view
      ranges{};  ///< said: "13.4.0<13.4.2": from the first version up to, and without, the second
  std::string_view architectures{};  ///< of ranges: "9.0 10.x"; empty: any
};
struct known_match {
  const known_issue* issue = nullptr;  ///< static
  known_level level = known_level::not_measured;
};

/// Of what cublasGetVersion() gives: 130100 is "13.1.0".
inline std::string version_text(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

namespace known_details {

/// "12.8.4.1" is 12, 8, 4; false where the text is not three or four numbers.
inline bool parse(std::string_view text, std::array<unsigned long, 3>& to) {
  for (std::size_t part = 0; part < to.size(); ++part) {
    std::size_t digits = 0;
    to[part] = 0;
    for (; digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9'; ++digits)
      to[part] = to[part] * 10 + static_cast<unsigned long>(text[digits] - '0');
    if (digits == 0) return false;
    text.remove_prefix(digits);
    if (text.empty()) return part == 2;
    if (text[0] != '.') return false;
    text.remove_prefix(1);
  }
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

template <class Take>
void each_word(std::string_view words, Take take) {
  while (!words.empty()) {
    const std::size_t end = words.find(' ');
    if (end != 0) take(words.substr(0, end));
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
}

/// "10.3" is one of "9.0 10.x".
inline bool is_among(std::string_view architectures, std::string_view one) {
  bool among = architectures.empty() || one.empty();
  each_word(architectures, [&](std::string_view word) {
    const bool all = word.size() > 2 && word.substr(word.size() - 2) == ".x";
    among =
        among || word == one || (all && one.substr(0, word.size() - 1) == word.substr(0, word.size() - 1));
  });
  return among;
}

/// Whether the issue was measured with a version on an architecture: 2; with the nearest version below or above: 1; else 0.
inline int nearness(const known_issue& issue, const std::array<unsigned long, 3>& version,
                    std::string_view architecture) {
  std::array<unsigned long, 3> seen{};
  struct {
    std::array<unsigned long, 3> version{};
    bool there = false, has_it = false;
  } below, above;
  int found = -1;
  const auto look = [&](std::string_view words, bool has_it) {
    each_word(words, [&](std::string_view word) {
      const std::size_t slash = word.find('/');
      if (slash == std::string_view::npos || word.substr(0, slash) != architecture ||
          !parse(word.substr(slash + 1), seen))
        return;
      if (seen == version) found = has_it ? 2 : 0;
      auto& side = seen < version ? below : above;
      if (side.there && (seen < version ? seen < side.version : side.version < seen)) return;
      side.version = seen;
      side.there = true;
      side.has_it = has_it;
    });
  };
  look(issue.affected, true);
  look(issue.not_affected, false);
  return found >= 0 ? found : below.has_it || above.has_it ? 1 : 0;
}

}  // namespace known_details

/// Whether the entry says anything of this version; `level` is how. `architecture`: the compute capability, "9.0"; empty: any.
inline bool concerns(const known_issue& issue, std::string_view version, std::string_view architecture,
                     known_level& level) {
  std::array<unsigned long, 3> asked{}, first{}, end{};
  if (!known_details::parse(version, asked)) return false;
  if (issue.sort == "measured") {
    int nearest = 0;
    bool measured_there = false;
    for (const std::string_view words : {issue.affected, issue.not_affected})
      known_details::each_word(words, [&](std::string_view word) {
        measured_there = measured_there || word.substr(0, word.find('/')) == architecture;
      });
    known_details::each_word(issue.affected, [&](std::string_view word) {
      const std::string_view there = word.substr(0, word.find('/'));
      if (measured_there && there != architecture) return;
      const int near = known_details::nearness(issue, asked, there);
      nearest = near > nearest ? near : nearest;
    });
    level = nearest == 2 && (measured_there || architecture.empty()) ? known_level::measured
                                                                     : known_level::not_measured;
    return nearest > 0;
  }
  level = issue.sort == "documented" ? known_level::documented : known_level::reported;
  bool in_range = false;
  known_details::each_word(issue.ranges, [&](std::string_view range) {
    const std::size_t sign = range.find('<');
    if (sign == std::string_view::npos || !known_details::parse(range.substr(0, sign), first) ||
        !known_details::parse(range.substr(sign + 1), end))
      return;
    in_range = in_range || (first <= asked && asked < end);
  });
  return in_range && known_details::is_among(issue.architectures, architecture);
}

}  // namespace cufault
