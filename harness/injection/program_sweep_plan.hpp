// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/call_sites.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Which calls of a program a sweep fails, with which codes, in which order.
namespace cufault::program_sweep {

/// Why no call at the site can be made to fail; empty where one can.
std::string why_left_alone(const call_site& site);
/// Codes worth trying, as rules take them; the first one is that of depth thin and grouped. Of the driver's functions, those that the function
/// can return. Of a library's, which may return any status, a few of its header: first one that fits what the function does.
std::vector<std::string> codes_of(std::string_view function);

struct planned_call {
  std::size_t site = 0;  ///< of compared sites
  std::uint64_t ordinal = 1;
  std::string code;
  bool operator==(const planned_call&) const = default;
};
/// The first call of each site, by one code. Like the others below: stable sites only, first those that are first of a function, then
/// those that are first of a function and a library, then the rest, so that a budget finds most.
std::vector<planned_call> plan_thin(const std::vector<compared_site>& sites);
/// Every call of each site, by each of its codes.
std::vector<planned_call> plan_every(const std::vector<compared_site>& sites);
/// Every call, by one code, in groups of one function and library. In each the first and the last one are tried; where they differ it is
/// split.
std::vector<std::vector<planned_call>> plan_groups(const std::vector<compared_site>& sites);

/// What `cufault inject --fail` reads: "cuMemAlloc_v2@STACK:3=OUT_OF_MEMORY". Names the row in a record.
std::string fail_text(const call_site& site, std::uint64_t ordinal, const std::string& code);

/// Whether it is a function of a library that releases what it or an earlier call allocated, which nothing else can release.
bool releases(std::string_view function);
/// "OUT_OF_MEMORY" of "CUDA_ERROR_OUT_OF_MEMORY".
std::string without_prefix(const std::string& code);

}  // namespace cufault::program_sweep
