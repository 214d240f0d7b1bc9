// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/observation.hpp"

#include "reports/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <utility>

namespace cufault {
namespace {

constexpr std::string_view completed = "completed";
constexpr std::string_view never_returned = "never returned";
constexpr std::string_view right_numbers = "RIGHT_NUMBERS";
constexpr std::string_view wrong_numbers = "WRONG_NUMBERS";

constexpr std::array arm_kinds{std::pair{arm_kind::control, "control"}, std::pair{arm_kind::fault, "fault"},
                               std::pair{arm_kind::remedy, "remedy"},
                               std::pair{arm_kind::dead_end, "dead_end"}};
constexpr std::array outcomes{
    std::pair{outcome::completed, "completed"}, std::pair{outcome::crashed, "crashed"},
    std::pair{outcome::timed_out, "timed_out"}, std::pair{outcome::not_provoked, "not_provoked"},
    std::pair{outcome::harness_failed, "harness_failed"}};

template <typename Table, typename Enum>
std::string name_in(const Table& table, Enum value) {
  for (const auto& [known, name] : table)
    if (known == value) return name;
  return "unknown";
}

template <typename Table>
auto value_in(const Table& table, const json_cursor& at) {
  const auto text = at.string();
  std::string names;
  for (const auto& [known, name] : table) {
    if (text == name) return known;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  at.fail(fmt::format("expected one of {}", names));
}

bool any_failing(const std::vector<step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const step& s) { return !is_success(s.status); });
}

bool any_with(const std::vector<step>& steps, std::string_view status) {
  return std::any_of(steps.begin(), steps.end(), [&](const step& s) { return s.status == status; });
}

std::string outcome_text(const observation& o) {
  const auto where = o.in_flight.empty() ? std::string{} : " in " + function_of(o.in_flight);
  if (o.ended == outcome::timed_out) return "timed out" + where;
  if (o.ended != outcome::crashed) return std::string{completed};
  if (!o.signal && o.exit_code) return fmt::format("crashed: exit {}{}", *o.exit_code, where);
  if (!o.why.empty()) return fmt::format("crashed: {}{}", o.why, where);
  return fmt::format("crashed: signal {}{}", o.signal.value_or(0), where);
}

std::string describe_step(const step& s) {
  return fmt::format("{}: {}{}", s.call, s.status, s.detail.empty() ? "" : " (" + s.detail + ")");
}

/// A table of calls is too long to be read in a line: how many came to what.
std::string describe_table(const std::vector<step>& steps) {
  std::map<std::string, int> by_status;
  for (const step& s : steps) ++by_status[s.status];
  std::vector<std::pair<int, std::string>> most_first;
  for (const auto& [status, times] : by_status) most_first.emplace_back(-times, status);
  std::sort(most_first.begin(), most_first.end());
  std::string text = fmt::format("{} calls", steps.size());
  for (const auto& [times, status] : most_first)
    text += fmt::format("{} {} {}",
                        times == most_first.front().first && status == most_first.front().second ? ":" : ",",
                        -times, status);
  return text;
}

/// Long loops of equal calls are one entry with a count.
std::string describe_steps(const std::vector<step>& steps) {
  constexpr int readable = 40;
  std::string text;
  int entries = 0;
  for (auto run = steps.begin(); run != steps.end(); ++entries) {
    if (entries == readable) return describe_table(steps);
    const auto end = std::find_if(run, steps.end(), [&](const step& s) { return s != *run; });
    const auto times = end - run;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", describe_step(*run),
                        times > 1 ? fmt::format(" x{}", times) : "");
    run = end;
  }
  return text;
}

int int_from(const json_cursor& at) {
  const auto wide = at.integer();
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    at.fail(fmt::format("{} does not fit 32 bits", wide));
  return static_cast<int>(wide);
}

// JSON has no infinity and no NaN, but a case may well measure one.
nlohmann::json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_from(const json_cursor& at) {
  if (!at.value().is_string()) return at.number();
  const auto text = at.string();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  at.fail(R"(expected a number, "nan", "inf" or "-inf")");
}

std::string string_or(const json_cursor& at, std::string_view key, std::string otherwise = {}) {
  return at.has(key) ? at.at(key).string() : std::move(otherwise);
}

// A misspelt word in an expectation would otherwise be compared for ever and never match.
std::string one_of(const json_cursor& at, std::initializer_list<std::string_view> words) {
  auto text = at.string();
  if (std::find(words.begin(), words.end(), text) == words.end())
    at.fail(fmt::format("expected one of {}", fmt::join(words, ", ")));
  return text;
}

std::string context_from(const json_cursor& at) {
  return one_of(at, {"usable", "damaged", "unchecked", "none"});
}

std::string outcome_text_from(const json_cursor& at) {
  auto text = at.string();
  if (text != completed && !text.starts_with("crashed: ") && !text.starts_with("timed out"))
    at.fail(R"(expected "completed", "crashed: ..." or "timed out ...")");
  return text;
}

template <typename Read>
auto list_or_none(const json_cursor& at, std::string_view key, Read read) {
  std::vector<decltype(read(at))> list;
  if (!at.has(key)) return list;
  for (const auto& item : at.at(key).items()) list.push_back(read(item));
  return list;
}

nlohmann::json call_json(const call_record& c) {
  nlohmann::json j{
      {"text", c.text}, {"status", c.status}, {"value", c.value}, {"ms", number_json(c.milliseconds)}};
  if (!c.detail.empty()) j["detail"] = c.detail;
  if (!c.last_error.empty()) j["last_error"] = c.last_error;
  if (c.after_remedy) j["after_remedy"] = true;
  return j;
}

call_record call_from(const json_cursor& at) {
  at.only({"text", "status", "value", "detail", "last_error", "ms", "after_remedy"});
  return {.text = at.at("text").string(),
          .status = at.at("status").string(),
          .value = int_from(at.at("value")),
          .detail = string_or(at, "detail"),
          .last_error = string_or(at, "last_error"),
          .milliseconds = number_from(at.at("ms")),
          .after_remedy = at.has("after_remedy") && at.at("after_remedy").boolean()};
}

memory_sample memory_from(const json_cursor& at) {
  at.only({"at", "free", "total"});
  return {at.at("at").string(), at.at("free").unsigned_integer(), at.at("total").unsigned_integer()};
}

measurement measurement_from(const json_cursor& at) {
  at.only({"name", "value", "unit"});
  return {at.at("name").string(), number_from(at.at("value")), string_or(at, "unit")};
}

finding finding_from(const json_cursor& at) {
  at.only({"claim", "holds", "why"});
  return {at.at("claim").string(), at.at("holds").boolean(), at.at("why").string()};
}

nlohmann::json steps_json(const std::vector<step>& steps) {
  auto list = nlohmann::json::array();
  for (const auto& s : steps) {
    list.push_back({{"call", s.call}, {"status", s.status}});
    if (!s.detail.empty()) list.back()["detail"] = s.detail;
  }
  return list;
}

std::vector<step> steps_from(const json_cursor& at) {
  std::vector<step> steps;
  for (const auto& item : at.items()) {
    item.only({"call", "status", "detail"});
    steps.push_back({item.at("call").string(), item.at("status").string(), string_or(item, "detail")});
  }
  return steps;
}

/// What a kernel dies of at a wild address depends on what lies there.
std::string without_chance(std::string detail) {
  constexpr std::string_view one = "then an error of a wild address";
  for (const std::string_view other : {"then cudaErrorIllegalAddress", "then cudaErrorInvalidAddressSpace",
                                       "then cudaErrorIllegalInstruction", "then cudaErrorInvalidPc",
                                       "then cudaErrorHardwareStackError", "then cudaErrorLaunchFailure"})
    if (const auto at = detail.find(other); at != std::string::npos) detail.replace(at, other.size(), one);
  return detail;
}

}  // namespace

std::string function_of(std::string_view call_text) {
  const auto end = call_text.find('(');
  if (end == std::string_view::npos) return std::string{call_text};
  auto name = call_text.substr(0, end);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return std::string{name};
}

bool is_success(std::string_view status) {
  return status == "CUBLAS_STATUS_SUCCESS" || status == "cudaSuccess" || status == "CUDA_SUCCESS" ||
         status == right_numbers || status == "LOADED" || status.ends_with("_AS_ASKED");
}

bool comparable(const observation& o) {
  return o.ended == outcome::completed || o.ended == outcome::crashed ||
         (o.ended == outcome::timed_out && !ran_out_of_time(o));
}

bool ran_out_of_time(const observation& o) {
  const bool in_call = !o.in_flight.empty() || (!o.calls.empty() && o.calls.back().status.empty());
  const bool at_exit = o.context != "unchecked";  // which is told behind all calls
  return o.ended == outcome::timed_out && !in_call && !at_exit;
}

std::string why_not_comparable(const observation& o) {
  if (!o.why.empty()) return o.why;
  if (!ran_out_of_time(o)) return "no reason was given";
  return fmt::format(
      "time ran out {}; run it beside less, give the arm a longer timeout, or observe the call that waits",
      o.calls.empty() ? "before the first observed call" : "behind " + o.calls.back().text);
}

signature signature_of(const observation& o) {
  signature s{.fault = {},
              .after = {},
              .applied = !o.applied.empty(),
              .outcome = outcome_text(o),
              .context = o.context,
              .numbers = "unchecked"};
  for (const auto& c : o.calls) {
    auto& part = c.after_remedy ? s.after : s.fault;
    part.push_back({function_of(c.text), c.status.empty() ? std::string{never_returned} : c.status,
                    without_chance(c.detail)});
    s.applied = s.applied || c.after_remedy;
  }
  // A call in flight counts, whether or not the reader of the channel kept a record of it.
  if (!o.in_flight.empty() && (o.calls.empty() || !o.calls.back().status.empty())) {
    auto& part = s.applied ? s.after : s.fault;
    part.push_back({function_of(o.in_flight), std::string{never_returned}});
  }
  if (any_with(s.fault, wrong_numbers) || any_with(s.after, wrong_numbers))
    s.numbers = "wrong";
  else if (any_with(s.fault, right_numbers) || any_with(s.after, right_numbers))
    s.numbers = "right";
  return s;
}

std::vector<signature> signatures_of(const std::vector<observation>& trials) {
  std::vector<signature> plateaus;
  for (const auto& o : trials) {
    auto s = signature_of(o);
    if (o.refined && severity(s) < 2) continue;
    if (plateaus.empty() || plateaus.back() != s) plateaus.push_back(std::move(s));
  }
  return plateaus;
}

bool failed(const signature& s) {
  if (s.outcome != completed || s.context == "damaged") return true;
  if (s.applied) {
    const bool right =
        std::any_of(s.after.begin(), s.after.end(), [](const step& x) { return x.status == right_numbers; });
    return s.after.empty() || any_failing(s.after) || (s.context != "none" && !right);
  }
  return s.numbers == "wrong" || any_failing(s.fault);
}

int severity(const signature& s) {
  if (s.outcome != completed || s.context == "damaged" || s.numbers == "wrong") return 2;
  return any_failing(s.fault) || any_failing(s.after) ? 1 : 0;
}

std::string describe(const signature& s) {
  std::string text = s.fault.empty() ? std::string{s.applied ? "" : "no calls"} : describe_steps(s.fault);
  if (s.applied)
    text += fmt::format("{}then {}", text.empty() ? "" : "; ",
                        s.after.empty() ? std::string{"nothing"} : describe_steps(s.after));
  if (s.outcome != completed) text += "; " + s.outcome;
  if (s.context != "unchecked") text += "; context " + s.context;
  if (s.numbers != "unchecked") text += "; numbers " + s.numbers;
  return text;
}

std::string describe(const std::vector<signature>& plateaus) {
  std::string text;
  for (const auto& s : plateaus) text += fmt::format("{}{}", text.empty() ? "" : " | ", describe(s));
  return text;
}

std::vector<std::string> differing_steps(const signature& expected, const signature& seen) {
  std::vector<std::string> found;
  for (const auto part : {&signature::fault, &signature::after}) {
    const auto &was = expected.*part, &is = seen.*part;
    if (was.size() != is.size()) return {};
    for (std::size_t i = 0; i < was.size(); ++i) {
      if (was[i].call != is[i].call) return {};
      if (was[i] != is[i])
        found.push_back(fmt::format("expected {}; seen {}", describe_step(was[i]), describe_step(is[i])));
    }
  }
  return found;
}

std::string to_string(arm_kind k) {
  return name_in(arm_kinds, k);
}
std::string to_string(outcome o) {
  return name_in(outcomes, o);
}
arm_kind arm_kind_from(const json_cursor& at) {
  return value_in(arm_kinds, at);
}

void to_json(nlohmann::json& j, const observation& o) {
  j = {{"ended", to_string(o.ended)}, {"context", o.context}, {"ms", number_json(o.milliseconds)}};
  j["calls"] = nlohmann::json::array();
  for (const auto& c : o.calls) j["calls"].push_back(call_json(c));
  if (o.rung) j["rung"] = *o.rung;
  if (o.refined) j["refined"] = true;
  if (o.exit_code) j["exit_code"] = *o.exit_code;
  if (o.signal) j["signal"] = *o.signal;
  for (const auto& [key, text] :
       {std::pair{"applied", &o.applied}, std::pair{"why", &o.why}, std::pair{"in_flight", &o.in_flight},
        std::pair{"stdout", &o.stdout_text}, std::pair{"stderr", &o.stderr_text}})
    if (!text->empty()) j[key] = *text;
  for (const auto& m : o.memory)
    j["memory"].push_back({{"at", m.at}, {"free", m.free_bytes}, {"total", m.total_bytes}});
  for (const auto& m : o.measurements)
    j["measurements"].push_back({{"name", m.name}, {"value", number_json(m.value)}, {"unit", m.unit}});
  for (const auto& f : o.findings)
    j["findings"].push_back({{"claim", f.claim}, {"holds", f.holds}, {"why", f.why}});
  if (!o.library_log.empty()) j["library_log"] = o.library_log;
}

void to_json(nlohmann::json& j, const signature& s) {
  j = {
      {"fault", steps_json(s.fault)}, {"outcome", s.outcome}, {"context", s.context}, {"numbers", s.numbers}};
  if (s.applied) j["after"] = steps_json(s.after);
}

observation observation_from(const json_cursor& at) {
  at.only({"rung", "refined", "calls", "applied", "ended", "why", "in_flight", "exit_code", "signal",
           "context", "memory", "measurements", "findings", "library_log", "stdout", "stderr", "ms"});
  observation o;
  if (at.has("rung")) o.rung = at.at("rung").integer();
  if (at.has("refined")) o.refined = at.at("refined").boolean();
  for (const auto& item : at.at("calls").items()) o.calls.push_back(call_from(item));
  o.applied = string_or(at, "applied");
  o.ended = value_in(outcomes, at.at("ended"));
  o.why = string_or(at, "why");
  o.in_flight = string_or(at, "in_flight");
  if (at.has("exit_code")) o.exit_code = int_from(at.at("exit_code"));
  if (at.has("signal")) o.signal = int_from(at.at("signal"));
  o.context = context_from(at.at("context"));
  o.memory = list_or_none(at, "memory", memory_from);
  o.measurements = list_or_none(at, "measurements", measurement_from);
  o.findings = list_or_none(at, "findings", finding_from);
  o.library_log = list_or_none(at, "library_log", [](const json_cursor& line) { return line.string(); });
  o.stdout_text = string_or(at, "stdout");
  o.stderr_text = string_or(at, "stderr");
  o.milliseconds = number_from(at.at("ms"));
  return o;
}

signature signature_from(const json_cursor& at) {
  at.only({"fault", "after", "outcome", "context", "numbers"});
  signature s{.fault = steps_from(at.at("fault")),
              .after = {},
              .applied = at.has("after"),
              .outcome = outcome_text_from(at.at("outcome")),
              .context = context_from(at.at("context")),
              .numbers = one_of(at.at("numbers"), {"right", "wrong", "unchecked"})};
  if (s.applied) s.after = steps_from(at.at("after"));
  return s;
}

}  // namespace cufault
