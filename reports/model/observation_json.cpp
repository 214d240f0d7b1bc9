// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The JSON of calls and trials: the same in frames, in records of runs and in lines of stacks.
#include "reports/base/json_fields.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/model/observation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cufault {

template <>
nlohmann::ordered_json write_json(const fact_map& facts) {
  return facts_json(facts);
}
template <>
fact_map read_json_value(const json_cursor& at) {
  return facts_from(at);
}

namespace {

constexpr std::array context_states{"usable", "damaged", "unchecked", "none"};

/// What the program's last error is unless it is stated. Nobody reads it for a row of a sweep or a call that has not returned.
std::string usual_last_error(const call_record& c) {
  return c.swept || c.what.status.empty() ? "" : "cudaSuccess";
}

/// The exit code unless it is stated.
std::optional<int> usual_exit_code(outcome ended) {
  return ended == outcome::completed ? std::optional(0) : std::nullopt;
}

template <class Fields>
void describe_call(call_record& c, Fields& f, call_members which) {
  step& what = c.what;
  if (which != call_members::result) {
    f.required("api", what.name.api);
    f("variant", what.name.variant);
  }
  if (which == call_members::name) return;
  f("status", what.status);
  f("ok", what.ok, !what.status.empty());
  f("numbers", what.numbers, numbers_found::unchecked);
  f("last_error", c.last_error, usual_last_error(c));
  f("facts", what.facts);
  f("swept", c.swept);
  f("driver", c.driver);
  f("ms", c.milliseconds);
}

template <class Fields>
void describe_trial(observation& o, Fields& f) {
  f("level", o.level);
  f("refined", o.refined);
  f("gpu", o.gpu);
  f("ended", o.ended, outcome::completed);
  f("why", o.why);
  f("signal", o.signal);
  if (std::is_same_v<Fields, field_reader> || o.exit_code)  // there is no value to write
    f("exit_code", o.exit_code, usual_exit_code(o.ended));
  f("applied", o.applied);
  f("context", o.context, std::string("usable"));
}

template <class Fields>
void describe_rest(observation& o, Fields& f) {
  f("memory", o.memory);
  f("measurements", o.measurements);
  f("notes", o.notes);
  f("log", o.library_log);
  f("stdout", o.stdout_text);
  f("stderr", o.stderr_text);
  f("ms", o.milliseconds);
}

void check_time(const json_cursor& at, double ms) {
  if (!(ms >= 0 && std::isfinite(ms)))
    at.at("ms").fail(fmt::format("a time must be 0 or more, found {}", ms));
}

void read_calls(observation& o, const json_cursor& list, bool after) {
  for (const auto& item : list.items()) {
    if (!o.calls.empty() && o.calls.back().what.status.empty())
      item.fail("stands behind a call that has not returned");
    o.calls.push_back(call_from(item));
    o.calls.back().after_remedy = after;
  }
}

/// With three digits.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr);
}

/// Without lines that the log has: "[2026-11-21 23:56:42][cublasLt][5595][Error][cublasLtMatmul] refused" is "cublasLtMatmul: refused" there.
std::string without_logged(std::string_view text, const std::vector<std::string>& log) {
  std::vector<std::string> ends;
  for (const auto& line : log)
    if (const auto colon = line.find(": "); colon != line.npos)
      ends.push_back("[" + line.substr(0, colon) + "] " + line.substr(colon + 2));
  std::string kept;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    const bool logged = line.starts_with('[') &&
                        std::ranges::any_of(ends, [&](const auto& each) { return line.ends_with(each); });
    if (!logged) kept += text.substr(0, end + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kept;
}

}  // namespace

nlohmann::ordered_json call_json(const call_record& c, call_members which) {
  field_writer f;
  describe_call(const_cast<call_record&>(c), f, which);  // only read
  return std::move(f.json);
}

call_record call_from(const json_cursor& at, call_members which, std::string_view other) {
  call_record c;
  step& what = c.what;
  field_reader f{at};
  describe_call(c, f, which);
  if (!other.empty()) f.other(other);
  f.finish();
  if (which != call_members::result)
    if (const auto defect = defect_of(what.name); !defect.empty()) at.at("api").fail(defect);
  if (what.ok && what.status.empty()) at.at("ok").fail("the call has no status: it did not return");
  if (c.swept && !at.has("last_error")) c.last_error.clear();
  if (c.milliseconds != 0) check_time(at, c.milliseconds);
  return c;
}

void shorten(observation& o) {
  o.gpu.clear();
  o.milliseconds = rounded(o.milliseconds);
  // How long a call took is for readers, and says something where it took longer than the first calls of any process.
  constexpr double long_call = 300;
  for (auto& c : o.calls) c.milliseconds = c.milliseconds < long_call ? 0 : rounded(c.milliseconds);
  // What was free when contexts were opened, of which each process of a table's rows has one, and no other sample to compare it with.
  if (std::ranges::all_of(o.memory,
                          [](const memory_sample& m) { return m.at == memory_sample::context_opened; }))
    std::erase_if(o.memory, [](const memory_sample& m) { return !nearly_full(m); });
  o.stdout_text = without_logged(o.stdout_text, o.library_log);
  constexpr std::size_t longest = 2048, line_between = 64;
  for (std::string* text : {&o.stdout_text, &o.stderr_text}) {
    if (text->size() <= longest) continue;
    // Between characters of UTF-8.
    const auto continues = [&](std::size_t at) {
      return (static_cast<unsigned char>((*text)[at]) & 0xc0) == 0x80;
    };
    constexpr std::size_t kept = (longest - line_between) / 2;  // so that it is not shortened again
    std::size_t head = kept, tail = text->size() - kept;
    while (head > 0 && continues(head)) --head;
    while (tail < text->size() && continues(tail)) ++tail;
    *text = fmt::format("{}\n[... {} bytes ...]\n{}", text->substr(0, head), tail - head, text->substr(tail));
  }
  std::vector<std::string> once;
  for (auto& line : o.library_log)
    if (std::ranges::find(once, line) == once.end()) once.push_back(std::move(line));
  o.library_log = std::move(once);
}

nlohmann::ordered_json observation_json(const observation& o) {
  auto& plain = const_cast<observation&>(o);  // only read
  field_writer f;
  describe_trial(plain, f);
  auto calls = nlohmann::ordered_json::array(), after = calls;
  for (const auto& c : o.calls) (c.after_remedy ? after : calls).push_back(call_json(c));
  f.json["calls"] = std::move(calls);
  if (!after.empty()) f.json["after"] = std::move(after);
  describe_rest(plain, f);
  return std::move(f.json);
}

observation observation_from(const json_cursor& at) {
  observation o;
  field_reader f{at};
  describe_trial(o, f);
  f.other("calls");
  f.other("after");
  describe_rest(o, f);
  f.finish();
  if (std::ranges::find(context_states, o.context) == context_states.end())
    at.at("context").fail(fmt::format("expected one of {}", fmt::join(context_states, ", ")));
  if (o.milliseconds != 0) check_time(at, o.milliseconds);
  const auto calls = at.at("calls");
  o.calls.reserve(calls.size());
  read_calls(o, calls, false);
  if (const auto after = at.find("after")) read_calls(o, *after, true);
  return o;
}

}  // namespace cufault
