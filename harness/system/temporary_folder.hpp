// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace cufault {

/// A folder of its own under TMPDIR, named PREFIX and more, removed with all that is in it, whatever was done to permissions. Throws
/// std::system_error naming TMPDIR where it cannot be made: absent, not writable, full.
class temporary_folder {
 public:
  explicit temporary_folder(std::string_view prefix);
  ~temporary_folder();  ///< one line on standard error where it cannot be removed
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Removes a folder and all that is in it, likewise.
void remove_folder(const std::filesystem::path& folder);

}  // namespace cufault
