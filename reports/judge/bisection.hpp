// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Which release changed something: what repetitions of one release prove, and which release to try next.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// What a release is like: the good end of a bisection, its bad end, or neither, as with an unrelated failure.
enum class likeness { good, bad, other };

/// How many trials came to each outcome ("exit 3", a signature in words).
using outcome_counts = std::map<std::string, int>;
int trials_in(const outcome_counts& counts);

/// Decides releases by the outcomes at both ends. An outcome counts as bad if it was more frequent at the bad end, as good if it was not and was
/// seen at an end, else as other.
class release_test {
 public:
  /// `error`: the probability of a wrong decision; 0 < error < 0.5. At least one trial of each end.
  release_test(const outcome_counts& good_end, const outcome_counts& bad_end, double error);

  /// The probability that ends which behave alike differ so much: Fisher's exact test, times the number of ways to divide the outcomes in two.
  [[nodiscard]] double chance() const { return chance_; }
  [[nodiscard]] likeness likeness_of(const std::string& outcome) const;
  /// Two sequential probability ratio tests (Wald). One decides whether half of the outcomes are other ones, or none. The other decides between
  /// the rates of bad outcomes at the two ends. A rate is as measured, or (hits + 1) / (trials + 2) if that is nearer to the other end's.
  /// Nothing: more trials are needed. Precondition: chance() < 1.
  [[nodiscard]] std::optional<likeness> decide(const outcome_counts& seen) const;

 private:
  std::map<std::string, likeness> outcomes_{};
  double good_rate_ = 0, bad_rate_ = 0,
         other_rate_ = 0;  // of bad outcomes at the ends, and of other outcomes
  double chance_ = 1, limit_ = 0;
};

/// The ends are compared after 6, 12, 24 ... trials of each. A comparison may be wrong with half of the error, the next with a quarter, and so
/// on: together with no more than the error.
int trials_before_comparison(int number);  ///< from 0
double error_of_comparison(int number, double of_bisection);

/// The search over releases in order, between an end that is good and one that is bad, whichever is older.
class bisection {
 public:
  bisection(std::size_t good, std::size_t bad) : good_(good), bad_(bad) {}
  /// The release to try: the one nearest to the middle that was not tried. Nothing: the search is over.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// What a release came to. Nothing, and likeness::other: it says nothing of the change, and is skipped.
  void add(std::size_t release, std::optional<likeness> result);
  [[nodiscard]] std::size_t good() const { return good_; }  ///< the good release nearest to the change
  [[nodiscard]] std::size_t bad() const { return bad_; }    ///< the bad one
  [[nodiscard]] bool mended() const { return bad_ < good_; }
  [[nodiscard]] std::vector<std::size_t> between()
      const;  ///< those between the two, all skipped: empty where one release is found
  [[nodiscard]] std::size_t decisions() const { return decisions_; }

 private:
  std::size_t good_, bad_, decisions_ = 0;
  std::set<std::size_t> skipped_{};
};

}  // namespace cufault
