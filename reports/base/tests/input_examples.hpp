// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cufault::examples {

inline json_cursor cursor(std::string_view text, std::string name = "x.json") {
  return json_cursor{parse_json(std::move(name), text)};
}

/// The message of the input_error that `read` throws; a message of its own if it throws none.
template <typename Read>
std::string refusal(Read read) {
  try {
    static_cast<void>(read());
  } catch (const input_error& e) {
    return e.what();
  }
  return "(nothing was refused)";
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline std::string text_in(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// CUFAULT_WRITE_GOLDEN=1 writes the file anew: read the difference then.
inline void expect_golden(const std::filesystem::path& file, std::string_view text) {
  if (std::getenv("CUFAULT_WRITE_GOLDEN") != nullptr) write_whole(file, text);
  EXPECT_EQ(text, text_in(file)) << file;
}

inline std::size_t files_in(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}));
}

/// A directory of its own, removed with the test.
class in_directory : public ::testing::Test {
 protected:
  void SetUp() override {
    auto name = (std::filesystem::temp_directory_path() / "cufault-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory = name;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream{directory / name, std::ios::binary} << text;
    return directory / name;
  }

  std::filesystem::path directory;
};

}  // namespace cufault::examples
