// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/log_lines.hpp"

#include <array>

namespace cufault {
namespace {

constexpr std::size_t longest_line = 8 << 10, repeated = 512;
/// Longer than any escape of a terminal: an escape that never ends is none.
constexpr std::size_t longest_escape = 256;

}  // namespace

void line_cutter::give() {
  to_({number_, line_});
  line_.clear();
}

void line_cutter::keep(char c) {
  line_ += c;
  if (line_.size() < longest_line) return;
  if (!in_parts_) ++cut_;
  in_parts_ = true;
  to_({number_, line_});
  line_.erase(0, line_.size() - repeated);
}

void line_cutter::add(std::string_view bytes) {
  bytes_ += bytes.size();
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (state_ == state::text && line_.size() + 1 < longest_line) {
      // The common case, a run of plain text, at once.
      const std::size_t room = longest_line - line_.size() - 1;
      std::size_t end = at;
      while (end < bytes.size() && end - at < room) {
        const auto c = static_cast<unsigned char>(bytes[end]);
        if (c < 0x20 || c == 0x7f) break;
        ++end;
      }
      if (end > at) {
        anything_ = true;
        line_.append(bytes.substr(at, end - at));
        at = end;
        continue;
      }
    }
    const char c = bytes[at++];
    if (c == '\n') {
      give();
      ++number_;
      anything_ = in_parts_ = false;
      state_ = state::text;
      continue;
    }
    anything_ = true;
    if (state_ != state::text && ++escape_length_ > longest_escape) state_ = state::text;
    switch (state_) {
      case state::text:
        if (c == '\x1b') {
          state_ = state::escape;
          escape_length_ = 0;
        } else if (c == '\r') {
          if (!line_.empty()) give();
        } else if (c == '\t') {
          keep(' ');
        } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
          keep(c);
        }
        break;
      case state::escape:
        state_ = c == '[' ? state::sequence : c == ']' || c == 'P' ? state::command : state::text;
        break;
      case state::sequence:
        if (c >= 0x40 && c <= 0x7e) state_ = state::text;
        break;
      case state::command:
        if (c == '\x07')
          state_ = state::text;
        else if (c == '\x1b')
          state_ = state::command_escape;
        break;
      case state::command_escape:
        state_ = c == '\\' ? state::text : state::command;
        break;
    }
  }
}

void line_cutter::end() {
  if (!line_.empty()) give();
}

std::string why_no_log(std::string_view beginning) {
  struct magic {
    std::string_view bytes, why;
  };
  static constexpr std::array all{
      magic{"\x1f\x8b", "is compressed by gzip; explain what zcat prints of it"},
      magic{"\x28\xb5\x2f\xfd", "is compressed by zstd; explain what zstdcat prints of it"},
      magic{"\xfd"
            "7zXZ",
            "is compressed by xz; explain what xzcat prints of it"},
      magic{"BZh", "is compressed by bzip2; explain what bzcat prints of it"},
      magic{"PK\x03\x04", "is a zip archive; explain what unzip -p prints of it"},
      magic{"\x7f"
            "ELF",
            "is a program or a core dump; explain what it printed"},
      magic{"\x89PNG", "is a picture; explain the text that it shows"},
      magic{"%PDF", "is a PDF; explain what pdftotext prints of it"}};
  for (const magic& m : all)
    if (beginning.starts_with(m.bytes)) return std::string(m.why);
  return {};
}

}  // namespace cufault
