// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What commands print.
#pragma once

#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace cufault {

/// How an answer is printed: text where neither is set.
struct print_form {
  bool json = false, markdown = false;
  [[nodiscard]] table_style style() const { return markdown ? table_style::markdown : table_style::text; }
};
/// On standard output. Bytes that are no UTF-8 become U+FFFD. Returns 0.
int print_json(const nlohmann::ordered_json& json, int indent = 2);
/// What --json prints where there is no result, a line: {"schema": 1, "exit_code", "reasons": [{"exit_code", "why", "arms"}]}.
std::string json_of_failure(int exit_code, const std::string& why);
/// Of a command whose program has ended: what it came to stays its exit code, so a file that cannot be written is only told. No file: nothing.
void write_json_beside(const std::filesystem::path& file, const nlohmann::ordered_json& json);

}  // namespace cufault
