// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/tests/golden.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace cufault {

void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(CUFAULT_GOLDEN) / name;
  if (std::getenv("CUFAULT_WRITE_GOLDEN") != nullptr) write_whole(file, text);
  EXPECT_EQ(text, read_text(file)) << name;
}

}  // namespace cufault
