// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/terminal.hpp"

#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <sstream>
#include <utility>

namespace cufault {
namespace {

std::size_t columns_variable() {
  std::size_t width = 0;
  const std::string digits = variable("COLUMNS");
  std::from_chars(digits.data(), digits.data() + digits.size(), width);
  return width;
}

constexpr std::size_t least_width = 40, usual_width = 100;

}  // namespace

terminal terminal_of(const std::ostream& out) {
  const int fd = &out == &std::cout ? STDOUT_FILENO : &out == &std::cerr ? STDERR_FILENO : -1;
  if (fd < 0 || isatty(fd) == 0) return {};
  terminal shown{
      .width = columns_variable(),
      .colour = variable("NO_COLOR").empty() && !variable("TERM").empty() && variable("TERM") != "dumb"};
  winsize size{};
  if (shown.width == 0 && ioctl(fd, TIOCGWINSZ, &size) == 0) shown.width = size.ws_col;
  if (shown.width > 0) shown.width = std::max(shown.width, least_width);
  return shown;
}

std::size_t width_of_output() {
  std::size_t width = terminal_of(std::cout).width;
  if (width == 0) width = columns_variable();
  return width == 0 ? usual_width : std::max(width, least_width);
}

std::string painted(std::string_view text, paint how, const terminal& shown) {
  if (!shown.colour || how == paint::plain) return std::string(text);
  const int code = how == paint::bold ? 1 : how == paint::good ? 32 : how == paint::bad ? 31 : 33;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

namespace {

constexpr char escape = '\x1b';

/// Behind the character, or the colour, at `at`.
std::size_t next_of(std::string_view text, std::size_t at) {
  if (text[at] == escape) return std::min(text.find('m', at), text.size() - 1) + 1;
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

/// The end of the longest part that is not wider, at least one character.
std::size_t end_within(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t next = 0, used = 0; end < text.size(); end = next) {
    next = next_of(text, end);
    used += columns_of(text.substr(end, next - end));
    if (end > 0 && used > width) break;
  }
  return end;
}

/// Where a word that is too long is broken: behind a separator in the second half of what there is room for.
std::size_t break_within(std::string_view word, std::size_t width) {
  const std::size_t end = end_within(word, width);
  if (end == word.size()) return end;
  const std::size_t separator = word.substr(0, end).find_last_of("/.,;:=_-");
  return separator != word.npos && separator >= end / 2 ? separator + 1 : end;
}

/// `text` without what stands in front of it, which takes `first` columns of the first line, and `inside` of each other.
std::vector<std::string> filled(std::string_view text, std::size_t width, std::size_t first,
                                std::size_t inside) {
  std::vector<std::string> lines(1);
  std::size_t used = first;
  const auto begin_line = [&] {
    lines.emplace_back(inside, ' ');
    used = inside;
  };
  bool begun = false;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word; begun = true) {
    if (begun && used + 1 + columns_of(word) > width) {
      begin_line();
    } else if (begun) {
      lines.back() += ' ';
      ++used;
    }
    for (std::string_view rest = word; !rest.empty();) {
      if (rest.size() < word.size()) begin_line();
      const std::size_t end = break_within(rest, width > used ? width - used : 1);
      lines.back() += rest.substr(0, end);
      used += columns_of(rest.substr(0, end));
      rest.remove_prefix(end);
    }
  }
  return lines;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  if (const auto at = text.find(escape); at != text.npos)
    return columns_of(text.substr(0, at)) + columns_of(text.substr(next_of(text, at)));
  const std::size_t wide = text.size() + 1;  // by the library's own rule: it fills up with blanks
  return wide - (fmt::formatted_size("{:<{}}", text, wide) - text.size());
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  std::size_t inside = std::min(safe.find_first_not_of(' '), safe.size());
  if (inside > width / 2) inside = 0;
  std::vector<std::string> lines = filled(safe, width, inside, inside);
  lines.front().insert(0, inside, ' ');
  return lines;
}

std::vector<std::string> kept_to_width(std::string_view line, std::size_t width) {
  line = line.substr(0, line.find_last_not_of(' ') + 1);
  if (columns_of(line) <= width) return {std::string(line)};
  constexpr std::size_t longest_label = 16;
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::size_t text = indent;
  for (std::size_t gap = indent; (gap = line.find("  ", gap)) != line.npos; text = gap) {
    gap = line.find_first_not_of(' ', gap);
    if (gap == line.npos || columns_of(line.substr(0, gap)) > width / 2) break;
  }
  const std::size_t label = line.find(": ", indent);
  if (text == indent && label < longest_label) text = label + 2;
  const std::size_t first = columns_of(line.substr(0, text));
  std::vector<std::string> lines = filled(line.substr(text), width, first,
                                          text > indent        ? first
                                          : indent < width / 4 ? indent + 2
                                                               : std::min(indent, width / 2));
  lines.front().insert(0, line.substr(0, text));
  return lines;
}

namespace {

class width_keeper : public std::streambuf {
 public:
  width_keeper(std::ostream& out, std::size_t width) : out_(out), below_(out.rdbuf(this)), width_(width) {
    out.unsetf(std::ios_base::unitbuf);  // else std::cerr would write each line in pieces
  }
  ~width_keeper() override {
    sync();
    out_.rdbuf(below_);
  }
  width_keeper(const width_keeper&) = delete;
  width_keeper& operator=(const width_keeper&) = delete;

 private:
  int_type overflow(int_type c) override {
    if (c != '\n') {
      line_ += traits_type::to_char_type(c);
      return c;
    }
    line_ = fmt::format("{}\n", fmt::join(kept_to_width(line_, width_), "\n"));
    return pass_on() ? c : traits_type::eof();
  }
  int sync() override { return pass_on() ? below_->pubsync() : -1; }
  bool pass_on() {
    const std::string text = std::exchange(line_, {});
    return below_->sputn(text.data(), std::ssize(text)) == std::ssize(text);
  }

  std::ostream& out_;
  std::streambuf* below_;
  std::size_t width_;
  std::string line_{};  ///< not written yet
};

}  // namespace

std::unique_ptr<std::streambuf> keep_to_width(std::ostream& out) {
  const std::size_t width = terminal_of(out).width;
  return width == 0 ? nullptr : std::make_unique<width_keeper>(out, width);
}

}  // namespace cufault
