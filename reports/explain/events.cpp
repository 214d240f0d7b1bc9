// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/events.hpp"

#include "reports/base/json_input.hpp"
#include "reports/explain/line_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

constexpr std::size_t most_events = 400, most_values = 8, longest_words = 200;
/// A call that stands up to so many lines before or behind a status is the one that returned it.
constexpr std::uint64_t lines_apart = 3;
constexpr std::size_t most_ranks = 64;
/// So much of two lines is looked at where a failure may be wrapped over both.
constexpr std::size_t wrapped = 160;
/// A message that is explained alone has no more lines.
constexpr std::uint64_t lines_of_a_message = 3;
/// What was said of memory last is kept.
constexpr std::size_t most_memory = 16;
/// At most so much is as good as nothing: with that, records show cublasCreate fail.
constexpr double little_memory = 256.0 * (1 << 20), small_part = 0.02, large_part = 0.1;
constexpr std::uint64_t lines_to_request = 12, lines_of_table = 40;
/// A traceback that ends so many lines before the log does ended the process: launchers add some.
constexpr std::uint64_t lines_behind_exception = 15;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "12.8" of "12.8.1": what distinguishes toolkits.
std::string minor_version(std::string_view version) {
  const auto dot = version.find('.');
  if (dot == std::string_view::npos) return std::string(version);
  const auto second = version.find('.', dot + 1);
  return std::string(version.substr(0, second));
}

/// 1208 of "12.8"; nothing for what is no version.
std::optional<std::int64_t> version_number(std::string_view version) {
  const auto dot = version.find('.');
  const auto major = number_in(version.substr(0, dot));
  if (!major || *major > 10000) return std::nullopt;
  if (dot == std::string_view::npos) return *major * 100;
  const auto second = version.find('.', dot + 1);
  const auto minor =
      number_in(version.substr(dot + 1, second == std::string_view::npos ? second : second - dot - 1));
  if (!minor || *minor > 99) return std::nullopt;
  return *major * 100 + *minor;
}

bool is_success(std::string_view name) {
  return name.ends_with("_SUCCESS") || name == "cudaSuccess" || name == "ncclSuccess";
}

/// "CUBLAS_STATUS_INTERNAL_ERROR" of cublas_status_internal_error, if there is such an error: people type it so, and some programs print it.
std::string status_as_in_header(const lexicon& known, std::string_view word) {
  // "cudnnStatusArchMismatch": as Python wrappers name their exceptions.
  if (const status_library* const of = word.find("Status") != word.npos ? library_of_status(word) : nullptr)
    for (const library_code& code : of->codes) {
      std::string letters(code.name);
      std::erase(letters, '_');
      lower_case(letters, letters);
      std::string lower;
      lower_case(word, lower);
      if (letters == lower) return std::string(code.name);
    }
  if (word.find("_status_") == word.npos && !word.starts_with("cuda_error_")) return std::string(word);
  std::string name(word);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const status_library* const of = library_of_status(name);
  const bool there =
      of != nullptr && std::ranges::find(of->codes, name, &library_code::name) != of->codes.end();
  return there || known.canonical(name) != name ? name : std::string(word);
}

/// Whether behind the name of a call stands that it failed: "cublasSgemm failed", "cudaMalloc(&p, n) failed". Not "if cudaMalloc failed",
/// and not a line of source that prints it. Both in lower case.
bool says_that_it_failed(std::string_view before, std::string_view behind) {
  for (const std::string_view source : {"printf", "throw ", "raise ", "cerr", "//"})
    if (before.find(source) != std::string_view::npos) return false;
  if (behind.find(" test suite") != std::string_view::npos) return false;
  while (before.ends_with(' ')) before.remove_suffix(1);
  for (const std::string_view word : {"if", "when", "whether", "case", "unless", "no"})
    if (before == word || before.ends_with(" " + std::string(word))) return false;
  for (const std::string_view said : {"error executing", "error calling", "failed to execute",
                                      "failed to call", "failure in", "error in"}) {
    if (!before.ends_with(said)) continue;
    before.remove_suffix(said.size());
    while (before.ends_with(' ')) before.remove_suffix(1);
    for (const std::string_view word : {"no", "0", "without", "any"})
      if (before.ends_with(word) &&
          (before.size() == word.size() || !is_word(before[before.size() - word.size() - 1])))
        return false;
    return !behind.starts_with("'s");
  }
  if (behind.starts_with('(')) {
    const auto close = behind.substr(0, longest_words).find(')');
    if (close == std::string_view::npos) return false;
    behind.remove_prefix(close + 1);
  }
  while (!behind.empty() && (behind.front() == ' ' || behind.front() == ':')) behind.remove_prefix(1);
  for (const std::string_view word : {"execution ", "call ", "has "})
    if (behind.starts_with(word)) behind.remove_prefix(word.size());
  for (const std::string_view end : {"failed", "failure", "returned an error", "returned error"})
    if (behind.starts_with(end) && (behind.size() == end.size() || !is_word(behind[end.size()]))) return true;
  return false;
}

/// Whether a line says only that the call at its begin failed: "cublasCreate failed:", "curandGenerateUniform(engine, values)".
bool is_all_that_is_said(std::string_view said) {
  while (!said.empty() && is_word(said.front())) said.remove_prefix(1);
  while (!said.empty() && std::string_view(" :=.").find(said.back()) != std::string_view::npos)
    said.remove_suffix(1);
  return said.empty() || said.ends_with("failed") || said.ends_with("failure") || said.ends_with("error") ||
         (said.front() == '(' && said.back() == ')');
}

/// Whether a line tells of an exception or an error beside what is known to be harmless. In lower case.
bool tells_of_an_error(std::string_view lower) {
  return std::ranges::any_of(std::array{"error:", "exception:", " exceeds "}, [&](std::string_view word) {
    return lower.find(word) != std::string_view::npos;
  });
}

/// Elements of "65536, 40000"; 0 for what is no shape.
double elements_of(std::string_view shape) {
  double product = 1;
  std::size_t extents = 0;
  for (std::size_t at = 0; at < shape.size();) {
    if (shape[at] < '0' || shape[at] > '9') {
      if (std::string_view(", x").find(shape[at]) == std::string_view::npos) return 0;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < shape.size() && shape[end] >= '0' && shape[end] <= '9') ++end;
    product *= static_cast<double>(number_in(shape.substr(at, end - at)).value_or(0));
    ++extents;
    at = end;
  }
  return extents > 1 ? product : 0;
}

std::string memory_text(double bytes) {
  constexpr double mib = 1 << 20, gib = 1 << 30;
  if (bytes < mib) return fmt::format("{:.0f} bytes", bytes);
  std::string number = fmt::format("{:.2f}", bytes / (bytes < gib ? mib : gib));
  while (number.ends_with('0')) number.pop_back();
  if (number.ends_with('.')) number.pop_back();
  return number + (bytes < gib ? " MiB" : " GiB");
}

/// "1.5" and "GiB", "8,000,000" and "bytes".
std::optional<double> amount_of(std::string number, std::string unit) {
  std::erase(number, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  lower_case(std::string(unit), unit);
  const bool decimal = unit.size() == 2 && unit[1] == 'b';
  constexpr std::string_view sizes = "bkmgt";
  const auto size = unit.empty() ? 0 : sizes.find(unit.front());
  if (size == std::string_view::npos) return std::nullopt;
  for (std::size_t i = 0; i < size; ++i) value *= decimal ? 1000 : 1024;
  return value;
}

/// The head of a fatal line of glog and absl: "F0716 10:02:13.511120".
bool is_fatal_of_glog(std::string_view line) {
  constexpr std::size_t digits = 4;
  return line.size() > digits + 1 && line[0] == 'F' && line[digits + 1] == ' ' &&
         std::ranges::all_of(line.substr(1, digits), [](char c) { return c >= '0' && c <= '9'; });
}

/// Where the second message in a line of the driver's log begins, or the end.
std::size_t next_driver_message(std::string_view line) {
  constexpr std::string_view source = "][CUDA][";
  const auto first = line.find(source);
  if (first == std::string_view::npos) return line.size();
  const auto second = line.find(source, first + 1);
  if (second == std::string_view::npos) return line.size();
  const auto thread = line.rfind('[', second);
  const auto time = thread == 0 || thread == std::string_view::npos ? thread : line.rfind('[', thread - 1);
  return time == std::string_view::npos || time <= first ? line.size() : time;
}

/// "a == cudaErrorCudartUnloading" is a condition in a program's source, not what a call returned.
bool is_compared(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t before = begin;
  while (before > 0 && text[before - 1] == ' ') --before;
  if (before > 1 && text[before - 1] == '=' && (text[before - 2] == '=' || text[before - 2] == '!'))
    return true;
  const auto after = text.find_first_not_of(' ', end);
  return after != std::string_view::npos && after + 1 < text.size() && text[after + 1] == '=' &&
         (text[after] == '=' || text[after] == '!');
}

/// Common words, which people also say of what did not happen. Formats of programs are no words of people.
bool can_be_denied(const event_pattern& e) {
  return e.role == event_role::fatal || e.id.starts_with("error.") || e.id.starts_with("process.") ||
         e.id.starts_with("kernel.");
}

/// By its text, of another library than `of`; the runtime's texts are its own.
bool is_of_another(const log_event& e, const status_library& of) {
  const status_library* const its = library_of_status(e.status);
  return e.role == event_role::failure && e.id.starts_with("error.") && its != nullptr &&
         its->prefix != "cuda" && its->status_prefix != of.status_prefix;
}

const toolkit* toolkit_of(const lexicon& known, std::string_view version) {
  const auto asked = version_number(version);
  const toolkit* found = nullptr;
  for (const toolkit& t : known.toolkits)
    if (asked && version_number(t.version) <= asked) found = &t;
  return found;
}

}  // namespace

event_finder::event_finder(const lexicon& known)
    : known_(known),
      words_(std::span<const std::string>{}),
      lines_([this](const log_line& l) { look_at(l); }) {
  for (const error_name& e : known.errors) {
    for (const auto* texts : {&e.texts, &e.common_texts})
      if (!texts->empty())
        made_.push_back({.id = "error." + e.name,
                         .role = event_role::failure,
                         .match = *texts,
                         .status = e.name,
                         .needs = texts == &e.texts ? event_needs::nothing : event_needs::gpu});
    if (e.short_texts.empty()) continue;
    event_pattern behind{.id = "error." + e.name, .role = event_role::failure, .match = {}, .status = e.name};
    for (const std::string& text : e.short_texts)
      for (const std::string& before : known.grammar.before_texts) behind.match.push_back(before + text);
    made_.push_back(std::move(behind));
  }
  for (const gpu_model& g : known.gpus)
    made_.push_back({.id = "gpu." + g.family,
                     .role = event_role::condition,
                     .match = g.match,
                     .fact = fmt::format("capability={}", g.capability)});
  std::vector<std::string> words;
  std::map<std::string, std::size_t> index;
  const auto look_for = [&](const std::string& text) -> looked_for& {
    const auto [at, is_new] = index.try_emplace(text, words.size());
    if (is_new) {
      words.push_back(text);
      of_word_.emplace_back();
    }
    return of_word_[at->second];
  };
  for (const std::string& text : known.grammar.begin_names) look_for(text).begins_names = true;
  for (const std::string& text : known.grammar.gpu_words) look_for(text).of_gpus = true;
  const auto add = [&](const event_pattern& e) {
    for (const std::string& text : e.match) {
      text_pattern pattern(text);
      look_for(pattern.literal()).patterns.push_back(static_cast<std::uint32_t>(patterns_.size()));
      const bool once = e.role == event_role::condition && pattern.names().empty() && !e.last;
      const bool plain = e.id.starts_with("error.") && text.find_first_of("*{") == std::string::npos;
      patterns_.push_back({.event = &e, .pattern = std::move(pattern), .once = once, .plain = plain});
    }
  };
  for (const event_pattern& e : known.events) add(e);
  for (const event_pattern& e : made_) add(e);
  words_ = word_finder(words);
}

void event_finder::mark_survived(std::uint64_t line) {
  for (log_event& e : all_.events) {
    if (line - e.line > lines_apart || e.role == event_role::condition || e.role == event_role::aside)
      continue;
    e.survived = true;
    all_.tried_again = line;
  }
  if (fatal_exception_ && line - fatal_exception_->line <= lines_apart) fatal_exception_.reset();
}

void event_finder::add_framework(const std::string& name, framework_told how) {
  const auto same = std::ranges::find(frameworks_, name, [](const auto& f) { return f.first; });
  if (same == frameworks_.end())
    frameworks_.emplace_back(name, how);
  else
    same->second = std::max(same->second, how);
  if (in_traceback_ && of_traceback_.empty() && how != framework_told::named) of_traceback_ = name;
}

/// Of places "free", "total", "asked" and "used": with a unit behind the number, in its name, or in a place "free_unit".
std::optional<event_finder::memory_said> event_finder::memory_in(
    const std::map<std::string, std::string>& values) {
  const auto amount = [&](const std::string& name) -> std::optional<double> {
    for (const auto& [place, value] : values) {
      if (place == name)
        if (const auto unit = values.find(name + "_unit"); unit != values.end())
          return amount_of(value, unit->second);
      if (place != name + "_unit" && place.starts_with(name + "_"))
        return amount_of(value, place.substr(name.size() + 1));
    }
    return std::nullopt;
  };
  memory_said said{.free = amount("free"), .total = amount("total"), .asked = amount("asked")};
  if (!said.total) said.total = amount("capacity");
  if (const auto used = amount("used"); used && said.total) {
    said.free = *said.total - *used;
    said.later = true;
  }
  if (!said.free && !said.asked) return std::nullopt;
  return said;
}

void event_finder::add_fact(const std::string& name, const std::string& value) {
  auto& values = all_.facts[name];
  if (values.size() < most_values && std::ranges::find(values, value) == values.end())
    values.push_back(one_line(value));
}

void event_finder::keep(log_event e) {
  if (e.rank < 0) e.rank = rank_;
  if (!e.seconds) e.seconds = seconds_;
  if (auto& ranks = all_.ranks; e.role == event_role::failure && e.rank >= 0 && ranks.size() < most_ranks)
    if (const auto at = std::ranges::lower_bound(ranks, e.rank); at == ranks.end() || *at != e.rank)
      ranks.insert(at, e.rank);
  const auto same = std::ranges::find_if(all_.events, [&](const log_event& other) {
    return other.id == e.id && other.status == e.status && other.call == e.call && other.lacks == e.lacks;
  });
  if (same != all_.events.end()) {
    const std::uint64_t times = same->times + 1;
    if (same->survived && !e.survived) *same = e;
    // Ranks write when they can: the one that failed first may stand behind others.
    if (same->seconds && e.seconds && comparable_times(*same->seconds, *e.seconds) &&
        *e.seconds < *same->seconds)
      *same = std::move(e);
    same->times = times;
  } else if (all_.events.size() < most_events) {
    all_.events.push_back(std::move(e));
  } else {
    ++all_.dropped;
  }
}

/// Names of errors and functions, wherever they stand.
void event_finder::look_for_names(const log_line& line, std::vector<log_event>& found) {
  const std::string_view text = line.text;
  const std::size_t by_texts = found.size();
  struct named {
    std::size_t at;
    std::string name;
  };
  std::vector<named> calls;
  std::vector<named> statuses;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (std::string_view("CFNcgn").find(word.front()) == std::string_view::npos) {
      // So begins none of them.
    } else if (const std::string name = status_as_in_header(known_, word); known_.is_status(name)) {
      if (!is_success(name) && !is_only_spoken_of(lower_, at, end, known_.grammar) &&
          !is_compared(text, at, end))
        statuses.push_back({at, known_.canonical(name)});
    } else if (word.starts_with("cu") || word.starts_with("n") || word.starts_with("gpu")) {
      if (std::string call = function_called(word); !call.empty()) calls.push_back({at, std::move(call)});
    }
    at = end;
  }
  for (const named& s : statuses) {
    const bool there = std::ranges::any_of(found, [&](const log_event& e) { return e.status == s.name; });
    if (there || s.name.size() > 80) continue;
    found.push_back({.id = "error." + s.name,
                     .role = event_role::failure,
                     .status = s.name,
                     .words = s.name,
                     .line = line.number});
  }
  const bool is_near = line.number - last_call_line_ <= lines_apart;
  for (const told_status& t : statuses_told(text, lower_, is_near ? last_call_ : std::string(), known_)) {
    const auto says_it = [&](const log_event& e) {
      return e.role == event_role::failure &&
             (t.in_words ? !is_of_another(e, *t.library) : library_of_status(e.status) == t.library);
    };
    if (std::ranges::any_of(found, says_it) || is_success(t.status) ||
        is_only_spoken_of(lower_, t.begin, t.end, known_.grammar))
      continue;
    found.push_back({.id = "error." + t.status,
                     .role = event_role::failure,
                     .status = t.status,
                     .words = one_line(text.substr(t.begin, std::min(t.end - t.begin, longest_words))),
                     .line = line.number});
  }
  // Words that libraries share are those of the library that the line names.
  std::vector<const status_library*> of_names;
  for (std::size_t i = by_texts; i < found.size(); ++i)
    of_names.push_back(library_of_status(found[i].status));
  const auto texts_end = found.begin() + static_cast<std::ptrdiff_t>(by_texts);
  found.erase(std::remove_if(found.begin(), texts_end,
                             [&](const log_event& e) {
                               return std::ranges::any_of(of_names, [&](const status_library* of) {
                                 return of != nullptr && of->prefix != "cuda" && is_of_another(e, *of);
                               });
                             }),
              texts_end);
  for (log_event& e : found) {
    if (e.role != event_role::failure || !e.call.empty()) continue;
    if (!calls.empty())
      e.call = calls.front().name;
    else if (!last_call_.empty() && line.number - last_call_line_ <= lines_apart)
      e.call = last_call_;
  }
  if (calls.empty()) return;
  const bool tells = std::ranges::any_of(found, [](const log_event& e) {
    return e.role == event_role::failure || e.role == event_role::cause || e.role == event_role::aside;
  });
  for (const named& c : calls) {
    if (tells || c.name.size() < 3 || (c.name.starts_with("cu") && c.name[2] < 'a')) continue;
    std::size_t end = c.at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view lower = lower_;
    if (!says_that_it_failed(lower.substr(0, c.at), lower.substr(end))) continue;
    keep({.id = "call.failed",
          .role = event_role::failure,
          .status = std::string(status_failed),
          .call = c.name,
          .words = one_line(text.substr(c.at, std::min(text.size() - c.at, longest_words))),
          .line = line.number});
    break;
  }
  last_call_ = calls.back().name;
  last_call_line_ = line.number;
  // A failure whose call stands below it.
  if (!found.empty() || all_.events.empty()) return;
  for (auto e = all_.events.rbegin(); e != all_.events.rend() && line.number - e->line <= lines_apart; ++e)
    if (e->role == event_role::failure && e->call.empty() && e->times == 1) e->call = calls.front().name;
}

void event_finder::look_for_exceptions(const log_line& line) {
  if (line.text.find("Traceback (most recent call last)") != std::string_view::npos) {
    in_traceback_ = true;
    of_traceback_.clear();
  }
  if ((!in_traceback_ && line.number > lines_of_a_message) || line.text.starts_with(' ')) return;
  // Behind what a launcher or a logger puts in front, too.
  for (std::size_t at = 0; at < line.text.size() && at < longest_words; ++at) {
    const bool begins =
        at == 0 || (at > 1 && line.text[at - 1] == ' ' &&
                    std::string_view("]):|").find(line.text[at - 2]) != std::string_view::npos);
    if (!begins || !is_exception(line.text.substr(at))) continue;
    log_event found{.id = "end.exception",
                    .role = event_role::condition,
                    .words = one_line(line.text.substr(at, longest_words)),
                    .line = line.number};
    if (!fatal_exception_ && names_gpu_library(line.text.substr(at), known_.grammar)) {
      fatal_exception_ = found;
      fatal_exception_->id = "fatal.exception";
      fatal_exception_->role = event_role::fatal;
    }
    if (std::exchange(in_traceback_, false)) exception_ = std::move(found);
    return;
  }
}

/// A failure of which the first words end one line and the others begin the next, as boxes and narrow terminals break them.
void event_finder::look_across(const log_line& line) {
  const std::string_view text = without_box(line.text);
  if (!tail_.empty() && !text.empty()) {
    const std::string_view head = text.substr(0, wrapped);
    for (const char* const between : {" ", ""}) {
      if (*between == 0 && (!is_word(tail_.back()) || !is_word(head.front()))) break;
      const std::string joined = tail_ + between + std::string(head);
      look_beside_noise({line.number, joined}, tail_.size());
    }
  }
  tail_.clear();
  if (text.empty()) return;
  lower_case(text.substr(text.size() > wrapped ? text.size() - wrapped : 0), lower_);
  if (lower_.find("error") != std::string::npos || lower_.find("cuda") != std::string::npos)
    tail_ = text.substr(text.size() > wrapped ? text.size() - wrapped : 0);
}

/// A reason in words, a code, or both. The codes of questions, and those of a driver that does not exist yet, fail nothing by themselves.
void event_finder::look_at_driver(const log_line& line, const driver_log_line& said) {
  const driver_message_parts& parts = said.message;
  const bool goes_on = parts.text.empty() && said.thread == driver_thread_;
  if (!parts.text.empty()) {
    noise_.clear();
    harmless_text_ = look_beside_noise({line.number, parts.text}) || said.severity != "E";
  }
  const bool harmless = (goes_on || !parts.text.empty()) && harmless_text_;
  const driver_message message{.function = std::string(parts.function),
                               .code = std::string(parts.code),
                               .text = goes_on ? driver_text_ : std::string(parts.text)};
  if (!parts.text.empty()) {
    driver_thread_ = said.thread;
    driver_text_ = parts.text;
  } else {
    driver_thread_.clear();
  }
  const std::string code = "CUDA_ERROR_" + message.code;
  const bool is_known = known_.canonical(code) != code;
  const bool fails = !message.code.empty() && is_known && !known_.is_question(code, message.function);
  // NCCL and the runtime ask for kernels that not every GPU has.
  if (harmless && goes_on && message.code == "NO_BINARY_FOR_GPU" && message.function == "cuLibraryGetKernel")
    return;
  if (!fails && (harmless || (is_known && message.text.empty()))) return;
  std::string function = message.function;
  if (function.size() > 3 && function[function.size() - 3] == '_') function.resize(function.size() - 3);
  keep({.id = fails ? fmt::format("driver.{}.{}", message.code, function) : "driver.said",
        .role = fails ? event_role::failure : event_role::aside,
        .source = "the driver",
        .status = fails ? known_.canonical(code) : "",
        .call = std::move(function),
        .words = one_line(message.code.empty() ? message.text : describe(message)),
        .line = line.number,
        .anywhere = fails,
        .driver = true});
}

void event_finder::look_at(const log_line& line) {
  rank_ = -1;
  seconds_.reset();
  in_commit_ = is_head_of_commit(line.text) || (in_commit_ && is_of_commit(line.text));
  if (in_commit_) return;
  look_for_exceptions(line);
  // The driver cuts a long message and goes on in the same line with the next one.
  bool of_driver = false;
  for (std::string_view rest = line.text; !rest.empty();) {
    const std::string_view message = rest.substr(0, next_driver_message(rest));
    const auto said = driver_log_line_of(message);
    if (!said) break;
    const line_origin origin = origin_of(message);
    rank_ = origin.rank;
    seconds_ = origin.seconds;
    of_driver = all_.names_gpu = true;
    look_at_driver(line, *said);
    rest.remove_prefix(message.size());
  }
  if (of_driver) return;
  look_for_number_below(line);
  look_at_text(line);
  look_across(line);
  if (is_fatal_of_glog(line.text) && names_gpu_library(line.text, known_.grammar))
    keep({.id = "fatal.glog",
          .role = event_role::fatal,
          .words = one_line(line.text.substr(0, longest_words)),
          .line = line.number});
}

/// A number alone below a call that failed is what it returned.
void event_finder::look_for_number_below(const log_line& line) {
  const auto value = all_.events.empty() ? std::nullopt : number_in(line.text);
  if (!value) return;
  log_event& failed = all_.events.back();
  const status_library* const of = library_of_status(failed.call);
  if (failed.id != "call.failed" || of == nullptr) return;
  if (failed.line + 2 == line.number) failed.status = status_failed;  // it was the first of a list
  if (failed.line + 1 != line.number || !is_all_that_is_said(failed.words)) return;
  if (const std::string_view status = known_.by_code(*of, *value); !status.empty() && !is_success(status))
    failed.status = known_.canonical(status);
}

void event_finder::look_at_text(const log_line& line) {
  if (!look_beside_noise(line)) return;
  // What is harmless is left out, and the rest is looked at where it tells of an error.
  std::string rest(line.text);
  for (int again = 0; again < 8 && !noise_.empty(); ++again) {
    for (const auto& [begin, end] : noise_) rest.replace(begin, end - begin, end - begin, ' ');
    std::string lower;
    lower_case(rest, lower);
    if (!tells_of_an_error(lower) || !look_beside_noise({line.number, rest})) return;
  }
}

/// Whether something in the line is known to be harmless: then it is in noise_, and nothing else was looked for.
/// `across`: only failures that begin before it and end behind it are looked for.
bool event_finder::look_beside_noise(const log_line& line, std::size_t across) {
  noise_.clear();
  hits_.clear();
  words_.find(line.text, hits_);
  if (hits_.empty()) return false;
  lower_case(line.text, lower_);
  const auto look_for_origin = [&] {
    if (rank_ >= 0 || seconds_) return;
    const line_origin origin = origin_of(line.text);
    rank_ = origin.rank;
    seconds_ = origin.seconds;
  };
  std::optional<bool> spoken;  // looked for where it matters
  const auto is_spoken = [&] {
    if (!spoken) spoken = speaks_of_no_failure(lower_, known_.grammar);
    return *spoken;
  };
  std::vector<log_event> found;
  std::vector<std::pair<std::size_t, std::size_t>> order;  // where it begins, index in found
  std::vector<std::size_t> ends;                           // of the words of each in found
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::pair<std::string, framework_told>> frameworks;
  std::optional<memory_said> memory;
  const auto take_memory = [&](const std::optional<memory_said>& said) {
    if (!memory) memory = said;
    if (!said) return;
    if (!memory->asked) memory->asked = said->asked;
    if (!memory->free) std::tie(memory->free, memory->total) = std::tie(said->free, said->total);
  };
  bool survived = false;
  const auto any_hit = [&](bool looked_for::*is) {
    return std::ranges::any_of(hits_, [&](std::uint32_t word) { return of_word_[word].*is; });
  };
  const bool names = any_hit(&looked_for::begins_names), names_gpu = any_hit(&looked_for::of_gpus);
  all_.names_gpu = all_.names_gpu || names_gpu;
  std::size_t echo = line.text.size();
  std::vector<std::uint32_t> matched;  // patterns
  std::string call_of_line;
  for (const std::uint32_t word : hits_) {
    for (const std::uint32_t index : of_word_[word].patterns) {
      if (patterns_[index].done) continue;
      const event_pattern& e = *patterns_[index].event;
      if (across > 0 && (!patterns_[index].plain || e.role != event_role::failure)) continue;
      const auto m = patterns_[index].pattern.find(line.text, lower_);
      if (!m || (across > 0 && (m->begin >= across || m->end <= across))) continue;
      const bool tells = e.role == event_role::failure || e.role == event_role::cause ||
                         e.role == event_role::aside || e.role == event_role::fatal;
      if (tells &&
          (is_spoken() || (can_be_denied(e) && is_only_spoken_of(lower_, m->begin, m->end, known_.grammar))))
        continue;
      if (e.role == event_role::noise) {
        auto end = e.last ? line.text.size() : m->end;
        while (end < line.text.size() && is_word(line.text[end])) ++end;
        noise_.emplace_back(m->begin, end);
      }
      if (!noise_.empty()) continue;
      if (const auto equals = e.fact.find('='); equals != std::string::npos) {
        const std::string name = e.fact.substr(0, equals), value = e.fact.substr(equals + 1);
        if (name != "framework" && name != "named")
          facts.emplace_back(name, value);
        else if (e.role != event_role::context || !is_in_address(lower_, m->begin))
          frameworks.emplace_back(value, name == "named" ? framework_told::named
                                         : tells         ? framework_told::failed
                                                         : framework_told::printed);
      }
      survived = survived || e.role == event_role::survived;
      if (e.role == event_role::context || e.role == event_role::survived) {
        const auto said = memory_in(m->values);
        take_memory(said);
        if (!said) facts.insert(facts.end(), m->values.begin(), m->values.end());
        continue;
      }
      if (e.role == event_role::fatal && !names_gpu_library(line.text, known_.grammar)) continue;
      if (m->begin < echo) matched.push_back(index);
      if (e.last) echo = std::min(echo, m->end);
      log_event event{
          .id = e.id,
          .role = e.role,
          .source = e.source,
          .status = e.status,
          .call = e.call,
          .words = one_line(e.role == event_role::fatal
                                ? line.text.substr(0, longest_words)
                                : line.text.substr(m->begin, std::min(m->end - m->begin, longest_words))),
          .line = line.number,
          .anywhere = e.anywhere,
          .lacks = e.needs == event_needs::gpu && names_gpu ? event_needs::nothing : e.needs};
      if (e.fact.starts_with("framework=")) event.framework = e.fact.substr(e.fact.find('=') + 1);
      of_framework_ = of_framework_ || !event.framework.empty();
      bool is_known = true;
      take_memory(memory_in(m->values));
      for (const auto& [name, value] : m->values) {
        if (name == "status") {
          event.status = known_.canonical(value);
          is_known = known_.is_status(event.status);
        } else if (name == "call") {
          event.call = function_called(value);
        } else if (name == "shape") {
          const double elements = elements_of(value);
          is_known = elements >= 2147483648.0;
          event.words = fmt::format("{} are {:.0f} elements", one_line(value), elements);
        } else if (name == "xid") {
          event.status = "Xid " + value;
          is_known = number_in(value).value_or(1000) < 200 && value != "0";  // databases have higher ones
        } else {
          facts.emplace_back(name, value);
        }
      }
      if (e.id.starts_with("gpu.")) facts.emplace_back("gpu", event.words);
      if (e.role == event_role::failure && !event.call.empty() && (!is_known || event.status.empty()))
        call_of_line = event.call;  // another pattern knows the status
      if (!is_known || (e.role == event_role::failure && (event.status.empty() || is_success(event.status))))
        continue;
      const auto same = std::ranges::find_if(found, [&](const log_event& other) {
        return other.id == event.id || (event.role == event_role::failure && other.role == event.role &&
                                        other.status == event.status);
      });
      if (same == found.end()) {
        order.emplace_back(m->begin, found.size());
        ends.push_back(m->end);
        found.push_back(std::move(event));
      } else {
        if (same->call.empty()) same->call = event.call;
        same->lacks = std::min(same->lacks, event.lacks);
      }
    }
  }
  if (across > 0 && found.empty() && facts.empty()) return false;
  look_for_origin();
  if (!noise_.empty()) return true;
  for (const auto& [name, how] : frameworks) add_framework(name, how);
  if (memory) {
    memory->line = line.number;
    if (memory_.size() == most_memory) memory_.erase(memory_.begin());
    memory_.push_back(*memory);
  }
  // What a back end of another vendor says is none of CUDA, whatever the exception is called.
  const bool of_other =
      std::ranges::any_of(found, [](const log_event& e) { return e.id == "process.other_gpu"; });
  for (const auto& [name, value] : facts) {
    if (name == "cutag" && value.size() >= 3)
      add_fact("built_for_cuda", value.substr(0, value.size() - 1) + "." + value.back());
    else
      add_fact(name, value);
  }
  std::ranges::sort(order);
  std::vector<log_event> in_order;
  // "operation not permitted" is the begin of "operation not permitted when stream is capturing", "out of memory" of what the killer of
  // the system says, and "initialization error" the end of "CUBLAS initialization error".
  const auto is_part = [&](std::size_t begin, std::size_t index) {
    return found[index].role == event_role::failure && std::ranges::any_of(order, [&](const auto& other) {
             const auto& [from, which] = other;
             if (found[which].role == event_role::aside) return from <= begin && ends[which] >= ends[index];
             if (found[index].id.starts_with("error.") && found[which].role == event_role::failure &&
                 from < begin && ends[which] >= ends[index])
               return true;
             return found[index].id.starts_with("error.") && found[which].id.starts_with("error.") &&
                    from >= begin && from < ends[index] && ends[which] > ends[index];
           });
  };
  for (const auto& [begin, index] : order) {
    if (begin >= echo && found[index].role == event_role::condition) continue;
    if (is_part(begin, index) || (of_other && found[index].role == event_role::failure)) continue;
    in_order.push_back(std::move(found[index]));
  }
  for (const std::uint32_t index : matched) patterns_[index].done = patterns_[index].once;
  for (log_event& e : in_order)
    if (e.role == event_role::failure && e.call.empty()) e.call = call_of_line;
  if ((names || line.number - last_call_line_ <= lines_apart) && across == 0 && !of_other && !is_spoken())
    look_for_names(line, in_order);
  const bool of_traceback = in_traceback_ || exception_.line == line.number;
  for (log_event& e : in_order) {
    e.survived = survived;
    if (survived && e.role != event_role::condition) all_.tried_again = line.number;
    if (of_traceback && !of_traceback_.empty()) e.framework = of_traceback_;
    native_ =
        native_ || e.id == "end.aborted" || (e.role == event_role::failure && names_native_source(lower_));
    keep(std::move(e));
  }
  if (survived && across == 0) mark_survived(line.number);
  return false;
}

/// Of two numbers for memory: little that is free, less than is asked for, or enough. Rows of a table of several GPUs that differ say
/// nothing: which GPU failed is not known.
void event_finder::conclude_memory() {
  const auto asked_near = [&](const memory_said& said) {
    std::optional<double> asked = said.asked;
    for (const memory_said& other : memory_)
      if (!asked && other.line <= said.line + lines_to_request && said.line <= other.line + lines_to_request)
        asked = other.asked;
    return asked;
  };
  const auto is_full = [](const memory_said& said) {
    return *said.free <= little_memory || (said.total && *said.free < small_part * *said.total);
  };
  const auto differs_near = [&](const memory_said& said) {
    return std::ranges::any_of(memory_, [&](const memory_said& other) {
      const auto apart = std::max(said.line, other.line) - std::min(said.line, other.line);
      return said.later && other.later && apart <= lines_of_table && is_full(other) != is_full(said);
    });
  };
  for (const memory_said& said : memory_) {
    if (!said.free || *said.free < 0 || (said.total && (*said.total <= 0 || *said.total < *said.free)))
      continue;
    if (differs_near(said)) continue;
    const auto asked = asked_near(said);
    const auto part = said.total ? std::optional(*said.free / *said.total) : std::nullopt;
    std::string words = memory_text(*said.free);
    if (said.total) words += " of " + memory_text(*said.total);
    const char* id = "memory.some";
    if (is_full(said)) {
      id = "memory.full";
    } else if (asked && *asked > *said.free) {
      id = "memory.asked";
      words = fmt::format("{} is asked for, and {}", memory_text(*asked), words);
    } else if (part && *part >= large_part) {
      id = "memory.enough";
    }
    // Where the program had ended, its memory was free again.
    if (said.later && id != std::string_view("memory.full")) continue;
    all_.events.push_back({.id = id,
                           .role = event_role::condition,
                           .words = words + " is free",
                           .ratio = part,
                           .line = said.line});
  }
  memory_.clear();
}

/// The surest first; words that only name one count where nothing else does.
void event_finder::conclude_frameworks() {
  std::ranges::stable_sort(frameworks_, [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, how] : frameworks_)
    if (how != framework_told::named || frameworks_.front().second == how) add_fact("framework", name);
  frameworks_.clear();
}

/// What follows from facts that stand in different lines.
void event_finder::conclude() {
  const auto first = [&](const char* name) -> std::string {
    const auto at = all_.facts.find(name);
    return at == all_.facts.end() ? std::string{} : at->second.front();
  };
  const auto conclude_that = [&](const char* id, std::string words) {
    all_.events.push_back(
        {.id = id, .role = event_role::condition, .words = std::move(words), .anywhere = true});
  };
  const auto told = [&](std::string_view id) {
    return std::ranges::any_of(all_.events, [&](const log_event& e) { return e.id == id; });
  };
  std::set<std::string> versions;
  for (const char* name : {"built_for_cuda", "cuda"})
    if (const auto at = all_.facts.find(name); at != all_.facts.end())
      for (const std::string& value : at->second)
        if (version_number(value) && value.find('.') != std::string::npos)
          versions.insert(minor_version(value));
  if (versions.size() > 1)
    conclude_that("log.two_cuda_versions",
                  fmt::format("CUDA {} and {}", *versions.begin(), *versions.rbegin()));

  if (native_ && !of_framework_ && !told("framework.python"))
    conclude_that("log.plain_program", "a program of C or C++ tells of it, and no framework");

  const std::string cuda = first("built_for_cuda").empty() ? first("cuda") : first("built_for_cuda");
  const toolkit* built = toolkit_of(known_, cuda);
  std::string capability = first("capability");
  if (const auto version = version_number(first("compute_capability")); capability.empty() && version)
    capability = std::to_string(*version / 100 * 10 + *version % 100);
  if (const auto value = number_in(capability); value && built != nullptr) {
    if (*value > built->to)
      conclude_that("log.gpu_newer_than_toolkit",
                    fmt::format("compute capability {}.{}, and CUDA {}", *value / 10, *value % 10, cuda));
    if (*value < built->from)
      conclude_that("log.gpu_older_than_toolkit",
                    fmt::format("compute capability {}.{}, and CUDA {}", *value / 10, *value % 10, cuda));
  }
  const std::string driver = first("driver");
  if (const auto branch = number_in(std::string_view(driver).substr(0, driver.find('.')));
      branch && *branch > 100 && built != nullptr && *branch < built->driver)
    conclude_that("log.driver_older_than_toolkit", fmt::format("driver {}, and CUDA {}", driver, cuda));

  // PyTorch counts what it holds itself apart from what the device has.
  const auto amount = [&](const std::string& name) {
    return amount_of(first(name.c_str()), first((name + "_unit").c_str())).value_or(0);
  };
  if (const double capacity = amount("capacity"); capacity > 0 && !first("allocated").empty())
    if (std::max(amount("allocated"), amount("held")) < 0.4 * capacity && amount("free") < 0.1 * capacity)
      conclude_that("log.memory_of_others",
                    fmt::format("{} {} of {} {} are held by this process", first("allocated"),
                                first("allocated_unit"), first("capacity"), first("capacity_unit")));

  const auto m = number_in(first("m"));
  const auto n = number_in(first("n"));
  const auto k = number_in(first("k"));
  if (m && n && k) {
    const double largest = std::max({static_cast<double>(*m) * static_cast<double>(*n),
                                     static_cast<double>(*m) * static_cast<double>(*k),
                                     static_cast<double>(*n) * static_cast<double>(*k)});
    if (largest >= 2147483648.0)
      conclude_that("log.extents_over_32_bits", fmt::format("m {}, n {}, k {}", *m, *n, *k));
  } else if (const auto elements = number_in(first("elements")); elements && *elements >= 2147483648) {
    conclude_that("log.extents_over_32_bits", fmt::format("{} elements", *elements));
  } else if (const auto wrapped = number_in(first("wrapped")); wrapped && *wrapped > 1073741824) {
    conclude_that("log.extents_over_32_bits", fmt::format("an extent of -{}", *wrapped));
  }

  // A GPU whose family cannot compute with a type of the log.
  int highest = 0;
  for (const gpu_model& g : known_.gpus)
    if (told("gpu." + g.family)) highest = std::max(highest, static_cast<int>(g.capability));
  for (const auto& [type, least] : {std::pair{"types.bfloat16", 80}, std::pair{"types.fp8", 89}})
    if (highest > 0 && highest < least && told(type))
      conclude_that("log.type_newer_than_gpu",
                    fmt::format("{}, and a GPU of compute capability {}.{} at most",
                                std::string_view(type).substr(6), highest / 10, highest % 10));
}

log_findings event_finder::finish() {
  lines_.end();
  all_.lines = lines_.lines();
  all_.bytes = lines_.bytes();
  all_.cut_lines = lines_.cut();
  const bool ends_with_one = exception_.line > 0 && all_.lines - exception_.line <= lines_behind_exception;
  if (fatal_exception_ && (ends_with_one || all_.lines <= lines_of_a_message ||
                           std::ranges::any_of(all_.events, [&](const log_event& e) {
                             return e.id.starts_with("end.") && e.line >= fatal_exception_->line;
                           })))
    all_.events.push_back(*std::exchange(fatal_exception_, std::nullopt));
  if (ends_with_one) all_.events.push_back(std::move(exception_));
  conclude_memory();
  conclude_frameworks();
  std::ranges::stable_sort(all_.events, {}, &log_event::line);
  conclude();
  log_findings found = std::move(all_);
  all_ = {};
  for (prepared& p : patterns_) p.done = false;
  lines_ = line_cutter([this](const log_line& l) { look_at(l); });
  last_call_.clear();
  last_call_line_ = 0;
  tail_.clear();
  driver_thread_.clear();
  driver_text_.clear();
  harmless_text_ = in_traceback_ = in_commit_ = native_ = of_framework_ = false;
  exception_ = {};
  fatal_exception_.reset();
  of_traceback_.clear();
  return found;
}

}  // namespace cufault
