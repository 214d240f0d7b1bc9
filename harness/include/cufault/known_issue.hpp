// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Types of the tables of <cufault/known_issues.hpp>, and the look-up of a version.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cufault {

/// What an entry says about a version on an architecture.
enum class known_level {
  measured,            ///< cufault measured it with this version on this architecture
  documented,          ///< NVIDIA's release notes say it; not measured
  likely_affected,     ///< not measured; the releases before and behind it are affected
  reported,            ///< users say it; not measured
  affected_elsewhere,  ///< measured with this version on another architecture, and not on this one
  not_measured  ///< not measured with this version or on this architecture; the nearest that was measured has it
};

/// Lists are words separated by spaces.
struct known_issue {
  std::string_view id{};       ///< "lt-66-uneven-split-k"; it never changes
  std::string_view sort{};     ///< "measured", "documented" or "reported"
  std::string_view library{};  ///< "cublas", "cublaslt", "torch", "triton", "jax" or "cupy"
  std::string_view harm{};     ///< "wrong_numbers", "crash", "hang", "worse_status" or "other"
  std::string_view what{};     ///< one sentence
  std::string_view reach{};  ///< "any", "heuristic", "forced_algorithm" or "refused_call" (by other releases)
  std::string_view status{};  ///< that the call returns, or words of a package's message; empty: none
  std::string_view calls{};   ///< "cublasLtMatmul cublasGemmEx"; empty: not known
  std::string_view
      workarounds{};  ///< a sentence a line, "(not measured)" behind what no arm proves; empty where none is known
  std::string_view addresses{};  ///< of release notes and threads
};
using known_version = std::array<unsigned long, 3>;
/// Versions with the same entry of an issue.
struct known_span {
  std::size_t issue = 0;  ///< index in known_issues_table
  std::string_view
      architectures{};  ///< "9.0 10.x !10.3": without 10.3; "!9.0": all others; empty: where any is asked for
  known_version from{}, before{};  ///< `before` is not one of them
  known_level level = known_level::not_measured;
  std::string_view because{};  ///< "measured with 13.1.0 on 9.0"; empty where it is not measured
};
struct known_gpu {
  std::string_view name{}, architecture{};  ///< "H200", "9.0"
};
struct known_match {
  const known_issue* issue = nullptr;  ///< static
  known_level level = known_level::not_measured;
  std::string_view because{};  ///< static
};

/// Text of cublasGetVersion()'s number: "13.1.0" for 130100.
inline std::string version_text(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

namespace known_details {

/// Parses "12.8.4.1"; false if the text is not three or four numbers.
inline bool parse(std::string_view text, known_version& to) {
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

/// True for "10.3" in "9.0 10.x"; false for it in "!10.x".
inline bool is_among(std::string_view architectures, std::string_view one) {
  if (architectures.empty() || one.empty()) return architectures.empty() && one.empty();
  bool among = architectures[0] == '!';
  while (!architectures.empty()) {
    std::string_view word = architectures.substr(0, architectures.find(' '));
    architectures.remove_prefix(word.size() == architectures.size() ? word.size() : word.size() + 1);
    const bool without = word[0] == '!';
    word.remove_prefix(without ? 1 : 0);
    const bool all = word.size() > 2 && word.substr(word.size() - 2) == ".x";
    if (word == one || (all && one.substr(0, word.size() - 1) == word.substr(0, word.size() - 1)))
      among = !without;
  }
  return among;
}

/// Issues of cuBLASLt are of "cublas", too.
inline bool is_of(const known_issue& issue, std::string_view library) {
  return issue.library == library || (library == "cublas" && issue.library == "cublaslt");
}

}  // namespace known_details

/// True if the span contains this version. `architecture`: compute capability such as "9.0"; empty: any.
inline bool concerns(const known_span& span, std::string_view version, std::string_view architecture) {
  known_version asked{};
  return known_details::parse(version, asked) && span.from <= asked && asked < span.before &&
         known_details::is_among(span.architectures, architecture);
}

}  // namespace cufault
