// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace cufault {

/// An SQLite database. Everything throws input_error in one line that begins with the file's name.
class database {
 public:
  enum class access { read, write };
  /// Opens a file that is there.
  database(std::filesystem::path file, access how);
  /// Makes a new file with these tables. Of two that do so at once, one makes it. A file that is there is left alone.
  static void create(const std::filesystem::path& file, const std::string& sql);

  void run(const std::string& sql);
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] std::string text(const std::string& sql);
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail() const;  ///< with what SQLite says
  [[nodiscard]] sqlite3* get() const { return handle_.get(); }

 private:
  std::filesystem::path file_;
  struct closer {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, closer> handle_;
};

/// A prepared statement. Values are bound in order; a row is stepped to, and its columns are read from 0.
class statement {
 public:
  statement(database& in, const std::string& sql);
  statement& reset();
  statement& bind(std::int64_t value);
  statement& bind(std::string_view value);
  bool step();  ///< true: there is a row
  void run() { static_cast<void>(step()); }
  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  database& in_;
  struct finalizer {
    void operator()(sqlite3_stmt* handle) const;
  };
  std::unique_ptr<sqlite3_stmt, finalizer> handle_;
  int bound_ = 0;
};

/// Rolls back what was not committed.
class transaction {
 public:
  explicit transaction(database& in);  ///< waits for another writer
  ~transaction();
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  void commit();

 private:
  database& in_;
  bool open_ = true;
};

}  // namespace cufault
