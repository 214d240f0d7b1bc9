// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace cufault::examples {

/// What is wrong with a page in Prometheus' text format, by the rules that its collectors refuse by; empty where nothing is.
inline std::string wrong_in_prometheus(const std::string& page) {
  static const std::string name = "[a-zA-Z_:][a-zA-Z0-9_:]*",
                           label = R"([a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\"n])*")";
  static const std::regex help("# HELP (" + name + ") (?:[^\\\\]|\\\\[\\\\n])*"),
      type("# TYPE (" + name + ") gauge"),
      sample("((" + name + ")(?:\\{" + label + "(?:," + label +
             ")*\\})?) (?:[+-]?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|[+-]Inf)");
  if (!page.ends_with('\n')) return "no line feed at the end";
  std::set<std::string> families, series;
  std::string helped, typed;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, help)) {
      if (!families.insert(helped = found[1]).second) return line + ": this family has been";
    } else if (std::regex_match(line, found, type)) {
      if ((typed = found[1]) != helped) return line + ": no HELP in front of it";
    } else if (std::regex_match(line, found, sample)) {
      if (found[2] != typed) return line + ": no TYPE in front of it";
      if (!series.insert(found[1]).second) return line + ": the same series again";
    } else {
      return line + ": no line of the format";
    }
  }
  return {};
}

}  // namespace cufault::examples
