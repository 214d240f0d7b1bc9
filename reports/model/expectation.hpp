// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cufault {

class json_cursor;

/// Conditions under which an expectation holds: key -> comparisons joined by spaces, all of which must hold:
/// ">=13.1 <13.2", "9.0" (equal); alternatives are joined by " || ". Versions compare number by number, missing parts count as 0; text that
/// is no version compares for equality only. A condition on an absent key does not hold. Comparisons are "=" (or nothing), ">=", ">", "<="
/// and "<", with no space behind the sign.
class conditions {
 public:
  conditions() = default;
  static conditions parse(const json_cursor& at);  ///< throws input_error
  [[nodiscard]] bool hold(const stack_keys& stack) const;
  /// Could they hold? As hold(), but a condition on an absent key is not held against the stack.
  [[nodiscard]] bool may_hold(const stack_keys& stack) const;
  /// How narrow: the number of single comparisons ("=" counts as two bounds); of alternatives, the least.
  [[nodiscard]] int specificity() const;
  [[nodiscard]] std::string text() const;  ///< "cublas >=13 <14, compute_capability 9.0"
  std::map<std::string, std::string> by_key;
};

/// Joins two texts of alternatives for one key: ">=12.8 <12.9 || >=13 <14". Sorted by the version in the first comparison of each; equal ones stand
/// once, and a range within another one goes; ranges that overlap or touch stay apart. Both must be such that conditions::parse() takes them.
std::string joined_alternatives(const std::string& one, const std::string& other);
/// The first alternative that holds for a version; empty where none does.
std::string holding_alternative(const std::string& alternatives, const std::string& version);
/// The alternatives of `one` without those of `other`: equal ones go, and of a range the part that a range of `other` takes. A range that is within one of
/// `other` stays. ">=13 <14" without ">=13.10 <13.11" is ">=13 <13.10 || >=13.11 <14". Empty where nothing is left.
std::string without_alternatives(const std::string& one, const std::string& other);
std::vector<std::string> alternatives_in(const std::string& text);  ///< each by itself, sorted likewise

/// Where an arm's outcome races: rate of each signature in [0, 1], stated with its reason.
struct stated_rate {
  std::vector<double> rates;  ///< one for each of expectation::seen; they add up to 1
  std::string reason;         ///< required, never empty
  /// Of an expectation that is another record: how many of its trials showed each signature. Empty: the rates are stated.
  std::vector<int> counts{};
};

/// What an arm is expected to show on a class of stacks: what its records show. A pointer to them on disk.
struct expectation {
  std::string case_name{}, arm{};
  conditions when{};
  std::vector<std::string> stacks{};  ///< folders of reports/recorded that show it, at least one
  [[nodiscard]] bool rests_on(const std::string& folder) const;  ///< whether it has that stack
  std::string
      digest{};  ///< digest_of() the arm in each of them; where it races, of all their trials together
  std::optional<stated_rate> flaky{};
  std::string source{};  ///< "FILE:LINE" it was read from

  // Of the record, once it is resolved.
  std::vector<plateau> seen{};
  std::vector<observation> trials{};
  bool from_the_start = false;  ///< of a remedy that is in place before the fault
};

/// What an arm showed, as an expectation without conditions and stacks. Where the arm races and showed several signatures it has rates.
expectation expectation_of(const std::string& case_name, const arm_result& arm);

/// The lines of FAMILY.jsonl: {"case": ..., "when": {...}, "stacks": [...]}, and behind it, for the arms of which that is true, one for all
/// that showed the same: {"arms": [...], "rates": [...]?, "reason": ...?, "digest": ...}. Throws input_error.
std::vector<expectation> expectations_from(const std::string& name, std::string_view text);
std::string expectations_text(std::vector<expectation> all);  ///< sorted

/// All expectations: expectations/FAMILY.jsonl, and the records that they point to. A family of a stack is read once, when an expectation first needs it.
class expectation_set {
 public:
  /// A missing directory is an empty set. Throws input_error on anything malformed. `recorded` holds the folders of stacks.
  static expectation_set load(const std::filesystem::path& directory, std::filesystem::path recorded);
  /// The most specific expectation of an arm that holds on a stack, resolved, or nullptr. Throws input_error naming both places when two
  /// are equally specific, and where a record is gone or does not match the digest.
  [[nodiscard]] const expectation* find(const std::string& case_name, const std::string& arm,
                                        const stack_keys& stack) const;
  /// Is there an expectation of an arm that nothing known of the stack speaks against? On a machine that lost its GPU
  /// the arms of that GPU are still expected.
  [[nodiscard]] bool may_cover(const std::string& case_name, const std::string& arm,
                               const stack_keys& stack) const;
  /// Adds, or replaces the one with the same case, arm and conditions; one without stacks is removed.
  void put(expectation e);
  /// Writes the file of every family of which something was put() since load(): beside, then renamed.
  void save(const std::filesystem::path& directory) const;
  [[nodiscard]] const std::vector<expectation>& all() const { return all_; }
  /// Reads what the expectation points to. Throws as find() does.
  void resolve(expectation& e) const;
  /// The arm of an expectation in the record of a stack. Valid as long as the set. Throws as find() does, but for the digest.
  [[nodiscard]] const arm_result& shown_in(const std::string& stack, const expectation& e) const;
  /// Whether the conditions hold on that stack. Throws input_error where its record is gone.
  [[nodiscard]] bool holds_on(const std::string& stack, const expectation& e) const;

 private:
  [[nodiscard]] const record& record_of(const std::string& stack, const expectation& e) const;
  std::vector<expectation> all_;
  std::vector<std::string> changed_;  // families
  std::filesystem::path recorded_;
  mutable std::map<std::tuple<std::string, std::string, std::map<std::string, std::string>>, expectation>
      resolved_;                                                           // by case, arm and conditions
  mutable std::map<std::pair<std::string, std::string>, record> records_;  // by stack and family
};

}  // namespace cufault
