// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// Gauges in Prometheus' text format 0.0.4, for the textfile collector of node_exporter.
class prometheus_text {
 public:
  using labels = std::vector<std::pair<std::string_view, std::string>>;

  /// What the samples behind it are of. Names and keys of labels are letters, digits and '_'.
  void family(std::string_view name, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, escaped(help, false));
  }
  void sample(double value, const labels& of = {}) {
    std::string all;
    for (const auto& [key, text] : of)
      all += fmt::format("{}{}=\"{}\"", all.empty() ? "" : ",", key, escaped(text, true));
    text_ += fmt::format("{}{} {}\n", name_, all.empty() ? "" : "{" + all + "}", value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static std::string escaped(std::string_view text, bool quoted) {
    std::string safe;
    for (const char c : text)
      if (c == '\n')
        safe += "\\n";
      else if (c == '\\' || (quoted && c == '"'))
        safe += {'\\', c};
      else
        safe += c;
    return safe;
  }
  std::string text_, name_;
};

}  // namespace cufault
