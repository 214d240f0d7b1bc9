// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace cufault {

/// Removes a path when SIGHUP, SIGINT, SIGQUIT, SIGPIPE or SIGTERM ends this process. A signal that is ignored or has another handler keeps
/// that. A forked child does not remove its parent's paths.
class signal_cleanup {
 public:
  /// `make` creates the file or folder and returns its path, with signals blocked.
  explicit signal_cleanup(const std::function<std::filesystem::path()>& make);
  ~signal_cleanup();  ///< removes nothing
  signal_cleanup(const signal_cleanup&) = delete;
  signal_cleanup& operator=(const signal_cleanup&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  friend void remove_registered_paths();
  std::filesystem::path path_;
  int process_;
  signal_cleanup* next_ = nullptr;
};

/// A new folder under TMPDIR whose name begins with PREFIX. Removed with its contents at the end or by a signal, whatever its permissions.
/// Throws std::system_error with TMPDIR if it cannot be made: absent, not writable, full.
class temporary_folder {
 public:
  explicit temporary_folder(std::string_view prefix);
  ~temporary_folder();  ///< one line on standard error where it cannot be removed
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return made_.path(); }

 private:
  const signal_cleanup made_;
};

/// Removes a folder and its contents, whatever their permissions.
void remove_folder(const std::filesystem::path& folder);

}  // namespace cufault
