// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Known issues of cuBLAS and cuBLASLt: cases/known_issues.json (reports/schemas/known-issues.schema.json).
#pragma once

#include <array>
#include <cufault/known_issue.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// An arm that shows it: its step `call` ("cublasLtMatmul split_k"), which came to what begins with `shows`, or "never returned; crashed".
struct known_evidence {
  std::string arm{}, call{}, shows{};
  std::string
      in_place_of{};  ///< arm of other evidence of the issue: where that is not recorded, this arm counts
};
/// `arm`: of a remedy that was measured; empty where none was.
struct known_workaround {
  std::string text{}, arm{};
};
/// Versions with which all of the evidence was looked at, or any of it was seen; ascending.
struct measured_versions {
  std::vector<std::string> affected{}, not_affected{};
};

struct known_entry {
  std::string id{}, sort{}, library{}, harm{}, what{}, reach = "any";
  std::string status{};  ///< that the call returns; empty where it says success, or does not return
  std::vector<std::string> calls{}, addresses{}, architectures{};
  std::vector<known_workaround> workarounds{};
  std::vector<known_evidence> evidence{};
  std::vector<std::pair<std::string, std::string>> ranges{};  ///< from, before
  std::map<std::string, measured_versions> measured{};        ///< by architecture
  /// What <cufault/known_issues.hpp> has of it, by which versions are looked up. Texts are this object's.
  [[nodiscard]] known_issue row() const;
  std::array<std::string, 7>
      words{};  ///< calls, workarounds, addresses, affected, not affected, ranges, architectures
};

struct known_issues_list {
  std::vector<std::pair<std::string, std::string>> gpus{};  ///< "H200", "9.0"
  std::vector<known_entry> issues{};
};
/// Throws input_error.
known_issues_list load_known_issues(const std::filesystem::path& file);

/// The text of the file, with `measured` as the stacks in a folder show it. Throws input_error if an arm that an entry names has no record, if
/// an arm of evidence races, or if a measured workaround failed on an affected stack.
std::string measured_again(const std::filesystem::path& file, const std::filesystem::path& recorded);

/// "9.0" for "9.0", and for a name that has a known one in it: "NVIDIA H200". Empty where it is unknown.
std::string architecture_of(const known_issues_list& known, std::string_view gpu);

struct found_issue {
  const known_entry* entry = nullptr;  ///< of the list
  known_level level = known_level::not_measured;
  std::string because{};  ///< "measured with 13.1.0 on 9.0"
};
std::string to_string(known_level level);
/// Worst harm first; of one harm what is measured first. `architecture`: empty for any. Precondition: is_version(version).
std::vector<found_issue> issues_of(const known_issues_list& known, std::string_view version,
                                   std::string_view architecture);
bool is_version(std::string_view text);
/// Whether anything was measured with the version, by this list.
bool any_measured(const known_issues_list& known, std::string_view version, std::string_view architecture);
/// What follows from the measurements on an architecture: "12.8.4 to 13.1.0; 12.8.4 or earlier is the first; mended after 13.1.0, at the latest in 13.10.0".
std::string span_text(const known_entry& entry, const std::string& architecture);
/// Severity of a harm, 0 the worst; as in `harms`.
std::size_t rank_of_harm(std::string_view harm);
inline constexpr std::string_view harms[] = {"wrong_numbers", "crash", "hang", "worse_status", "other"};

/// A line for each issue that a failed call can come from: measured, documented or reported for this version or, where that is not known,
/// measured for some. Nothing where a status or call is not known.
std::vector<std::string> issues_of_failure(const known_issues_list& known, const std::string& call,
                                           const std::string& status, const std::string& version,
                                           const std::string& architecture);

}  // namespace cufault
