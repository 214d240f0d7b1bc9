// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace cufault {

/// Text of a JSON value. Bytes that are no UTF-8 (of a child's output, say) become U+FFFD. One line.
std::string dump_json(const nlohmann::ordered_json& value);

/// Writes text to a file beside `file`, syncs it, then renames. Throws std::system_error naming the path.
void write_whole(const std::filesystem::path& file, std::string_view text);

/// Owns a file descriptor; -1 is none.
class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor();
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// An exclusive flock(2) for a folder: a second one throws, also in another process. It is on a file in the folder, .lock, which stays: if
/// it were removed, two processes could each lock a file of that name. On a folder itself NFS locks for one host only.
class folder_lock {
 public:
  /// Throws std::system_error where another has it: "FOLDER: another cufault writes WHAT; try again when it has ended". Waits for nobody.
  folder_lock(const std::filesystem::path& folder, std::string_view what);

 private:
  descriptor fd_;
};

/// Writes all of it; false with errno set if that fails.
bool write_all(int fd, std::string_view text);
/// A new name in a directory outlasts a power cut only once the directory is synced. Some file systems cannot do that, which is no
/// error.
void sync_directory_of(const std::filesystem::path& file);
/// Throws std::system_error with errno: "PATH: cannot DO".
[[noreturn]] void throw_errno(const std::filesystem::path& path, std::string_view doing);

}  // namespace cufault
