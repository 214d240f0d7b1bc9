// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/matrix/conditions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <tuple>

namespace cufault {
namespace {

constexpr std::size_t most_conditions = 3;
/// So many more examples must a rule with one condition more explain, or the shorter one is preferred.
constexpr std::int64_t cost_of_condition = 1;
/// Of the conjunctions of two, so many are tried with a third condition.
constexpr std::size_t tried_further = 80;

/// A set of examples, by number.
class subset {
 public:
  explicit subset(std::size_t size) : words_((size + 63) / 64) {}
  void add(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  [[nodiscard]] bool has(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  [[nodiscard]] std::int64_t size() const {
    std::int64_t n = 0;
    for (const auto w : words_) n += std::popcount(w);
    return n;
  }
  [[nodiscard]] std::int64_t common_with(const subset& other) const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) n += std::popcount(words_[i] & other.words_[i]);
    return n;
  }
  [[nodiscard]] subset operator&(const subset& other) const {
    subset s = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) s.words_[i] &= other.words_[i];
    return s;
  }
  [[nodiscard]] subset without(const subset& other) const {
    subset s = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) s.words_[i] &= ~other.words_[i];
    return s;
  }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  friend auto operator<=>(const subset&, const subset&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// A condition, and which examples meet it.
struct literal {
  condition what;
  subset meets;
};

struct conjunction {
  std::vector<std::size_t> literals;  ///< ascending: by preference
  subset meets;
  std::int64_t score = 0, contradictions = 0, size = 0;
};

/// The better one; of equals the one for fewer examples, so that "else" is what is usual.
bool better(const conjunction& a, const conjunction& b) {
  const auto key = [](const conjunction& c) {
    return std::tuple{-c.score, c.literals.size(), c.contradictions, c.size};
  };
  const auto key_of_a = key(a), key_of_b = key(b);
  return key_of_a != key_of_b ? key_of_a < key_of_b : a.literals < b.literals;
}

std::size_t rank(const std::string& property, std::span<const std::string_view> preferred) {
  return static_cast<std::size_t>(std::ranges::find(preferred, property) - preferred.begin());
}

/// All conditions that split the examples, by preference; of those that the same examples meet, the first.
std::vector<literal> literals_of(const std::vector<example>& examples,
                                 std::span<const std::string_view> preferred) {
  std::map<std::pair<std::size_t, std::string>, std::set<property_value>> values;
  for (const example& e : examples)
    for (const auto& [name, value] : e.properties) values[{rank(name, preferred), name}].insert(value);
  std::vector<literal> all;
  std::set<subset> known;
  const auto add = [&](condition c) {
    subset meets(examples.size());
    for (std::size_t i = 0; i < examples.size(); ++i)
      if (c.holds(examples[i])) meets.add(i);
    const auto size = static_cast<std::size_t>(meets.size());
    if (size == 0 || size == examples.size() || !known.insert(meets).second) return;
    all.push_back({std::move(c), std::move(meets)});
  };
  for (const auto& [property, of] : values) {
    for (const property_value& value : of) add({property.second, relation::is, value});
    for (const property_value& value : of) {
      if (!std::holds_alternative<std::int64_t>(value)) continue;
      add({property.second, relation::at_most, value});
      add({property.second, relation::at_least, value});
    }
  }
  return all;
}

class search {
 public:
  search(const std::vector<example>& examples, const rule_limits& limits)
      : literals_(literals_of(examples, limits.preferred)), left_(examples.size()) {
    std::map<std::string, subset> by_outcome;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      by_outcome.try_emplace(examples[i].outcome, examples.size()).first->second.add(i);
      left_.add(i);
    }
    for (auto& [outcome, those] : by_outcome) {
      outcomes_.push_back(outcome);
      with_.push_back(std::move(those));
    }
    least_gain_ = static_cast<std::int64_t>(limits.least_gain);
  }

  std::vector<rule> run() {
    std::vector<rule> rules;
    while (auto best = next()) {
      rule r;
      for (const auto i : best->literals) r.where.push_back(literals_[i].what);
      r.outcome = outcomes_[most_of(best->meets & left_).first];
      left_ = left_.without(best->meets);
      rules.push_back(std::move(r));
    }
    if (left_.size() > 0) rules.push_back({.outcome = outcomes_[most_of(left_).first]});
    return rules;
  }

 private:
  /// The outcome that most of them have, the first by name of several, and how many have it.
  [[nodiscard]] std::pair<std::size_t, std::int64_t> most_of(const subset& of) const {
    std::pair<std::size_t, std::int64_t> most{0, -1};
    for (std::size_t o = 0; o < with_.size(); ++o)
      if (const auto n = with_[o].common_with(of); n > most.second) most = {o, n};
    return most;
  }

  /// How many have another outcome than most of them.
  [[nodiscard]] std::int64_t misfits(const subset& of) const {
    const auto size = of.size();
    return size == 0 ? 0 : size - most_of(of).second;
  }

  [[nodiscard]] conjunction rated(std::vector<std::size_t> literals, const subset& meets) const {
    conjunction c{std::move(literals), meets & left_};
    c.size = c.meets.size();
    c.contradictions = misfits(c.meets);
    c.score = misfits(left_) - c.contradictions - misfits(left_.without(c.meets)) -
              cost_of_condition * (static_cast<std::int64_t>(c.literals.size()) - 1);
    return c;
  }

  [[nodiscard]] std::optional<conjunction> next() const {
    if (misfits(left_) == 0) return {};
    std::optional<conjunction> best;
    const auto consider = [&](const conjunction& c) {
      const std::int64_t gain =
          c.score + cost_of_condition * (static_cast<std::int64_t>(c.literals.size()) - 1);
      const std::int64_t least = least_gain_ + (c.literals.size() == most_conditions ? 1 : 0);
      if (gain >= least && c.size > c.contradictions && (!best || better(c, *best))) best = c;
    };
    std::vector<conjunction> shorter;
    for (std::size_t i = 0; i < literals_.size(); ++i) {
      conjunction c = rated({i}, literals_[i].meets);
      if (c.size == 0) continue;
      consider(c);
      shorter.push_back(std::move(c));
    }
    for (std::size_t length = 2; length <= most_conditions; ++length) {
      std::vector<conjunction> longer;
      for (const conjunction& c : shorter)
        for (std::size_t i = length == 2 ? c.literals.back() + 1 : 0; i < literals_.size(); ++i) {
          const auto size = c.meets.common_with(literals_[i].meets);
          if (size == 0 || size == c.size) continue;
          auto both = c.literals;
          both.insert(std::ranges::lower_bound(both, i), i);
          longer.push_back(rated(std::move(both), c.meets & literals_[i].meets));
          consider(longer.back());
        }
      const auto kept = std::min(longer.size(), tried_further);
      std::partial_sort(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(kept), longer.end(),
                        better);
      longer.erase(longer.begin() + static_cast<std::ptrdiff_t>(kept), longer.end());
      shorter = std::move(longer);
    }
    return best;
  }

  std::vector<literal> literals_;
  std::vector<std::string> outcomes_;
  std::vector<subset> with_;  ///< of each outcome
  subset left_;
  std::int64_t least_gain_ = 2;
};

bool meets_all(const rule& r, const example& e) {
  return r.alone.empty() && std::ranges::all_of(r.where, [&](const condition& c) { return c.holds(e); });
}

/// Fills `covers` and `contradicts`; returns how many contradict.
std::size_t assign(std::vector<rule>& rules, const std::vector<example>& examples) {
  std::size_t wrong = 0;
  for (rule& r : rules) {
    r.covers.clear();
    r.contradicts.clear();
  }
  for (const example& e : examples) {
    const rule* const held = rule_of(rules, e);
    rule& r = rules[static_cast<std::size_t>(held - rules.data())];
    if (e.outcome == r.outcome) {
      r.covers.push_back(e.name);
    } else {
      r.contradicts.emplace_back(e.name, e.outcome);
      ++wrong;
    }
  }
  return wrong;
}

/// A rule that was found first may hold for what a later one explains better: moves rules, but not the last, as long as fewer examples
/// contradict. Then the shortest come first, where no more contradict.
void put_in_order(std::vector<rule>& rules, const std::vector<example>& examples) {
  std::size_t wrong = assign(rules, examples);
  const auto try_order = [&](std::vector<rule> other, bool equal_will_do) {
    const std::size_t of_other = assign(other, examples);
    if (equal_will_do ? of_other > wrong : of_other >= wrong) return false;
    wrong = of_other;
    rules = std::move(other);
    return true;
  };
  const auto moved_forward = [&] {
    for (std::size_t from = 1; from + 1 < rules.size(); ++from)
      for (std::size_t to = 0; to < from; ++to) {
        std::vector<rule> other = rules;
        std::rotate(other.begin() + static_cast<std::ptrdiff_t>(to),
                    other.begin() + static_cast<std::ptrdiff_t>(from),
                    other.begin() + static_cast<std::ptrdiff_t>(from) + 1);
        if (try_order(std::move(other), false)) return true;
      }
    return false;
  };
  constexpr std::size_t too_many = 12;  // for a table of words, too
  while (wrong > 0 && rules.size() <= too_many && moved_forward()) {
  }
  std::vector<rule> sorted = rules;
  std::stable_sort(sorted.begin(), sorted.end() - 1,
                   [](const rule& a, const rule& b) { return a.where.size() < b.where.size(); });
  try_order(std::move(sorted), true);
}

std::string text_of(const property_value& v) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, v);
}

/// Of these the value alone says enough.
bool speaks_for_itself(std::string_view property) {
  constexpr std::array names{"state", "timing", "api", "persistence", "phase", "driver_call"};
  return std::ranges::find(names, property) != names.end();
}

}  // namespace

bool condition::holds(const example& e) const {
  const auto at = e.properties.find(property);
  if (at == e.properties.end()) return false;
  if (how == relation::is) return at->second == value;
  const auto* const has = std::get_if<std::int64_t>(&at->second);
  const auto* const bound = std::get_if<std::int64_t>(&value);
  if (has == nullptr || bound == nullptr) return false;
  return how == relation::at_most ? *has <= *bound : *has >= *bound;
}

std::vector<rule> rules_for(std::vector<example> examples, const rule_limits& limits) {
  std::ranges::sort(examples);
  std::map<std::string, std::size_t> times;
  for (const example& e : examples) ++times[e.outcome];
  std::vector<rule> named;
  std::vector<example> others;
  for (const example& e : examples) {
    if (limits.least_gain > 1 && times[e.outcome] == 1)
      named.push_back({.alone = e.name, .outcome = e.outcome});
    else
      others.push_back(e);
  }
  std::vector<rule> rules;
  if (!others.empty()) {
    rules = search(others, limits).run();
    put_in_order(rules, others);
    std::erase_if(rules, [](const rule& r) { return r.size() == 0; });
  }
  rules.insert(rules.end(), named.begin(), named.end());
  assign(rules, examples);
  return rules;
}

const rule* rule_of(std::span<const rule> rules, const example& e) {
  for (const rule& r : rules)
    if (!r.alone.empty() && r.alone == e.name) return &r;
  for (const rule& r : rules)
    if (meets_all(r, e)) return &r;
  return nullptr;
}

std::string describe(const condition& c) {
  std::string words = c.property;
  std::ranges::replace(words, '_', ' ');
  std::string value = text_of(c.value);
  if (c.how == relation::at_most) return fmt::format("{} at most {}", words, value);
  if (c.how == relation::at_least) return fmt::format("{} at least {}", words, value);
  if (speaks_for_itself(c.property)) return value;
  if (value == "yes") return words;
  if (value == "no") return "no " + words;
  return fmt::format("{} {}", words, value);
}

std::string describe(std::span<const condition> all) {
  std::vector<std::string> words;
  for (const condition& c : all) words.push_back(describe(c));
  return fmt::format("{}", fmt::join(words, " and "));
}

namespace {

/// "INTERNAL_ERROR where cold", "else SUCCESS".
std::string head_of(const rule& r, std::span<const rule> all) {
  if (!r.alone.empty()) return fmt::format("{} of {} alone", r.outcome, r.alone);
  if (!r.where.empty()) return fmt::format("{} where {}", r.outcome, describe(r.where));
  if (all.size() == 1) return r.outcome + " everywhere";
  const bool first = &r == all.data();  // then the others name examples
  return first ? r.outcome + " everywhere else" : "else " + r.outcome;
}

}  // namespace

std::vector<std::string> describe(std::span<const rule> rules, std::string_view noun) {
  constexpr std::size_t named = 5;
  std::vector<std::string> lines;
  for (const rule& r : rules) {
    std::string line = head_of(r, rules);
    if (r.alone.empty()) {
      line += fmt::format(": {} {}{}", r.size(), noun, r.size() == 1 ? "" : "s");
      if (!r.contradicts.empty())
        line += fmt::format(", {} contradict{}:", r.contradicts.size(), r.contradicts.size() == 1 ? "s" : "");
      for (std::size_t i = 0; i < std::min(named, r.contradicts.size()); ++i)
        line += fmt::format("{} {} ({})", i == 0 ? "" : ",", r.contradicts[i].first, r.contradicts[i].second);
      if (r.contradicts.size() > named) line += fmt::format(" and {} more", r.contradicts.size() - named);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> describe_where(std::span<const rule> rules, std::string_view outcome,
                                        std::string_view noun) {
  const auto listed = [](const std::vector<std::string>& names) {
    constexpr std::size_t shown = 5;
    const std::size_t some = std::min(shown, names.size());
    std::string text =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(some), ", "));
    if (names.size() > some) text += fmt::format(" and {} more", names.size() - some);
    return text;
  };
  std::vector<std::string> lines, others, single;
  for (const rule& r : rules) {
    if (r.outcome != outcome) {
      if (!r.where.empty()) others.push_back("where " + describe(r.where));
      for (const auto& [name, seen] : r.contradicts) single.push_back(name);
    } else if (!r.alone.empty()) {
      single.push_back(r.alone);
    } else {
      std::string line = r.where.empty() ? "everywhere" : "where " + describe(r.where);
      if (!others.empty()) line += fmt::format(" but {}", fmt::join(others, " or "));
      line += fmt::format(": {} {}{}", r.size(), noun, r.size() == 1 ? "" : "s");
      std::vector<std::string> exceptions;
      for (const auto& [name, seen] : r.contradicts) exceptions.push_back(name);
      if (!exceptions.empty()) line += fmt::format(", except {}: {}", exceptions.size(), listed(exceptions));
      lines.push_back(std::move(line));
    }
  }
  if (!single.empty())
    lines.push_back(
        fmt::format("{}: {}", lines.empty() ? "without a common condition" : "and", listed(single)));
  return lines;
}

std::string in_one_line(std::span<const rule> rules) {
  std::vector<std::string> words;
  for (const rule& r : rules) {
    std::string text = rules.size() == 1 ? r.outcome : head_of(r, rules);
    if (!r.contradicts.empty()) text += fmt::format(" ({} of {})", r.covers.size(), r.size());
    words.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace cufault
