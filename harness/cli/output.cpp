// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/output.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/judge.hpp"
#include "reports/printers/run_report.hpp"

#include <nlohmann/json.hpp>

#include <iostream>
#include <vector>

namespace cufault {
std::string json_of_failure(int exit_code, const std::string& why) {
  const std::vector<exit_reason> reasons{{exit_code, why}};
  return nlohmann::ordered_json{{"schema", 1}, {"exit_code", exit_code}, {"reasons", to_json(reasons)}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int print_json(const nlohmann::ordered_json& json, int indent) {
  std::cout << json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return 0;
}

void write_json_beside(const std::filesystem::path& file, const nlohmann::ordered_json& json) {
  if (file.empty()) return;
  try {
    write_whole(file, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } catch (const std::exception& e) {
    std::cerr << "cufault: --json: " << one_line(e.what()) << '\n';
  }
}

}  // namespace cufault
