// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// What an outcome depends on, in words that are computed: an ordered list of rules over what varied, the last of which is "else".
namespace cufault {

/// Integers are compared by range, too.
using property_value = std::variant<std::string, std::int64_t>;

/// One thing that was observed: a cell of the matrix, a run of a sweep.
struct example {
  std::string name{};  ///< of which there is one only
  std::map<std::string, property_value> properties{};
  std::string outcome{};
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  friend auto operator<=>(const example&, const example&) = default;
};

enum class relation { is, at_most, at_least };

struct condition {
  std::string property{};
  relation how = relation::is;
  property_value value{};
  [[nodiscard]] bool holds(const example& e) const;  ///< false where it has no such property
  friend bool operator==(const condition&, const condition&) = default;
};

/// A rule holds for what meets all its conditions and no rule before it; one that names an example, for that alone and before all others.
struct rule {
  std::vector<condition> where{};  ///< at most three; none: all that no other rule holds for
  std::string alone{};             ///< the one example that it is for
  std::string outcome{};
  std::vector<std::string> covers{};  ///< names of the examples that have it
  std::vector<std::pair<std::string, std::string>>
      contradicts{};  ///< those that it holds for and that do not: name, outcome
  [[nodiscard]] std::size_t size() const { return covers.size() + contradicts.size(); }
};

struct rule_limits {
  /// Of properties that say the same the one that comes first is taken; those that are not here come last, by name.
  std::span<const std::string_view> preferred{};
  /// A rule must explain so many examples that would contradict without it. More than 1: an outcome that only one example has becomes a
  /// rule that names it.
  std::size_t least_gain = 2;
};

/// The rules, in the order in which they are tried, those that name an example last. Every example is in exactly one of them, in `covers` or in
/// `contradicts`. The order of the examples changes nothing. Greedy: each rule is the one that explains the most, less one for each further
/// condition; so it is short, and not always the shortest that there is. Precondition: no two examples have one name.
std::vector<rule> rules_for(std::vector<example> examples, const rule_limits& limits = {});
/// The rule that holds for an example; nullptr where none does, as in an empty list.
const rule* rule_of(std::span<const rule> rules, const example& e);

/// "cold", "cublasSgemm", "level at most 64", "kernels 2", "no workspace used", "code OUT_OF_MEMORY".
std::string describe(const condition& c);
std::string describe(std::span<const condition> all);  ///< joined by "and"
/// "INTERNAL_ERROR where cold: 31 cells, 2 contradict: gemv.cold (SUCCESS), ...": a line a rule; `noun` is what is counted.
std::vector<std::string> describe(std::span<const rule> rules, std::string_view noun);
/// Where the outcome is seen, by rules that know it and one other: "where cold: 8 cells, except 2: graph_capture.cold, sgemm_large.cold",
/// "everywhere but where warm: 49 cells", "without a common condition: iamax.cold". Empty: nowhere.
std::vector<std::string> describe_where(std::span<const rule> rules, std::string_view outcome,
                                        std::string_view noun);
/// All in one line, without counts: "ALLOC_FAILED where code OUT_OF_MEMORY; else INTERNAL_ERROR".
std::string in_one_line(std::span<const rule> rules);

}  // namespace cufault
