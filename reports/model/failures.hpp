// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

class json_cursor;

/// What users or release notes report to fail (cases/failures.json). Cases name it by ID.
struct field_failure {
  std::string id;                    ///< "F-MEM-01", or "RN-01" from the release notes; never changes
  std::string text;                  ///< one line
  std::vector<std::string> sources;  ///< "pytorch#97399", "docs", a claim
  std::string untestable = {};       ///< why no case can be about it; empty if one can
  std::string awaits = {};           ///< what a case about it would need; empty if there is one
};

/// {"schema": 1, "failures": [{"id":..., "text":..., "sources": [...], "untestable" or "awaits":...}]}
std::vector<field_failure> load_failures(const std::filesystem::path& file);  ///< throws input_error
std::vector<field_failure> failures_from(const json_cursor& top);             ///< likewise

}  // namespace cufault
