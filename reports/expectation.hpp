// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/observation.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// The keys of a stack that conditions can name, as text: "cublas" "13.1.0", "cublaslt", "driver"
/// "580.159.04", "runtime" "13.0", "compute_capability" "9.0", "module_loading" "LAZY", "other_cublas" "12.4.5" or "none". A key that is unknown
/// on this machine (no GPU, say) is absent.
using stack_keys = std::map<std::string, std::string>;

/// Conditions under which an expectation holds: key -> comparisons joined by spaces, all of which must hold:
/// ">=13.1 <13.2", "9.0" (equal). Versions compare number by number, missing parts count as 0; text that is
/// no version compares for equality only. A condition on an absent key does not hold. Comparisons are "=" (or
/// nothing),
/// ">=", ">", "<=" and "<", with no space behind the sign.
class conditions {
 public:
  conditions() = default;
  static conditions parse(const json_cursor& at);  ///< throws input_error
  [[nodiscard]] bool hold(const stack_keys& stack) const;
  /// Could they hold? As hold(), but a condition on an absent key is not held against the stack.
  [[nodiscard]] bool may_hold(const stack_keys& stack) const;
  /// How narrow: the number of single comparisons ("=" counts as two bounds).
  [[nodiscard]] int specificity() const;
  [[nodiscard]] nlohmann::json json() const;
  [[nodiscard]] std::string text() const;  ///< "cublas >=13 <14, compute_capability 9.0"
  std::map<std::string, std::string> by_key;
};

/// Where an arm's outcome races: rate of each signature in [0, 1], stated with its reason.
struct stated_rate {
  std::vector<double> rates;  ///< one for each entry of expectation::signatures; they add up to 1
  std::string reason;         ///< required, never empty
  std::vector<std::string>
      also;  ///< file names of further records whose trials count, beside expectation::record
};

/// The recorded signatures of one arm on a class of stacks.
struct expectation {
  std::string case_name, arm;
  conditions when;
  std::vector<signature> signatures;  ///< as from signatures_of()
  std::optional<stated_rate> flaky;
  std::string record;  ///< file name of the record it was blessed from; never empty
  std::string source;  ///< "FILE:LINE" it was read from
};

/// The expectations of one parsed file, whose "case" must be `expected_case`. Throws input_error.
std::vector<expectation> expectations_from(const json_cursor& top, std::string_view expected_case);

/// All expectations of a directory: one file a case, CASE.json, schema 1:
/// {"schema": 1, "case": NAME, "expectations": [{"arm":…, "when": {…}, "signatures": […], "record": FILE,
///   "rates": […]?, "reason":…?, "also": [FILE, …]?}]}
class expectation_set {
 public:
  /// A missing directory is an empty set. Throws input_error on anything malformed, a file whose "case" is
  /// not its name, or an expectation without a record.
  static expectation_set load(const std::filesystem::path& directory);
  /// The most specific expectation of an arm that holds on a stack, or nullptr.
  /// Throws input_error naming both places when two are equally specific.
  [[nodiscard]] const expectation* find(const std::string& case_name, const std::string& arm,
                                        const stack_keys& stack) const;
  /// Is there an expectation of an arm that nothing known of the stack speaks against? On a machine that lost its GPU
  /// the arms of that GPU are still expected.
  [[nodiscard]] bool may_cover(const std::string& case_name, const std::string& arm,
                               const stack_keys& stack) const;
  /// Adds, or replaces the one with the same case, arm and conditions.
  void put(expectation e);
  /// Writes the file of every case that was put() since load(): beside, then renamed.
  void save(const std::filesystem::path& directory) const;
  [[nodiscard]] const std::vector<expectation>& all() const { return all_; }

 private:
  std::vector<expectation> all_;
  std::vector<std::string> changed_;
};

}  // namespace cufault
