// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cufault {

void throw_errno(const std::filesystem::path& path, std::string_view doing) {
  throw std::system_error(errno, std::generic_category(), fmt::format("{}: cannot {}", path.string(), doing));
}

descriptor::~descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

folder_lock::folder_lock(const std::filesystem::path& folder, std::string_view what)
    : fd_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (fd_.get() < 0) throw_errno(folder, "write in");
  const bool locked = ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) throw_errno(folder, "lock");
  // Who held it may have removed the folder since the file was opened here.
  struct stat opened {
  }, there{};
  if (locked && ::fstat(fd_.get(), &opened) == 0 && ::stat((folder / ".lock").c_str(), &there) == 0 &&
      opened.st_ino == there.st_ino && opened.st_dev == there.st_dev)
    return;
  throw std::system_error(
      EWOULDBLOCK, std::generic_category(),
      fmt::format("{}: another cufault writes {}; try again when it has ended", folder.string(), what));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

void sync_directory_of(const std::filesystem::path& file) {
  const auto directory = file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
  const descriptor fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.get() >= 0) ::fsync(fd.get());
}

std::string dump_json(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_whole(const std::filesystem::path& file, std::string_view text) {
  auto beside = file;
  beside += fmt::format(".tmp-{}", ::getpid());
  const auto give_up = [&](const std::filesystem::path& path, std::string_view doing) {
    const auto error = errno;
    ::unlink(beside.c_str());
    errno = error;
    throw_errno(path, doing);
  };
  {
    const descriptor fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (fd.get() < 0) throw_errno(beside, "create");
    if (!write_all(fd.get(), text)) give_up(beside, "write");
    if (::fsync(fd.get()) != 0) give_up(beside, "sync");
  }
  if (::rename(beside.c_str(), file.c_str()) != 0) give_up(file, "replace");
  sync_directory_of(file);
}

}  // namespace cufault
