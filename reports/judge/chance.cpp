// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/chance.hpp"

#include <algorithm>
#include <cmath>

namespace cufault {
namespace {

double log_choose(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

}  // namespace

double chance_of_difference(int hits, int trials, int other_hits, int other_trials) {
  const int all_hits = hits + other_hits, all = trials + other_trials;
  const auto probability = [&](int k) {
    return std::exp(log_choose(all_hits, k) + log_choose(all - all_hits, trials - k) -
                    log_choose(all, trials));
  };
  const double observed_one = probability(hits) * (1 + 1e-9);
  double sum = 0;
  for (int k = std::max(0, trials - (all - all_hits)); k <= std::min(trials, all_hits); ++k)
    if (const double p = probability(k); p <= observed_one) sum += p;
  return sum;
}

}  // namespace cufault
