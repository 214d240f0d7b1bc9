// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/failed_calls.hpp"

#include "reports/explain/text_pattern.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::uintmax_t most_of_a_log = 1 << 20;

/// "2026-11-27 cublasCreate_v2#12 [22:21:32.099][25642][cublas][E] TEXT"
std::optional<said_line> said_line_of(const std::string& line) {
  said_line one;
  const auto day = line.find(' '), call = line.find(" [", day + 1);
  if (day != 10 || call == line.npos) return std::nullopt;
  std::vector<std::string> fields;
  std::size_t at = call + 1;
  while (fields.size() < 4 && at < line.size() && line[at] == '[') {
    const auto end = line.find(']', at);
    if (end == line.npos) return std::nullopt;
    fields.push_back(line.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  if (fields.size() != 4) return std::nullopt;
  one.when = line.substr(0, day) + " " + fields[0];
  one.call = line.substr(day + 1, call - day - 1);
  one.thread = fields[1];
  one.who = fields[2];
  one.text = at < line.size() ? line.substr(at + 1) : "";
  return one;
}

/// "rank1.pid123.log" -> "rank 1, pid 123".
std::string process_of(const fs::path& file) {
  std::string name = file.stem().string(), rank;
  if (const auto dot = name.find('.'); name.starts_with("rank") && dot != name.npos) {
    rank = "rank " + name.substr(4, dot - 4) + ", ";
    name.erase(0, dot + 1);
  }
  return rank + (name.starts_with("pid") ? "pid " + name.substr(3) : name);
}

template <class Take>
void each_line(const fs::path& file, std::uintmax_t from, const Take& take) {
  std::ifstream in(file);
  in.seekg(static_cast<std::streamoff>(from));
  std::uintmax_t read = 0;
  for (std::string line; read < most_of_a_log && std::getline(in, line);) {
    read += line.size() + 1;
    take(line);
  }
}

class chooser {
 public:
  explicit chooser(const lexicon& words) {
    for (const event_pattern& e : words.events)
      if (e.role == event_role::noise)
        for (const std::string& text : e.match) harmless_.emplace_back(text);
  }

  [[nodiscard]] first_failure choose(const std::vector<said_line>& all, const lexicon& words,
                                     const std::string& status, bool told_else) const {
    first_failure first;
    const auto is_call = [](const said_line& one) { return one.who != "CUDA"; };
    const auto status_of = [](const said_line& one) {
      constexpr std::string_view head = "returned ";
      if (!one.text.starts_with(head)) return std::string();
      return one.text.substr(head.size(), one.text.find(' ', head.size()) - head.size());
    };
    const auto tells_status = [&](const said_line& one) {
      return is_call(one) && !status.empty() && words.canonical(status_of(one)) == status;
    };
    // Calls that only ask fail in healthy programs, too.
    const auto is_question = [&](const said_line& one) {
      return is_call(one) && words.is_question(status_of(one), one.call.substr(0, one.call.find('#')));
    };
    const auto is_failure = [&](const said_line& one) { return is_call(one) && !is_question(one); };
    auto found = std::ranges::find_if(all, tells_status);
    if (found == all.end()) found = std::ranges::find_if(all, is_failure);
    if (found == all.end() && !told_else)
      if (const auto last = std::find_if(all.rbegin(), all.rend(), is_call); last != all.rend())
        found = last.base() - 1;
    std::set<std::tuple<std::string, std::string, std::string>> questions;
    const auto call_of = [](const said_line& one) { return std::tuple{one.process, one.thread, one.call}; };
    for (const said_line& one : all)
      if (is_question(one)) questions.insert(call_of(one));
    if (found != all.end()) {
      first.call = &*found;
      take_driver(first, all, [&](const said_line& one) { return call_of(one) == call_of(*found); });
      first.inside = first.driver.has_value();
    }
    // Work that failed before is told by the next call of any thread.
    const auto is_before = [&](const said_line& one) {
      return !questions.contains(call_of(one)) &&
             (!first.call || (one.process == first.call->process && &one < first.call));
    };
    if (!first.driver)
      take_driver(first, all, [&](const said_line& one) {
        const driver_message_parts parts = driver_message_parts_of(one.text);
        return is_before(one) &&
               !words.is_question("CUDA_ERROR_" + std::string(parts.code), std::string(parts.function));
      });
    if (!first.driver && !first.call && !told_else) take_driver(first, all, is_before);
    return first;
  }

 private:
  template <class Belongs>
  void take_driver(first_failure& first, const std::vector<said_line>& all, const Belongs& belongs) const {
    std::string reason;
    const said_line* harmless = nullptr;  // a reason, whose code follows
    first.messages.clear();
    for (const said_line& one : all) {
      if (one.who != "CUDA") continue;
      const driver_message_parts parts = driver_message_parts_of(one.text);
      const bool goes_on = harmless != nullptr && harmless->process == one.process &&
                           harmless->thread == one.thread && !parts.function.empty();
      harmless = nullptr;
      if (goes_on || !belongs(one)) continue;
      if (is_harmless(one.text)) {
        if (parts.function.empty()) harmless = &one;
        reason.clear();
        first.messages.clear();
        continue;
      }
      if (first.of_driver == nullptr) first.of_driver = &one;
      if (parts.function.empty()) {
        if (reason.empty()) first.messages = {reason = one.text};
        continue;
      }
      first.of_driver = &one;
      first.messages.push_back(one.text);
      first.driver = driver_message{.function = std::string(parts.function),
                                    .code = std::string(parts.code),
                                    .text = parts.text.empty() ? reason : std::string(parts.text)};
      return;
    }
    if (!reason.empty()) first.driver = driver_message{.function = {}, .code = {}, .text = reason};
  }
  [[nodiscard]] bool is_harmless(const std::string& text) const {
    if (text.find("CUDA_ERROR_NOT_READY") != text.npos) return true;
    return std::ranges::any_of(harmless_,
                               [&](const text_pattern& pattern) { return pattern.find(text).has_value(); });
  }
  std::vector<text_pattern> harmless_;
};

}  // namespace

std::vector<said_line> lines_below(const fs::path& folder, const fs::path& own, const std::string& began,
                                   const fs::path& driver_log, std::uintmax_t from) {
  std::vector<said_line> all;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(folder, none)) {
    const fs::path& file = entry.path();
    if (!file.filename().string().starts_with("rank") && !file.filename().string().starts_with("pid"))
      continue;
    if (file.extension() != ".log" || !entry.is_regular_file(none)) continue;
    each_line(file, 0, [&](const std::string& line) {
      if (auto one = said_line_of(line); one && one->when >= began) {
        one->process = process_of(file);
        one->of_other_run = file.parent_path() != own;
        all.push_back(std::move(*one));
      }
    });
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.when < b.when; });
  if (std::ranges::any_of(all, [](const auto& one) { return one.who == "CUDA"; })) return all;
  each_line(driver_log, from, [&](const std::string& line) {
    const auto read = driver_log_line_of(line);
    if (!read || read->severity != "E") return;
    const auto end = line.rfind("[E]");
    all.push_back({.when = {},
                   .call = "-",
                   .who = "CUDA",
                   .thread = std::string(read->thread),
                   .text = line.substr(end == line.npos ? 0 : std::min(end + 4, line.size())),
                   .process = "thread " + std::string(read->thread)});
  });
  return all;
}

first_failure first_failure_of(const std::vector<said_line>& all, const lexicon& words,
                               const std::string& status, bool told_else) {
  return chooser(words).choose(all, words, status, told_else);
}

}  // namespace cufault
