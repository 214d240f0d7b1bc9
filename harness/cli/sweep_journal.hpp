// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/unique_fd.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace cufault::program_sweep {

/// The record of a sweep, which grows line by line. Of two sweeps only one has it: it holds a lock on the file. A file that it made and
/// that got no line is removed.
class journal {
 public:
  journal() = default;
  ~journal();
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;

  /// What the file has stays until begin(). Throws usage_error where it cannot be written, or another sweep writes it.
  void open(const std::filesystem::path& file);
  [[nodiscard]] bool is_empty() const { return status().st_size == 0; }
  void begin() { cut(0); }
  /// After its first `bytes`.
  void go_on(std::size_t bytes) { cut(bytes); }
  void print_too() { prints_ = true; }
  /// Whole lines. Throws usage_error where they cannot be written.
  void write(const std::string& lines);

 private:
  [[nodiscard]] struct stat status() const;
  [[nodiscard]] bool is_file() const { return S_ISREG(status().st_mode); }
  /// The sweep that had the file before removed it before it was locked here.
  [[nodiscard]] bool is_gone() const { return status().st_nlink == 0; }
  void cut(std::size_t bytes);

  std::filesystem::path name_;
  unique_fd file_;
  bool prints_ = false, made_ = false;  // made_: the file was not there before
};

}  // namespace cufault::program_sweep
