// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cufault/known_issues.hpp>
#include <iostream>

/// Reads lines "VERSION ARCHITECTURE LIBRARY" and prints the issues of each with level and why, as a C++17 program gets them.
int main() {
  for (std::string line; std::getline(std::cin, line); std::cout << '\n') {
    const std::size_t blank = line.find(' '), last = line.rfind(' ');
    for (const cufault::known_match& m : cufault::known_issues(
             line.substr(0, blank), line.substr(blank + 1, last - blank - 1), line.substr(last + 1)))
      std::cout << m.issue->id << '|' << static_cast<int>(m.level) << '|' << m.because << '\t';
  }
  return cufault::version_text(120804) == "12.8.4" ? 0 : 1;
}
