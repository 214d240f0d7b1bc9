// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/bisection.hpp"

#include "reports/judge/chance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cufault {
namespace {

constexpr int first_comparison = 6;  // two samples of 6 that share no outcome: p = 0.002

int count_of(const outcome_counts& counts, const std::string& outcome) {
  const auto found = counts.find(outcome);
  return found == counts.end() ? 0 : found->second;
}

double rate_of(int hits, int trials) {
  return (hits + 1.0) / (trials + 2.0);
}

/// Logarithm of how much more probable so many hits are at one rate than at another.
double log_ratio(int hits, int trials, double rate, double other_rate) {
  return hits * std::log(rate / other_rate) + (trials - hits) * std::log((1 - rate) / (1 - other_rate));
}

}  // namespace

int trials_in(const outcome_counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0,
                         [](int sum, const auto& one) { return sum + one.second; });
}

release_test::release_test(const outcome_counts& good_end, const outcome_counts& bad_end, double error)
    : limit_(std::log(1 / error)) {
  const int good = trials_in(good_end), bad = trials_in(bad_end);
  for (const outcome_counts& end : {good_end, bad_end})
    for (const auto& [outcome, trials] : end)
      outcomes_[outcome] = count_of(bad_end, outcome) * good > count_of(good_end, outcome) * bad
                               ? likeness::bad
                               : likeness::good;
  int hits_good = 0, hits_bad = 0;
  for (const auto& [outcome, like] : outcomes_)
    if (like == likeness::bad)
      hits_good += count_of(good_end, outcome), hits_bad += count_of(bad_end, outcome);
  // Nearer to each other than measured, never further apart: else the error would be larger than it says.
  good_rate_ = std::max(rate_of(hits_good, good), static_cast<double>(hits_good) / good);
  bad_rate_ = std::min(rate_of(hits_bad, bad), static_cast<double>(hits_bad) / bad);
  other_rate_ = rate_of(0, std::min(good, bad));
  const double ways = std::pow(2, static_cast<double>(outcomes_.size()) - 1) - 1;
  chance_ =
      outcomes_.size() < 2 ? 1 : std::min(1.0, ways * chance_of_difference(hits_good, good, hits_bad, bad));
}

likeness release_test::likeness_of(const std::string& outcome) const {
  const auto found = outcomes_.find(outcome);
  return found == outcomes_.end() ? likeness::other : found->second;
}

std::optional<likeness> release_test::decide(const outcome_counts& seen) const {
  int bad = 0, other = 0;
  for (const auto& [outcome, trials] : seen) {
    const likeness like = likeness_of(outcome);
    if (like == likeness::bad) bad += trials;
    if (like == likeness::other) other += trials;
  }
  const int all = trials_in(seen);
  const double for_other = log_ratio(other, all, std::max(0.5, other_rate_), other_rate_);
  if (for_other >= limit_) return likeness::other;
  const double for_bad = log_ratio(bad, all - other, bad_rate_, good_rate_);
  if (for_other > 0 || std::abs(for_bad) < limit_) return {};
  return for_bad > 0 ? likeness::bad : likeness::good;
}

int trials_before_comparison(int number) {
  return first_comparison << number;
}

double error_of_comparison(int number, double of_bisection) {
  return std::ldexp(of_bisection, -number - 1);
}

std::vector<std::size_t> bisection::between() const {
  std::vector<std::size_t> all;
  for (std::size_t i = std::min(good_, bad_) + 1; i < std::max(good_, bad_); ++i) all.push_back(i);
  return all;
}

std::optional<std::size_t> bisection::next() const {
  const std::size_t middle = std::min(good_, bad_) + (std::max(good_, bad_) - std::min(good_, bad_)) / 2;
  const auto from_middle = [&](std::size_t i) { return i < middle ? middle - i : i - middle; };
  std::optional<std::size_t> nearest;
  for (const std::size_t i : between())
    if (!skipped_.contains(i) && (!nearest || from_middle(i) < from_middle(*nearest))) nearest = i;
  return nearest;
}

void bisection::add(std::size_t release, std::optional<likeness> result) {
  if (!result || *result == likeness::other) {
    skipped_.insert(release);
    return;
  }
  ++decisions_;
  (*result == likeness::good ? good_ : bad_) = release;
}

}  // namespace cufault
