// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Known issues that answers name: the tables of <cufault/known_issues.hpp>.
#pragma once

#include <cstddef>
#include <cufault/known_issue.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// The worst first.
inline constexpr std::string_view harms[] = {"wrong_numbers", "crash", "hang", "worse_status", "other"};
/// 0: the worst.
std::size_t rank_of_harm(std::string_view harm);

/// "9.0" for "9.0", and for a name that has a known one in it: "NVIDIA H200". Empty where it is unknown.
std::string architecture_of(std::string_view gpu);

std::string_view first_workaround(const known_issue& issue);  ///< empty where none is known

/// Whether a program meets it without an algorithm that is chosen by hand, and by a call that no other release refuses.
inline bool is_met_by_any_call(const known_issue& issue) {
  return issue.reach == "any" || issue.reach == "heuristic";
}

/// All that is known of a version; worst harm first, and of one harm what is measured first. What is affected elsewhere, or not measured, comes last.
/// `library`: as in <cufault/known_issues.hpp>.
std::vector<known_match> issues_of(std::string_view version, std::string_view architecture,
                                   std::string_view library = "cublas");

/// A line for each issue that a failed call can come from ("cublasLtMatmul", "CUBLAS_STATUS_NOT_SUPPORTED"): measured, documented or reported
/// for this version or, where that is not known, measured for some. `gpu`: name or compute capability. Nothing where a status or call is not
/// known.
std::vector<std::string> issues_of_failure(std::string_view call, std::string_view status,
                                           std::string_view version, std::string_view gpu);

}  // namespace cufault
