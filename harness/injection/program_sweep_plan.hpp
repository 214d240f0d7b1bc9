// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/call_sites.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// A call that came after a failed one, and a code that it can return.
struct further_call {
  call_site site;
  std::uint64_t ordinal = 1;
  std::string code;
  bool operator==(const further_call&) const = default;
};
struct planned_call {
  std::size_t site = 0;  ///< of compared sites
  std::uint64_t ordinal = 1;
  std::string code;
  std::optional<further_call> then{};  ///< it fails, too
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

/// Of calls that followed a failed one: the first at a site that clean runs do not call, which handles the failure, else the first of all.
std::optional<further_call> further_call_of(const std::vector<counted_site>& after,
                                            const std::vector<compared_site>& sites);

/// So many runs fit into what is free, where a clean one took `taken`: by each kind of memory of which something is known; 1 at least.
struct memory_use {
  std::uint64_t taken = 0, free = 0;
};
int runs_side_by_side(const std::vector<memory_use>& memory, int processors);

/// Argument of `cufault inject --fail`: "cuMemAlloc_v2@STACK:3=OUT_OF_MEMORY".
std::string fail_text(const call_site& site, std::uint64_t ordinal, const std::string& code);
/// The same of one call, or of two behind one another.
std::string name_of_row(const call_site& site, std::uint64_t ordinal, const std::string& code,
                        const std::optional<further_call>& then);

/// True for a library function that releases an allocation which nothing else can release.
bool releases(std::string_view function);
/// E.g. "OUT_OF_MEMORY" for "CUDA_ERROR_OUT_OF_MEMORY".
std::string without_prefix(const std::string& code);

}  // namespace cufault::program_sweep
