// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/call_sites.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Plans a sweep of a program: which calls fail, with which codes, in which order.
namespace cufault::program_sweep {

/// Why no call at the site can be made to fail; "" if one can.
std::string why_left_alone(const call_site& site);
/// Codes to try, in the words of rules; depths thin and grouped try the first. For a driver function: codes that it can return. For a
/// library function, which may return any status: some of its header, first one that fits what the function does.
std::vector<std::string> codes_of(std::string_view function);

struct planned_call {
  std::size_t site = 0;  ///< of compared sites
  std::uint64_t ordinal = 1;
  std::string code;
  bool operator==(const planned_call&) const = default;
};
/// The first call of each site, with one code. Like the functions below: only stable sites. First come the first site of each function,
/// then of each function and library, then the rest, so that a budget finds most.
std::vector<planned_call> plan_thin(const std::vector<compared_site>& sites);
/// Every call of each site, with each of its codes.
std::vector<planned_call> plan_every(const std::vector<compared_site>& sites);
/// Every call with one code, in groups of one function and library. The first and last call of a group are tried; if they differ, the group
/// is split.
std::vector<std::vector<planned_call>> plan_groups(const std::vector<compared_site>& sites);

/// Argument of `cufault inject --fail`: "cuMemAlloc_v2@STACK:3=OUT_OF_MEMORY". Names the row in a record.
std::string fail_text(const call_site& site, std::uint64_t ordinal, const std::string& code);

/// True for a library function that releases an allocation which nothing else can release.
bool releases(std::string_view function);
/// E.g. "OUT_OF_MEMORY" for "CUDA_ERROR_OUT_OF_MEMORY".
std::string without_prefix(const std::string& code);

}  // namespace cufault::program_sweep
