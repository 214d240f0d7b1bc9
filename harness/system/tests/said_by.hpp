// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {

/// The lines that a shell command prints. If it does not end with 0, the last is "ended with STATUS", as of pclose().
inline std::vector<std::string> said_by(const std::string& command) {
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return {"popen failed"};
  std::string text;
  for (int c = 0; (c = std::getc(output)) != EOF;) text += static_cast<char>(c);
  const int status = pclose(output);
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) found.push_back(line);
  if (status != 0) found.push_back("ended with " + std::to_string(status));
  return found;
}

}  // namespace cufault
