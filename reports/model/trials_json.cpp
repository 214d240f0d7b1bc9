// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Trials as lines of records have them.
#include "reports/model/trials_json.hpp"

#include "reports/base/json_fields.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/model/times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace cufault {
namespace {

std::string context_from(const json_cursor& at) {
  auto text = at.string();
  constexpr std::array words{"usable", "damaged", "unchecked", "none"};
  if (std::find(words.begin(), words.end(), text) == words.end())
    at.fail(fmt::format("expected one of {}", fmt::join(words, ", ")));
  return text;
}

// A trial is its place and what was measured of it, which are its own, and what it saw, which trials of an arm can share.

template <class Fields>
void describe_place(observation& o, Fields& f) {
  f("level", o.level);
  f("refined", o.refined);
  f("gpu", o.gpu);
}

template <class Fields>
void describe_end(observation& o, Fields& f) {
  f("ended", o.ended, outcome::completed);
  f("why", o.why);
  f("signal", o.signal);
  f("applied", o.applied);
  f("context", o.context, std::string("usable"));
}

template <class Fields>
void describe_texts(observation& o, Fields& f) {
  f("log", o.library_log);
  f("stdout", o.stdout_text);
  f("stderr", o.stderr_text);
}

// Samples of memory, measurements and notes are lists of their members: ["rows", 148, "calls"].

/// Writes members to a list; of those that are not required the last are left out where they are equal to their defaults.
class item_writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value, const T& otherwise = T{}) {
    const auto kept = kept_;
    required(name, value);
    if (value == otherwise) kept_ = kept;
  }
  template <class T>
  void required(const char* /*name*/, const T& value) {
    items_.push_back(write_json(value));
    kept_ = items_.size();
  }
  nlohmann::ordered_json finish(std::size_t without = 0) {
    items_.get_ref<nlohmann::ordered_json::array_t&>().resize(kept_ - without);
    return std::move(items_);
  }

 private:
  nlohmann::ordered_json items_ = nlohmann::ordered_json::array();
  std::size_t kept_ = 0;
};

/// Reads members from a list of at least so many. Throws input_error.
class item_reader {
 public:
  item_reader(const json_cursor& from, std::size_t least) : items_(from.items()) {
    if (items_.size() < least)
      from.fail(fmt::format("{} items, and at least {} are needed", items_.size(), least));
  }
  template <class T>
  void operator()(const char* name, T& value) {
    required(name, value);
  }
  template <class T>
  void required(const char* /*name*/, T& value) {
    value = next_ < items_.size() ? read_json_value<T>(items_[next_]) : T{};
    ++next_;
  }
  void finish() const {
    if (next_ < items_.size()) items_[next_].fail(fmt::format("there is no item behind the first {}", next_));
  }

 private:
  const std::vector<json_cursor> items_;
  std::size_t next_ = 0;
};

template <class T>
void write_lists(field_writer& f, const char* name, const std::vector<T>& values) {
  if (values.empty()) return;
  auto& lists = f.json[name] = nlohmann::ordered_json::array();
  for (const T& value : values) {
    item_writer items;
    describe_fields(const_cast<T&>(value),
                    items);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    std::size_t unsaid = 0;
    if constexpr (std::is_same_v<T, memory_sample>) unsaid = value.total_bytes == 0 ? 1 : 0;
    lists.push_back(items.finish(unsaid));
  }
}

/// Of all three, two members are needed.
template <class T>
void read_lists(field_reader& f, const char* name, std::vector<T>& values) {
  f.other(name);
  values.clear();
  const auto lists = f.at.find(name);
  if (!lists) return;
  for (const auto& item : lists->items()) {
    item_reader items{item, 2};
    describe_fields(values.emplace_back(), items);
    items.finish();
  }
}

// What calls of tables of arguments wrote is stated once for all: "written": ["C"] in the trial means that each call that did what it should
// wrote C, and each other call nothing, but for those whose facts say otherwise, or null where it is not known.

constexpr const char* written_fact = "written";
using usual_words = std::optional<std::vector<std::string>>;

fact usual_of(const step& what, const std::vector<std::string>& written) {
  return what.ok ? written : std::vector<std::string>{};
}

/// Nothing where it is known of fewer than half of the calls.
usual_words usually_written(const std::vector<call_record>& calls) {
  std::map<std::vector<std::string>, std::size_t> of_ok;
  std::size_t known = 0;
  for (const call_record& c : calls) {
    const auto stated = c.what.facts.find(written_fact);
    if (stated == c.what.facts.end()) continue;
    ++known;
    if (c.what.ok) ++of_ok[std::get<std::vector<std::string>>(stated->second)];
  }
  if (of_ok.empty() || known < 2 || 2 * known < calls.size()) return std::nullopt;
  return std::max_element(of_ok.begin(), of_ok.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

nlohmann::ordered_json call_json(call_record c, const std::vector<std::string>& written) {
  const auto stated = c.what.facts.find(written_fact);
  const bool known = stated != c.what.facts.end();
  if (known && stated->second == usual_of(c.what, written)) c.what.facts.erase(stated);
  auto j = call_json(c);
  if (known) return j;
  if (j.is_string()) j = {{"step", std::move(j)}};
  j["facts"][written_fact] = nullptr;
  return j;
}

void write_measured(field_writer& f, const observation& o) {
  write_lists(f, "memory", o.memory);
  write_lists(f, "measurements", o.measurements);
  f("ms", o.milliseconds);
}

void read_measured(field_reader& f, observation& o) {
  read_lists(f, "memory", o.memory);
  read_lists(f, "measurements", o.measurements);
  f.other("ms");
  const auto ms = f.at.find("ms");
  o.milliseconds = ms ? milliseconds_from(*ms) : 0;
}

/// The exit code that goes without saying.
std::optional<int> usual_exit_code(outcome ended) {
  return ended == outcome::completed ? std::optional(0) : std::nullopt;
}

/// What the program's last error is without being said: of a row of a sweep and of a call that has not returned nobody read it.
std::string usual_last_error(const call_record& c) {
  return c.swept || c.what.status.empty() ? "" : "cudaSuccess";
}

// Most statuses are of cuBLAS: this much of them is left out, and what is written begins with '_'. No library has a status that does.
constexpr std::string_view unwritten_prefix = "CUBLAS_STATUS";

bool is_of_cublas(const step_name& name) {
  return success_of(name.api).starts_with(unwritten_prefix);
}

std::string_view written_status(const step& what) {
  std::string_view status = what.status;
  if (is_of_cublas(what.name) && status.starts_with("CUBLAS_STATUS_"))
    status.remove_prefix(unwritten_prefix.size());
  return status;
}

std::string status_from(std::string_view written, const step_name& name) {
  if (!written.starts_with('_') || !is_of_cublas(name)) return std::string(written);
  return std::string(unwritten_prefix).append(written);
}

nlohmann::ordered_json seen_json(const observation& o) {
  auto& plain = const_cast<observation&>(o);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
  field_writer f;
  describe_end(plain, f);
  if (o.exit_code && o.exit_code != usual_exit_code(o.ended)) f.required("exit_code", *o.exit_code);
  const auto written = usually_written(o.calls);
  if (written) f.json[written_fact] = *written;
  auto calls = nlohmann::ordered_json::array(), after = calls;
  for (const auto& c : o.calls)
    (c.after_remedy ? after : calls).push_back(written ? call_json(c, *written) : call_json(c));
  f.json["calls"] = std::move(calls);
  if (!after.empty()) f.json["after"] = std::move(after);
  write_lists(f, "notes", o.notes);
  describe_texts(plain, f);
  return std::move(f.json);
}

/// With `seen` between what is the trial's own.
nlohmann::ordered_json with_own(const observation& o, const nlohmann::ordered_json& seen) {
  auto& plain = const_cast<observation&>(o);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
  field_writer f;
  describe_place(plain, f);
  f.json.update(seen);
  std::size_t place = 0;
  for (const bool after : {false, true})
    for (const auto& c : o.calls) {
      if (c.after_remedy != after) continue;
      if (c.milliseconds != 0) f.json["times"][std::to_string(place)] = c.milliseconds;
      ++place;
    }
  write_measured(f, o);
  return std::move(f.json);
}

void read_times(observation& o, const json_cursor& at) {
  for (auto& c : o.calls) c.milliseconds = 0;
  const auto times = at.find("times");
  if (!times) return;
  for (const auto& place : times->keys()) {
    std::size_t i = 0;
    const auto [end, defect] = std::from_chars(place.data(), place.data() + place.size(), i);
    const auto time = times->at(place);
    if (defect != std::errc() || end != place.data() + place.size() || i >= o.calls.size())
      time.fail(fmt::format("there are {} calls, counted from 0", o.calls.size()));
    o.calls[i].milliseconds = milliseconds_from(time);
  }
}

void read_calls(observation& o, const json_cursor& list, bool after, const usual_words& written) {
  for (const auto& item : list.items()) {
    if (!o.calls.empty() && o.calls.back().what.status.empty())
      item.fail("stands behind a call that has not returned");
    o.calls.push_back(call_from(item));
    const bool stated = !item.is_string() && item.has("facts") && item.at("facts").has(written_fact);
    if (written && !stated)
      o.calls.back().what.facts.emplace(written_fact, usual_of(o.calls.back().what, *written));
    o.calls.back().after_remedy = after;
  }
}

observation like(const observation& earlier, const json_cursor& at) {
  observation o = earlier;
  field_reader f{at};
  f.other("like");
  describe_place(o, f);
  f.other("times");
  read_measured(f, o);
  f.finish();
  read_times(o, at);
  return o;
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
    const bool logged = line.starts_with('[') && std::any_of(ends.begin(), ends.end(), [&](const auto& each) {
                          return line.ends_with(each);
                        });
    if (!logged) kept += text.substr(0, end + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kept;
}

}  // namespace

std::size_t bytes_of_trial(const observation& o) {
  std::size_t bytes = sizeof o + o.why.size() + o.applied.size() + o.context.size() + o.gpu.size() +
                      o.stdout_text.size() + o.stderr_text.size();
  for (const auto& m : o.measurements) bytes += sizeof m + m.name.size() + m.unit.size();
  for (const auto& m : o.memory) bytes += sizeof m + m.at.size();
  for (const auto& c : o.calls) {
    bytes += sizeof c + c.what.name.variant.size() + c.what.status.size() +
             (c.swept ? 256 + 32 * c.swept->codes.size() : 0);
    for (const auto& [name, value] : c.what.facts)
      bytes += 128 + std::visit(
                         [](const auto& v) -> std::size_t {
                           if constexpr (requires { v.size(); })
                             return v.size() * sizeof *v.begin();
                           else
                             return 0;
                         },
                         value);
  }
  for (const auto& n : o.notes) bytes += sizeof n + n.name.size() + n.text.size();
  for (const auto& line : o.library_log) bytes += sizeof(std::string) + line.size();
  return bytes;
}

nlohmann::ordered_json call_json(const call_record& c) {
  const step& what = c.what;
  std::string text = describe(what.name);
  if (what.numbers != numbers_found::unchecked) text += ", " + name_of(what.numbers);
  const bool says_it = what.ok && what.status == success_of(what.name.api);
  if (!says_it) text += what.status.empty() ? ":" : fmt::format(": {}", written_status(what));
  field_writer f;
  f.required("step", text);
  // What has not returned is not ok, and cannot be read as a success.
  f("ok", what.ok && !says_it && !what.status.empty());
  f("last_error", c.last_error, usual_last_error(c));
  if (!what.facts.empty()) f.json["facts"] = facts_json(what.facts);
  f("swept", c.swept);
  if (f.json.size() == 1) return f.json["step"];
  return std::move(f.json);
}

call_record call_from(const json_cursor& at) {
  const bool alone = at.is_string();
  const json_cursor said = alone ? at : at.at("step");
  const std::string_view text = said.text();
  const auto colon = std::min(text.find(':'), text.size());
  const std::string_view words = text.substr(0, colon);
  const auto comma = std::min(words.find(", "), words.size());
  const auto space = std::min(words.find(' '), comma);

  call_record c;
  c.what.name.api = words.substr(0, space);
  if (space < comma) c.what.name.variant = words.substr(space + 1, comma - space - 1);
  if (const auto defect = defect_of(c.what.name); !defect.empty()) said.fail(defect);
  if (comma < words.size()) {
    const auto numbers = words.substr(comma + 2);
    if (numbers != "right" && numbers != "wrong")
      said.fail(fmt::format("numbers are right or wrong, not \"{}\"", numbers));
    c.what.numbers = numbers == "right" ? numbers_found::right : numbers_found::wrong;
  }
  if (colon == text.size()) {
    c.what.status = success_of(c.what.name.api);
    c.what.ok = true;
  } else {
    const auto status = text.substr(colon + 1);
    c.what.status = status_from(status.substr(status.starts_with(' ') ? 1 : 0), c.what.name);
  }
  c.last_error = usual_last_error(c);
  if (alone) return c;
  field_reader f{at};
  f.other("step");
  bool ok = false;
  f("ok", ok);
  f("swept", c.swept);
  f("last_error", c.last_error, usual_last_error(c));
  f.other("facts");
  f.finish();
  if (ok) c.what.ok = !c.what.status.empty();
  if (const auto facts = at.find("facts")) c.what.facts = facts_from(*facts);
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
    if (std::find(once.begin(), once.end(), line) == once.end()) once.push_back(std::move(line));
  o.library_log = std::move(once);
}

nlohmann::ordered_json observation_json(const observation& o) {
  return with_own(o, seen_json(o));
}

observation observation_from(const json_cursor& at) {
  observation o;
  field_reader f{at};
  describe_place(o, f);
  describe_end(o, f);
  f("exit_code", o.exit_code, usual_exit_code(o.ended));
  usual_words written;
  f(written_fact, written);
  f.other("calls");
  f.other("after");
  read_lists(f, "notes", o.notes);
  describe_texts(o, f);
  f.other("times");
  read_measured(f, o);
  f.finish();
  if (at.has("context")) static_cast<void>(context_from(at.at("context")));
  const auto calls = at.at("calls");
  o.calls.reserve(calls.size());
  read_calls(o, calls, false, written);
  if (const auto after = at.find("after")) read_calls(o, *after, true, written);
  read_times(o, at);
  return o;
}

nlohmann::ordered_json trials_json(const std::vector<observation>& trials) {
  auto list = nlohmann::ordered_json::array();
  std::vector<std::pair<std::size_t, nlohmann::ordered_json>> each;  // first of those that saw the same
  for (const auto& o : trials) {
    auto seen = seen_json(o);
    const auto known =
        std::find_if(each.begin(), each.end(), [&](const auto& e) { return e.second == seen; });
    list.push_back(with_own(o, known == each.end() ? seen : nlohmann::ordered_json{{"like", known->first}}));
    if (known == each.end()) each.emplace_back(list.size() - 1, std::move(seen));
  }
  return list;
}

std::vector<observation> trials_from(const json_cursor& list, std::size_t& room) {
  std::vector<observation> trials;
  for (const auto& item : list.items()) {
    const auto same = item.find("like");
    if (!same) {
      trials.push_back(observation_from(item));
      continue;
    }
    const auto index = same->unsigned_integer();
    if (index >= trials.size())
      same->fail(fmt::format("{} trials stand in front of this one, counted from 0", trials.size()));
    const auto bytes = bytes_of_trial(trials[index]);
    if (bytes > room) same->fail("more is repeated than fits into memory; state what the trials saw");
    room -= bytes;
    auto copy = like(trials[index], item);
    trials.push_back(std::move(copy));
  }
  return trials;
}

}  // namespace cufault
