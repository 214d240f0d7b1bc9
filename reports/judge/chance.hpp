// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cufault {

/// Significance level: a rate counts as changed if a difference at least as large has a smaller probability than this.
inline constexpr double least_tail = 0.001;

/// Fisher's exact test, two-sided: the probability that two samples of one rate differ at least as much. 0 <= hits <= trials in both.
double chance_of_difference(int hits, int trials, int other_hits, int other_trials);

}  // namespace cufault
