// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/expectation.hpp"

#include "reports/json_input.hpp"
#include "reports/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

constexpr int expectation_schema = 1;
constexpr std::array<std::string_view, 7> condition_keys{
    "cublas", "cublaslt", "driver", "runtime", "compute_capability", "module_loading", "other_cublas"};

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

/// The comparisons of a condition; an empty list where the text is malformed.
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
    if (word.empty() || word.find_first_of("<>=") != std::string_view::npos) return {};
    if (c.how != relation::equal && !version_from(word)) return {};
    c.than = word;
    list.push_back(c);
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

std::vector<signature> signatures_from(const json_cursor& at) {
  std::vector<signature> list;
  for (const auto& item : at.items()) {
    auto s = signature_from(item);
    if (!list.empty() && list.back() == s) item.fail("equal to the one before it, which no run can match");
    list.push_back(std::move(s));
  }
  if (list.empty()) at.fail("must not be empty");
  return list;
}

stated_rate rate_from(const json_cursor& at, const std::vector<signature>& signatures) {
  stated_rate stated;
  double sum = 0;
  for (const auto& item : at.at("rates").items()) {
    const auto rate = item.number();
    if (rate < 0 || rate > 1) item.fail("a rate is from 0 to 1");
    stated.rates.push_back(rate);
    sum += rate;
  }
  if (stated.rates.size() != signatures.size())
    at.at("rates").fail(fmt::format("{} rates for {} signatures", stated.rates.size(), signatures.size()));
  if (std::abs(sum - 1) > 1e-6) at.at("rates").fail(fmt::format("add up to {}, not to 1", sum));
  for (std::size_t i = 0; i < signatures.size(); ++i)
    if (std::count(signatures.begin(), signatures.end(), signatures[i]) > 1)
      at.at("signatures").items()[i].fail("stands twice, so that its rate is unclear");
  stated.reason = not_empty(at.at("reason"));
  if (at.has("also"))
    for (const auto& item : at.at("also").items()) stated.also.push_back(not_empty(item));
  return stated;
}

nlohmann::ordered_json file_entry(const expectation& e) {
  nlohmann::ordered_json j;
  j["arm"] = e.arm;
  j["when"] = nlohmann::ordered_json(e.when.json());
  j["signatures"] = nlohmann::ordered_json(nlohmann::json(e.signatures));
  if (e.flaky) {
    j["rates"] = e.flaky->rates;
    j["reason"] = e.flaky->reason;
    if (!e.flaky->also.empty()) j["also"] = e.flaky->also;
  }
  j["record"] = e.record;
  return j;
}

bool same_place(const expectation& a, const expectation& b) {
  return a.case_name == b.case_name && a.arm == b.arm && a.when.by_key == b.when.by_key;
}

std::string place_of(const expectation& e) {
  return e.source.empty() ? e.case_name + "/" + e.arm : e.source;
}

}  // namespace

conditions conditions::parse(const json_cursor& at) {
  conditions parsed;
  for (const auto& key : at.keys()) {
    const auto place = at.at(key);
    if (std::find(condition_keys.begin(), condition_keys.end(), key) == condition_keys.end())
      place.fail(fmt::format("unknown condition; known are {}", fmt::join(condition_keys, ", ")));
    const auto text = place.string();
    if (comparisons_of(text).empty())
      place.fail(R"(expected comparisons joined by spaces, such as ">=13.1 <13.2" or "9.0")");
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
    const auto list = comparisons_of(condition.second);
    return !list.empty() &&
           (seen == stack.end() || std::all_of(list.begin(), list.end(),
                                               [&](const comparison& c) { return holds(c, seen->second); }));
  });
}

int conditions::specificity() const {
  int count = 0;
  for (const auto& [key, text] : by_key)
    for (const auto& c : comparisons_of(text)) count += c.how == relation::equal ? 2 : 1;
  return count;
}

nlohmann::json conditions::json() const {
  return nlohmann::json(by_key);
}

std::string conditions::text() const {
  std::string text;
  for (const auto& [key, comparisons] : by_key)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, comparisons);
  return text.empty() ? "any stack" : text;
}

std::vector<expectation> expectations_from(const json_cursor& top, std::string_view expected_case) {
  if (const auto schema = top.at("schema").integer(); schema != expectation_schema)
    top.at("schema").fail(fmt::format("schema {}, but this build reads {} only", schema, expectation_schema));
  top.only({"schema", "case", "expectations"});
  const auto case_name = not_empty(top.at("case"));
  if (case_name != expected_case)
    top.at("case").fail(fmt::format("\"{}\" in a file named for \"{}\"", case_name, expected_case));

  std::vector<expectation> list;
  for (const auto& at : top.at("expectations").items()) {
    at.only({"arm", "when", "signatures", "record", "rates", "reason", "also"});
    expectation e{.case_name = case_name,
                  .arm = not_empty(at.at("arm")),
                  .when = conditions::parse(at.at("when")),
                  .signatures = signatures_from(at.at("signatures")),
                  .flaky = std::nullopt,
                  .record = not_empty(at.at("record")),
                  .source = at.place()};
    if (at.has("rates"))
      e.flaky = rate_from(at, e.signatures);
    else
      for (const char* key : {"reason", "also"})
        if (at.has(key)) at.at(key).fail("belongs to rates, and there are none");
    for (const auto& other : list)
      if (same_place(other, e)) at.fail(fmt::format("same arm and conditions as {}", other.source));
    list.push_back(std::move(e));
  }
  return list;
}

expectation_set expectation_set::load(const std::filesystem::path& directory) {
  expectation_set set;
  std::error_code error;
  if (!std::filesystem::exists(directory, error) && !error) return set;
  std::vector<std::filesystem::path> files;
  const std::filesystem::directory_iterator listing{directory, error};
  if (error) throw input_error(fmt::format("{}: cannot be read: {}", directory.string(), error.message()));
  for (const auto& entry : listing)
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files)
    for (auto& e : expectations_from(json_cursor{read_json(file)}, file.stem().string()))
      set.all_.push_back(std::move(e));
  return set;
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
  return best;
}

bool expectation_set::may_cover(const std::string& case_name, const std::string& arm,
                                const stack_keys& stack) const {
  return std::any_of(all_.begin(), all_.end(), [&](const expectation& e) {
    return e.case_name == case_name && e.arm == arm && e.when.may_hold(stack);
  });
}

void expectation_set::put(expectation e) {
  if (std::find(changed_.begin(), changed_.end(), e.case_name) == changed_.end())
    changed_.push_back(e.case_name);
  const auto same =
      std::find_if(all_.begin(), all_.end(), [&](const expectation& other) { return same_place(other, e); });
  if (same == all_.end())
    all_.push_back(std::move(e));
  else
    *same = std::move(e);
}

void expectation_set::save(const std::filesystem::path& directory) const {
  std::filesystem::create_directories(directory);
  for (const auto& case_name : changed_) {
    nlohmann::ordered_json file;
    file["schema"] = expectation_schema;
    file["case"] = case_name;
    file["expectations"] = nlohmann::ordered_json::array();
    for (const auto& e : all_)
      if (e.case_name == case_name) file["expectations"].push_back(file_entry(e));
    write_whole(directory / (case_name + ".json"), file.dump(2) + "\n");
  }
}

}  // namespace cufault
