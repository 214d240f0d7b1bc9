// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/observation.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// Which part of how many a trial is of its sweep, counted from 1: {1, 1} for a whole one, {0, 1} where rows were named, {K, 0} if it does
/// not say of how many.
std::pair<int, int> which_part(const observation& o);
/// Whether it has only some of the rows of its sweep.
bool is_part(const observation& o);

/// Why these are not all parts of one sweep; empty if they are: "parts 3, 4 of 4 are missing", "part 2 is given twice",
/// "part 2 was not completed", "part 2 counts 1224 driver calls of a clean run, not 1238". Precondition: not empty.
std::string why_not_whole(const std::vector<const observation*>& parts);
/// The trials of all parts as one trial: rows, log and output in the order of the parts; counts of rows and times are sums. Rows in which
/// nothing was made to fail come last, equal ones once. Samples of memory are dropped. The context is "damaged" if any part says so. A note
/// says how many parts there were. Precondition: why_not_whole() is empty.
observation joined(std::vector<const observation*> parts);

}  // namespace cufault
