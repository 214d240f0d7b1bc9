// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/record_example.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace cufault::examples {

namespace fs = std::filesystem;

/// Files records in the folder "recorded" of a temporary folder.
class stack_files : public in_directory {
 protected:
  fs::path file(const record& r) const { return file_in_stack(directory / "recorded", r); }
  [[nodiscard]] static std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().filename() != ".lock") files[entry.path().filename()] = text_in(entry.path());
    return files;
  }
};

}  // namespace cufault::examples
