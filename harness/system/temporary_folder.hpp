// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace cufault {

/// A file or folder that is removed also where SIGHUP, SIGINT, SIGQUIT, SIGPIPE or SIGTERM ends this process while it lives. A signal that is
/// ignored, or has another handler, is left alone; so is what a forked child inherits.
class removed_by_signals {
 public:
  /// `make` makes it, and says its path: no signal comes in between.
  explicit removed_by_signals(const std::function<std::filesystem::path()>& make);
  ~removed_by_signals();  ///< removes nothing
  removed_by_signals(const removed_by_signals&) = delete;
  removed_by_signals& operator=(const removed_by_signals&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  friend void remove_what_is_left();
  std::filesystem::path path_;
  int process_;
  removed_by_signals* next_ = nullptr;
};

/// A folder of its own under TMPDIR, named PREFIX and more, removed with all that is in it, whatever was done to permissions, and by signals
/// too. Throws std::system_error naming TMPDIR where it cannot be made: absent, not writable, full.
class temporary_folder {
 public:
  explicit temporary_folder(std::string_view prefix);
  ~temporary_folder();  ///< one line on standard error where it cannot be removed
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return made_.path(); }

 private:
  const removed_by_signals made_;
};

/// Removes a folder and all that is in it, likewise.
void remove_folder(const std::filesystem::path& folder);

}  // namespace cufault
