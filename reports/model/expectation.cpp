// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/expectation.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/stack_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

constexpr std::array<std::string_view, 11> condition_keys{
    "cublas",       "cublaslt", "driver", "runtime", "compute_capability", "memory_gib", "module_loading",
    "other_cublas", "pytorch",  "jax",    "cupy"};

enum class relation { equal, at_least, above, at_most, below };

struct comparison {
  relation how = relation::equal;
  std::string_view than;
};

using version = std::vector<std::uint64_t>;

std::optional<version> version_from(std::string_view text) {
  version parts;
  while (true) {
    std::uint64_t part = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, part);
    if (error != std::errc{}) return std::nullopt;
    parts.push_back(part);
    if (stop == end) break;
    if (*stop != '.') return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  }
  // 13.1 and 13.1.0 are one version.
  while (!parts.empty() && parts.back() == 0) parts.pop_back();
  return parts;
}

/// The comparisons of one alternative; an empty list where the text is malformed.
std::vector<comparison> comparisons_of(std::string_view text) {
  std::vector<comparison> list;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return list;
    auto word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());

    comparison c;
    for (const auto& [sign, how] : {std::pair{">=", relation::at_least}, std::pair{"<=", relation::at_most},
                                    std::pair{">", relation::above}, std::pair{"<", relation::below},
                                    std::pair{"=", relation::equal}}) {
      if (!word.starts_with(sign)) continue;
      word.remove_prefix(std::string_view{sign}.size());
      c.how = how;
      break;
    }
    if (word.empty() || word.find_first_of("<>=|") != std::string_view::npos) return {};
    if (c.how != relation::equal && !version_from(word)) return {};
    c.than = word;
    list.push_back(c);
  }
}

constexpr std::string_view separator_of_alternatives = " || ";

/// The alternatives of a condition; an empty list where the text is malformed.
std::vector<std::vector<comparison>> alternatives_of(std::string_view text) {
  std::vector<std::vector<comparison>> all;
  while (true) {
    const auto end = text.find(separator_of_alternatives);
    all.push_back(comparisons_of(text.substr(0, end)));
    if (all.back().empty()) return {};
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + separator_of_alternatives.size());
  }
}

bool holds(const comparison& c, std::string_view seen) {
  const auto left = version_from(seen);
  const auto right = version_from(c.than);
  if (!left || !right) return c.how == relation::equal && seen == c.than;
  switch (c.how) {
    case relation::equal:
      return *left == *right;
    case relation::at_least:
      return *left >= *right;
    case relation::above:
      return *left > *right;
    case relation::at_most:
      return *left <= *right;
    case relation::below:
      return *left < *right;
  }
  return false;
}

std::string not_empty(const json_cursor& at) {
  auto text = at.string();
  if (text.empty()) at.fail("must not be empty");
  return text;
}

stated_rate rate_from(const json_cursor& at) {
  stated_rate stated;
  double sum = 0;
  for (const auto& item : at.at("rates").items()) {
    const auto rate = item.number();
    if (rate < 0 || rate > 1) item.fail("a rate is from 0 to 1");
    stated.rates.push_back(rate);
    sum += rate;
  }
  if (std::abs(sum - 1) > 1e-6) at.at("rates").fail(fmt::format("add up to {}, not to 1", sum));
  stated.reason = not_empty(at.at("reason"));
  return stated;
}

bool same_place(const expectation& a, const expectation& b) {
  return a.case_name == b.case_name && a.arm == b.arm && a.when.by_key == b.when.by_key;
}

std::string place_of(const expectation& e) {
  return e.source.empty() ? e.case_name + "/" + e.arm : e.source;
}

/// How much arms may copy of the lines of their cases, in bytes.
constexpr std::size_t most_shared = std::size_t{256} << 20;

/// Of the line of a case: without an arm.
expectation shared_from(const json_cursor& at) {
  if (const auto arm = at.find("arm"))
    arm->fail(
        "stands in a line of its own, behind that of its case; if an older cufault wrote this, bless it "
        "again");
  at.only({"case", "when", "stacks"});
  expectation e{
      .case_name = not_empty(at.at("case")), .when = conditions::parse(at.at("when")), .source = at.place()};
  for (const auto& item : at.at("stacks").items()) e.stacks.push_back(not_empty(item));
  if (e.stacks.empty()) at.at("stacks").fail("must not be empty: an expectation points to what was seen");
  return e;
}

/// Of the line of arms that showed the same: without an arm.
expectation outcome_from(const json_cursor& at, expectation e) {
  if (const auto arm = at.find("arm"))
    arm->fail("is a list, arms; if an older cufault wrote this, bless it again");
  at.only({"arms", "rates", "reason", "digest"});
  e.digest = not_empty(at.at("digest"));
  e.source = at.place();
  if (at.has("rates"))
    e.flaky = rate_from(at);
  else if (at.has("reason"))
    at.at("reason").fail("belongs to rates, and there are none");
  return e;
}

}  // namespace

conditions conditions::parse(const json_cursor& at) {
  conditions parsed;
  for (const auto& key : at.keys()) {
    const auto place = at.at(key);
    if (std::find(condition_keys.begin(), condition_keys.end(), key) == condition_keys.end())
      place.fail(fmt::format("unknown condition; known are {}", fmt::join(condition_keys, ", ")));
    const auto text = place.string();
    if (alternatives_of(text).empty())
      place.fail(
          R"(expected comparisons joined by spaces, such as ">=13.1 <13.2" or "9.0", and alternatives by " || ")");
    parsed.by_key[key] = text;
  }
  return parsed;
}

bool conditions::hold(const stack_keys& stack) const {
  return may_hold(stack) && std::all_of(by_key.begin(), by_key.end(), [&](const auto& condition) {
           return stack.contains(condition.first);
         });
}

bool conditions::may_hold(const stack_keys& stack) const {
  return std::all_of(by_key.begin(), by_key.end(), [&](const auto& condition) {
    const auto seen = stack.find(condition.first);
    const auto any = alternatives_of(condition.second);
    if (any.empty() || seen == stack.end()) return !any.empty();
    return std::any_of(any.begin(), any.end(), [&](const auto& all) {
      return std::all_of(all.begin(), all.end(), [&](const comparison& c) { return holds(c, seen->second); });
    });
  });
}

int conditions::specificity() const {
  int count = 0;
  for (const auto& [key, text] : by_key) {
    int least = std::numeric_limits<int>::max();
    for (const auto& all : alternatives_of(text)) {
      int of_one = 0;
      for (const auto& c : all) of_one += c.how == relation::equal ? 2 : 1;
      least = std::min(least, of_one);
    }
    count += least;
  }
  return count;
}

std::string conditions::text() const {
  std::string text;
  for (const auto& [key, comparisons] : by_key)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, comparisons);
  return text.empty() ? "any stack" : text;
}

namespace {

/// By the version in their first comparison.
std::set<std::pair<version, std::string>> sorted_alternatives(std::string_view text) {
  std::set<std::pair<version, std::string>> all;
  while (!text.empty()) {
    const std::string alternative(text.substr(0, text.find(separator_of_alternatives)));
    all.emplace(version_from(comparisons_of(alternative).at(0).than).value_or(version{}), alternative);
    text.remove_prefix(std::min(alternative.size() + separator_of_alternatives.size(), text.size()));
  }
  return all;
}

/// An alternative of the form ">=A <B".
struct range {
  std::string from_text, end_text;
  version from, end;
  [[nodiscard]] bool contains(const range& other) const { return from <= other.from && other.end <= end; }
  [[nodiscard]] bool overlaps(const range& other) const { return from < other.end && other.from < end; }
};
std::optional<range> range_of(const std::string& alternative) {
  const auto both = comparisons_of(alternative);
  if (both.size() != 2 || both[0].how != relation::at_least || both[1].how != relation::below) return {};
  const auto from = version_from(both[0].than), end = version_from(both[1].than);
  if (!from || !end) return {};
  return range{std::string(both[0].than), std::string(both[1].than), *from, *end};
}

/// Whether each version for which `inner` holds is one for which `outer` holds, as far as ranges tell.
bool is_within(const std::string& inner, const std::string& outer) {
  const auto small = range_of(inner), large = range_of(outer);
  return inner == outer || (small && large && large->contains(*small));
}

std::string text_of(const std::set<std::pair<version, std::string>>& alternatives) {
  std::string text;
  for (const auto& [lowest, alternative] : alternatives)
    text += fmt::format("{}{}", text.empty() ? "" : separator_of_alternatives, alternative);
  return text;
}

}  // namespace

std::string joined_alternatives(const std::string& one, const std::string& other) {
  auto all = sorted_alternatives(one);
  all.merge(sorted_alternatives(other));
  const auto every = all;
  std::erase_if(all, [&](const auto& inner) {
    return std::ranges::any_of(every, [&](const auto& outer) {
      if (inner.second == outer.second || !is_within(inner.second, outer.second)) return false;
      return !is_within(outer.second, inner.second) ||
             outer.second < inner.second;  // one of two spellings stays
    });
  });
  return text_of(all);
}

std::string holding_alternative(const std::string& alternatives, const std::string& version) {
  for (const auto& [lowest, alternative] : sorted_alternatives(alternatives))
    if (std::ranges::all_of(comparisons_of(alternative),
                            [&](const comparison& c) { return holds(c, version); }))
      return alternative;
  return {};
}

std::string without_alternatives(const std::string& one, const std::string& other) {
  auto all = sorted_alternatives(one);
  for (const auto& removed : sorted_alternatives(other)) {
    const auto every = all;
    for (const auto& known : every) {
      if (known.second == removed.second) {
        all.erase(known);
        continue;
      }
      const auto whole = range_of(known.second), part = range_of(removed.second);
      if (!whole || !part || !whole->overlaps(*part) || part->contains(*whole)) continue;
      all.erase(known);
      if (whole->from < part->from)
        all.merge(sorted_alternatives(fmt::format(">={} <{}", whole->from_text, part->from_text)));
      if (part->end < whole->end)
        all.merge(sorted_alternatives(fmt::format(">={} <{}", part->end_text, whole->end_text)));
    }
  }
  return text_of(all);
}

std::vector<std::string> alternatives_in(const std::string& text) {
  std::vector<std::string> all;
  for (const auto& [lowest, alternative] : sorted_alternatives(text)) all.push_back(alternative);
  return all;
}

expectation expectation_of(const std::string& case_name, const arm_result& arm) {
  expectation e{.case_name = case_name,
                .arm = arm.name,
                .digest = digest_of(arm),
                .seen = arm_plateaus(arm),
                .trials = arm.trials};
  if (!arm.races.empty() && e.seen.size() > 1) {
    e.flaky.emplace().reason = arm.races;
    for (const counted_signature& seen : distinct_signatures(arm.trials))
      e.flaky->rates.push_back(static_cast<double>(seen.trials) / static_cast<double>(arm.trials.size()));
  }
  return e;
}

std::vector<expectation> expectations_from(const std::string& name, std::string_view text) {
  std::vector<expectation> all;
  std::optional<expectation> shared;
  std::size_t room = most_shared, copied = 0;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const json_cursor at{parse_json(name, text.substr(0, end), number)};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (at.has("case")) {
      shared = shared_from(at);
      copied = end;
      continue;
    }
    if (!shared)
      at.fail(R"(arms stand in front of the line of their case: {"case": ..., "when": ..., "stacks": ...})");
    const expectation outcome = outcome_from(at, *shared);
    const auto arms = at.at("arms").items();
    if (arms.empty()) at.at("arms").fail("must not be empty");
    for (const json_cursor& arm : arms) {
      if (copied + end > room) at.fail("arms share more than fits into memory");
      room -= copied + end;
      all.push_back(outcome);
      all.back().arm = not_empty(arm);
    }
  }
  return all;
}

std::string expectations_text(std::vector<expectation> all) {
  const auto shared = [](const expectation& e) { return std::tuple{e.case_name, e.when.text(), e.stacks}; };
  const auto outcome = [](const expectation& e) {
    return e.flaky ? std::tuple{e.digest, e.flaky->rates, e.flaky->reason}
                   : std::tuple{e.digest, std::vector<double>(), std::string()};
  };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return std::pair{shared(a), a.arm} < std::pair{shared(b), b.arm};
  });
  std::string text;
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(
        first, all.end(), [&, of = shared(*first)](const expectation& e) { return shared(e) != of; });
    text += dump_json({{"case", first->case_name}, {"when", first->when.by_key}, {"stacks", first->stacks}}) +
            "\n";
    std::map<decltype(outcome(*first)), std::size_t> line_of;
    std::vector<nlohmann::ordered_json> lines;
    for (; first != last; ++first) {
      const auto [at, fresh] = line_of.try_emplace(outcome(*first), lines.size());
      if (!fresh) {
        lines[at->second]["arms"].push_back(first->arm);
        continue;
      }
      nlohmann::ordered_json j{{"arms", nlohmann::ordered_json::array({first->arm})}};
      if (first->flaky) {
        j["rates"] = first->flaky->rates;
        j["reason"] = first->flaky->reason;
      }
      j["digest"] = first->digest;
      lines.push_back(std::move(j));
    }
    for (const auto& line : lines) text += dump_json(line) + "\n";
  }
  return text;
}

expectation_set expectation_set::load(const std::filesystem::path& directory,
                                      std::filesystem::path recorded) {
  expectation_set set;
  set.recorded_ = std::move(recorded);
  std::error_code error;
  if (!std::filesystem::exists(directory, error) && !error) return set;
  std::vector<std::filesystem::path> files;
  const std::filesystem::directory_iterator listing{directory, error};
  if (error) throw input_error(fmt::format("{}: cannot be read: {}", directory.string(), error.message()));
  for (const auto& entry : listing) {
    if (entry.path().extension() == ".json")
      throw input_error(
          fmt::format("{}:1: made by an older cufault: schema 1, and this one reads {}; bless it again",
                      entry.path().string(), record_schema));
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    for (expectation& e : expectations_from(file.string(), read_text(file))) {
      if (family_of_case(e.case_name) != file.stem().string())
        throw input_error(fmt::format("{}: case: \"{}\" in the file of the family {}", e.source,
                                      one_line(e.case_name), file.stem().string()));
      for (const auto& other : set.all_)
        if (same_place(other, e))
          throw input_error(fmt::format("{}: arm: same arm and conditions as {}", e.source, other.source));
      set.all_.push_back(std::move(e));
    }
  }
  return set;
}

const record& expectation_set::record_of(const std::string& stack, const expectation& e) const {
  const auto key = std::pair{stack, family_of_case(e.case_name)};
  if (!records_.contains(key)) {
    const auto folder = recorded_ / stack;
    if (!is_stack_folder(folder))
      throw input_error(fmt::format("{}: stacks: {} is gone; restore it, or bless {}/{} again", place_of(e),
                                    folder.string(), e.case_name, e.arm));
    records_[key] = load_family(folder, key.second);
  }
  return records_.at(key);
}

bool expectation_set::holds_on(const std::string& stack, const expectation& e) const {
  return e.when.hold(keys_of(record_of(stack, e)));
}

const arm_result& expectation_set::shown_in(const std::string& stack, const expectation& e) const {
  const record& r = record_of(stack, e);
  for (const case_result& c : r.cases) {
    if (c.name != e.case_name) continue;
    for (const arm_result& a : c.arms) {
      if (a.name != e.arm) continue;
      if (!e.when.hold(keys_of(r)))
        throw input_error(fmt::format("{}: when: does not hold on {} itself", place_of(e), stack));
      return a;
    }
  }
  throw input_error(fmt::format("{}: stacks: {} has no {}/{}; restore it, or bless the arm again",
                                place_of(e), (recorded_ / stack).string(), e.case_name, e.arm));
}

void expectation_set::resolve(expectation& e) const {
  const auto require_digest_of = [&](const arm_result& a, const std::string& where) {
    if (observed(a) && same_digest(digest_of(a), e.digest)) return;
    throw input_error(fmt::format(
        "{}: digest: {}/{} in {} shows \"{}\"; restore the record, or bless the arm again", place_of(e),
        e.case_name, e.arm, where, observed(a) ? one_line(digest_of(a)) : "nothing that can be compared"));
  };
  arm_result pooled;
  std::vector<std::string> folders;
  for (const std::string& stack : e.stacks) {
    pool(pooled, shown_in(stack, e));
    folders.push_back((recorded_ / stack).string());
  }
  if (pooled.races.empty()) {
    for (std::size_t i = 0; i < folders.size(); ++i) require_digest_of(shown_in(e.stacks[i], e), folders[i]);
  } else {
    require_digest_of(pooled, fmt::format("{}", fmt::join(folders, ", ")));
  }
  e.seen = arm_plateaus(pooled);
  e.from_the_start = !pooled.against.empty();
  e.trials = std::move(pooled.trials);
  if (e.flaky && e.flaky->rates.size() != e.seen.size())
    throw input_error(
        fmt::format("{}: rates: {} for {} signatures", place_of(e), e.flaky->rates.size(), e.seen.size()));
}

const expectation* expectation_set::find(const std::string& case_name, const std::string& arm,
                                         const stack_keys& stack) const {
  const expectation* best = nullptr;
  const expectation* rival = nullptr;
  for (const auto& e : all_) {
    if (e.case_name != case_name || e.arm != arm || !e.when.hold(stack)) continue;
    if (best == nullptr || e.when.specificity() > best->when.specificity()) {
      best = &e;
      rival = nullptr;
    } else if (e.when.specificity() == best->when.specificity()) {
      rival = &e;
    }
  }
  if (rival != nullptr)
    throw input_error(fmt::format("{}: {}/{}: no more specific than {}, and both hold on this stack",
                                  place_of(*rival), case_name, arm, place_of(*best)));
  if (best == nullptr || !best->seen.empty()) return best;
  const auto place = std::tuple{best->case_name, best->arm, best->when.by_key};
  const auto known = resolved_.find(place);
  if (known != resolved_.end()) return &known->second;
  expectation copy = *best;
  resolve(copy);
  return &(resolved_[place] = std::move(copy));
}

bool expectation_set::may_cover(const std::string& case_name, const std::string& arm,
                                const stack_keys& stack) const {
  return std::any_of(all_.begin(), all_.end(), [&](const expectation& e) {
    return e.case_name == case_name && e.arm == arm && e.when.may_hold(stack);
  });
}

bool expectation::rests_on(const std::string& folder) const {
  return std::find(stacks.begin(), stacks.end(), folder) != stacks.end();
}

void expectation_set::put(expectation e) {
  changed_.push_back(family_of_case(e.case_name));
  std::erase_if(resolved_, [&](const auto& known) {
    return std::get<0>(known.first) == e.case_name && std::get<1>(known.first) == e.arm;
  });
  const auto same =
      std::find_if(all_.begin(), all_.end(), [&](const expectation& other) { return same_place(other, e); });
  if (same != all_.end()) all_.erase(same);
  if (!e.stacks.empty()) all_.push_back(std::move(e));
}

void expectation_set::save(const std::filesystem::path& directory) const {
  std::filesystem::create_directories(directory);
  for (const auto& family : std::set<std::string>(changed_.begin(), changed_.end())) {
    std::vector<expectation> of_family;
    for (const auto& e : all_)
      if (family_of_case(e.case_name) == family) of_family.push_back(e);
    write_whole(directory / (family + ".jsonl"), expectations_text(std::move(of_family)));
  }
}

}  // namespace cufault
