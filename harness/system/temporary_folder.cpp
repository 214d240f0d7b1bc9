// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

void open_up(const fs::path& folder) {
  std::error_code refused;  // then it cannot be removed either, which is told
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, refused);
}

}  // namespace

temporary_folder::temporary_folder(std::string_view prefix) {
  const char* where = std::getenv("TMPDIR");
  const auto what = fmt::format("no temporary folder can be made (TMPDIR={})", where != nullptr ? where : "");
  std::error_code none;
  const fs::path temporary = fs::temp_directory_path(none);
  if (none) throw std::system_error(none, what);
  // Absolute: a program that is told of a file in it may be in another folder.
  std::string name = (fs::absolute(temporary) / fmt::format("{}XXXXXX", prefix)).string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), what);
  path_ = name;
}

temporary_folder::~temporary_folder() {
  remove_folder(path_);
}

void remove_folder(const fs::path& folder) {
  open_up(folder);
  std::error_code end, failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(folder, options, end);
       at != fs::recursive_directory_iterator(); at.increment(end)) {
    std::error_code gone;
    if (at->symlink_status(gone).type() == fs::file_type::directory) open_up(at->path());
  }
  fs::remove_all(folder, failed);
  if (failed)
    std::fprintf(stderr, "cufault: cannot remove %s: %s\n", folder.c_str(), failed.message().c_str());
}

}  // namespace cufault
