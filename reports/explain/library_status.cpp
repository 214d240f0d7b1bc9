// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/line_context.hpp"
#include "reports/model/api_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace cufault {
namespace {

/// How many words can stand between a library's name and what says that it failed, and between that and the number.
constexpr std::size_t words_to_status = 12, words_to_number = 6;
constexpr std::size_t letters_to_words = 48;

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_upper_case(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, word) != all.end();
}

/// Words that say that something failed, or that a number is what came of it; not those that count: "errors: 3".
bool says_status(std::string_view word) {
  if (is_one_of(word,
                {"err", "lasterr", "errno", "code", "returned", "returns", "return", "reason", "ret", "rc"}))
    return true;
  if (word.ends_with('s') && !word.ends_with("status")) return false;
  return std::ranges::any_of(std::array{"error", "fail", "status", "result", "exception"},
                             [&](const char* part) { return word.find(part) != std::string_view::npos; });
}

/// Of a number that is none of a library.
bool is_of_something_else(std::string_view word) {
  return word.starts_with("exit") ||
         is_one_of(word, {"http", "https", "line", "version", "rank", "signal", "returncode", "process"});
}

/// Of names that stand for this vendor's library and another's: "gpusolverDnCreate".
std::string without_alias(std::string_view word) {
  return word.starts_with("gpu") && word.size() > 3 ? "cu" + std::string(word.substr(3)) : std::string(word);
}

class line_reader {
 public:
  line_reader(std::string_view line, std::string_view lower, const lexicon& known)
      : line_(line), lower_(lower), known_(known) {
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (!is_of_word(line[at])) continue;
      std::size_t end = at;
      while (end < line.size() && is_of_word(line[end])) ++end;
      words_.push_back({at, end, library_in(at, end)});
      at = end;
    }
  }

  std::vector<told_status> find(std::string_view call) {
    std::vector<told_status> found;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      add_number(i, found);
      add_bare_name(i, call, found);
    }
    for (std::size_t i = 0; i < words_.size(); ++i) add_made(i, found);
    if (std::ranges::any_of(words_, [&](const word& w) { return says_status(lower(w)); }))
      for (const word& each : words_) add_words(each, found);
    return found;
  }

 private:
  struct word {
    std::size_t begin, end;
    const status_library* library;  ///< whose name it is or begins with
  };

  [[nodiscard]] std::string_view lower(const word& w) const {
    return lower_.substr(w.begin, w.end - w.begin);
  }
  [[nodiscard]] char at(std::size_t place) const { return place < line_.size() ? line_[place] : ' '; }
  [[nodiscard]] bool is_digit_at(std::size_t place) const { return at(place) >= '0' && at(place) <= '9'; }
  [[nodiscard]] bool is_at(std::size_t place, std::string_view any_of) const {
    return any_of.find(at(place)) != std::string_view::npos;
  }
  /// "CUDA" alone is also the name of a device.
  [[nodiscard]] bool is_only_cuda(const word& w) const { return lower(w) == "cuda"; }

  /// Not in a path, an address or a longer name: "cublas.cpp", "nvidia/cuda", "cuda:0".
  [[nodiscard]] const status_library* library_in(std::size_t begin, std::size_t end) const {
    if (!is_one_of(lower_.substr(begin, 1), {"c", "g", "n"})) return nullptr;
    if ((begin > 0 && is_at(begin - 1, "/-\\")) || is_at(end, "/\\") ||
        (at(end) == '.' && is_of_word(at(end + 1))) || (at(end) == '-' && at(end + 1) != '>') ||
        (at(end) == ':' && is_digit_at(end + 1)))
      return nullptr;
    const std::string name = without_alias(lower_.substr(begin, end - begin));
    const std::string_view whole = line_.substr(begin, end - begin);
    if (is_one_of(name, {"curesult", "cuerror", "cudrivererror"}) || cufault::library_of(whole) == "driver")
      return library_of_status("cuda");
    const status_library* const found = library_of_status(name);
    if (found == nullptr) return nullptr;
    const std::string_view rest = whole.substr(whole.size() - name.size() + found->prefix.size());
    if (rest.empty()) return begin > 0 && at(begin - 1) == '.' ? nullptr : found;
    return rest == "lt" || rest.front() == '_' || is_upper_case(rest.front()) ? found : nullptr;
  }

  void add(std::size_t begin, std::size_t end, std::string_view status, const status_library& of,
           std::vector<told_status>& found, bool in_words = false) const {
    if (matches_any(known_.grammar.no_statuses, std::string(status))) return;
    if (std::ranges::none_of(found, [&](const told_status& t) { return t.library == &of; }))
      found.push_back({begin, end, std::string(status), &of, in_words});
  }

  /// The library of a number whose words begin with word `first`: named before them, else behind the number.
  [[nodiscard]] const word* library_of(std::size_t first, std::size_t number) const {
    const auto says = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < std::min(to, number); ++i)
        if (says_status(lower(words_[i]))) return true;
      return false;
    };
    for (std::size_t i = number; i-- > 0;)
      if (const word& w = words_[i]; w.library != nullptr)
        if (is_only_cuda(w) ? says(i + 1, i + 5)
                            : i + words_to_status >= first ||
                                  !function_called(line_.substr(w.begin, w.end - w.begin)).empty())
          return &w;
    if (number + 1 < words_.size() &&
        is_one_of(lower(words_[number + 1]), {"from", "in", "by", "at", "of", "when", "while"}))
      for (std::size_t i = number + 2; i < std::min(number + 4, words_.size()); ++i)
        if (words_[i].library != nullptr && !is_only_cuda(words_[i])) return &words_[i];
    return nullptr;
  }

  void add_number(std::size_t place, std::vector<told_status>& found) const {
    const word& number = words_[place];
    const std::string_view digits = lower(number);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || digits.size() > 6 || value == 0)
      return;
    if ((number.begin > 0 && is_at(number.begin - 1, ".-/")) || is_at(number.end, "%/-") ||
        (is_at(number.end, ".:,") && is_digit_at(number.end + 1)))
      return;
    // "code=6(NVJPEG_STATUS_EXECUTION_FAILED)": the name says which library's it is.
    if (at(number.end) == '(' && place + 1 < words_.size() &&
        known_.is_status(line_.substr(number.end + 1, words_[place + 1].end - number.end - 1)))
      return;
    // Back over what joins a number with the words that say what it is: "failed with status code: ".
    std::size_t first = place;
    bool says = lower_.substr(number.end).starts_with(" vs. 0)");
    for (; first > 0 && first + words_to_number > place; --first) {
      const std::string_view between =
          line_.substr(words_[first - 1].end, words_[first].begin - words_[first - 1].end);
      if (between.size() > 5 || between.find_first_not_of(" \t:=([{<>#\"'`,)-") != std::string_view::npos)
        break;
      says = says || (between.find("->") != std::string_view::npos);
      const std::string_view word = lower(words_[first - 1]);
      if (is_of_something_else(word)) return;
      if (says_status(word))
        says = true;
      else if (!is_one_of(word, {"with", "number", "is", "was", "value", "of", "a", "the", "id", "no"}))
        break;
    }
    if (!says) return;
    const word* const named = library_of(first, place);
    if (named == nullptr) return;
    std::string status(known_.by_code(*named->library, value));
    if (status.empty() && &words_[first] - named > 2) return;
    if (status.empty()) status = fmt::format("no status of {}", named->library->title);
    add(std::min(named->begin, number.begin), number.end + (at(number.end) == ')' ? 1 : 0), status,
        *named->library, found);
  }

  /// "INTERNAL_ERROR" behind or below a call.
  void add_bare_name(std::size_t place, std::string_view call, std::vector<told_status>& found) const {
    const word& name = words_[place];
    const std::string_view whole = line_.substr(name.begin, name.end - name.begin);
    if (!is_upper_case(whole.front()) || whole.find('_') == std::string_view::npos) return;
    const auto named = std::ranges::find_if(words_, [](const word& w) { return w.library != nullptr; });
    const status_library* const of = named != words_.end() ? named->library : library_of_status(call);
    for (const library_code& code : of == nullptr ? std::span<const library_code>{} : of->codes)
      if (code.name.starts_with(of->status_prefix) && code.name.substr(of->status_prefix.size()) == whole)
        add(name.begin, name.end, code.name, *of, found);
  }

  /// "Failed to make cuFFT batched plan: 5", "Cannot create cuBLAS handle": by the number, else of the kind "handle".
  void add_made(std::size_t place, std::vector<told_status>& found) const {
    const log_grammar& grammar = known_.grammar;
    const auto is_in = [&](const std::vector<std::string>& all, std::size_t which) {
      return std::ranges::find(all, lower(words_[which])) != all.end();
    };
    const word& name = words_[place];
    if (name.library == nullptr || place < 2 || is_one_of(name.library->prefix, {"cuda", "nvml"}) ||
        !is_in(grammar.make, place - 1))
      return;
    const std::string_view before = lower_.substr(0, words_[place - 2].end);
    const auto fails = std::ranges::find_if(grammar.not_made,
                                            [&](const std::string& text) { return before.ends_with(text); });
    if (fails == grammar.not_made.end()) return;
    std::size_t end = place + 1;
    while (end < words_.size() && end < place + 4 && is_in(grammar.made, end)) ++end;
    if (end == place + 1) return;
    std::string_view status;
    if (const auto value = end < words_.size() ? lower(words_[end]) : std::string_view{};
        at(words_[end - 1].end) == ':') {
      std::int64_t code = 0;
      std::from_chars(value.data(), value.data() + value.size(), code);
      status = known_.by_code(*name.library, code);
    }
    const auto kind = std::ranges::find(known_.kinds, "handle", &status_kind::kind);
    if (status.empty() && kind != known_.kinds.end()) status = status_of(*name.library, *kind);
    if (!status.empty())
      add(before.size() - fails->size(), words_[end - 1].end, status, *name.library, found, true);
  }

  /// Words of a kind of status behind the name of a library.
  void add_words(const word& name, std::vector<told_status>& found) const {
    if (name.library == nullptr || is_one_of(name.library->prefix, {"cuda", "nvml"})) return;
    std::string_view behind = lower_.substr(name.end);
    behind = behind.substr(0, std::min(behind.find(". "), behind.find(';')));
    told_status first{letters_to_words, 0, {}, name.library};
    for (const status_kind& kind : known_.kinds)
      for (const std::string& text : kind.texts)
        if (const auto here = behind.find(text);
            here < first.begin && here > 0 && !is_of_word(behind[here - 1]))
          if (const std::string_view status = status_of(*name.library, kind); !status.empty())
            first = {here, here + text.size(), std::string(status), name.library};
    if (!first.status.empty() && !is_of_word(at(name.end + first.end)))
      add(name.begin, name.end + first.end, first.status, *name.library, found, true);
  }

  /// The library's first of the kind, by its order of patterns; empty where it has none.
  static std::string_view status_of(const status_library& library, const status_kind& kind) {
    for (const std::string& pattern : kind.status)
      for (const library_code& code : library.codes)
        if (matches(pattern, std::string(code.name))) return code.name;
    return {};
  }

  std::string_view line_, lower_;
  const lexicon& known_;
  std::vector<word> words_{};
};

}  // namespace

std::string function_called(std::string_view word) {
  std::string name = without_alias(word);
  const auto known = [](const std::string& called) {
    if (!library_of(called).empty()) return true;
    const status_library* const of = library_of_status(called);
    // Of the others, names of all functions are at hand.
    return of != nullptr && !is_one_of(of->prefix, {"cuda", "cublas", "cublasLt"}) &&
           called.size() > of->prefix.size() && is_upper_case(called[of->prefix.size()]) &&
           !called.ends_with("_t");
  };
  if (known(name)) return name;
  if (name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v')
    name.resize(name.size() - 3);
  return known(name) ? name : std::string{};
}

std::vector<told_status> statuses_told(std::string_view line, std::string_view lower, std::string_view call,
                                       const lexicon& known) {
  return line_reader(line, lower, known).find(call);
}

}  // namespace cufault
