// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What several records of one stack show of an arm.
#pragma once

#include "reports/model/record.hpp"

#include <span>
#include <string>
#include <vector>

namespace cufault {

/// The arm in each of the records that has it. Borrowed.
std::vector<const arm_result*> same_arm_in(std::span<const record> records, const std::string& case_name,
                                           const std::string& arm_name);
/// Why these are not all parts of one sweep; empty if they are. Precondition: not empty.
std::string why_not_one_sweep(const std::vector<const arm_result*>& parts);
/// Of an `a` that is one part of a sweep: replaces its trial by the joined sweep if `all` has all parts.
void join_parts(arm_result& a, const std::vector<const arm_result*>& all);
/// Whether `a` came to its outcome more than once: in several equal trials (of each level, where it has levels), or in two of `all`. An arm that
/// races needs two trials in all, which need not agree. One trial may be an accident of its run.
bool was_repeated(const arm_result& a, const std::vector<const arm_result*>& all);

}  // namespace cufault
