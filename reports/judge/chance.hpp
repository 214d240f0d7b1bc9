// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cufault {

/// A rate is given up only where chance would do as badly once in a thousand runs.
inline constexpr double least_tail = 0.001;

/// Probability of a count at least as far out as `hits` among `trials`, twice the smaller tail.
double two_sided_tail(int hits, int trials, double rate);

/// Fisher's exact test, two-sided: the probability that two samples of one rate differ by so much or more.
double chance_of_difference(int hits, int trials, int other_hits, int other_trials);

}  // namespace cufault
