// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/database.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr int wait_for_writer_ms = 60'000;

std::string what_is_wrong(int code, const char* said) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process is writing it; try again when it has ended";
    case SQLITE_NOTADB:
      return "is no SQLite database; nothing was written";
    case SQLITE_CORRUPT:
      return fmt::format("is corrupted ({}); restore it from a backup", one_line(said));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return fmt::format("cannot be opened or written ({})", one_line(said));
    default:
      return one_line(said);
  }
}

}  // namespace

void database::closer::operator()(sqlite3* handle) const {
  sqlite3_close(handle);
}

database::database(fs::path file, access how) : file_(std::move(file)) {
  sqlite3* handle = nullptr;
  // Readers open for writing, too: only then SQLite rolls back what a killed writer left in its journal.
  const int code = sqlite3_open_v2(file_.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
  handle_.reset(handle);
  if (handle == nullptr) fail("there is no memory to open it");
  if (code != SQLITE_OK) fail();
  sqlite3_busy_timeout(handle, wait_for_writer_ms);
  if (how == access::read) run("PRAGMA query_only = ON");
  // What a foreign file defines (views, triggers, generated columns) is not run.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

void database::create(const fs::path& file, const std::string& sql) {
  std::error_code none;
  if (fs::exists(file, none)) return;
  // Made whole beside it and then linked: nobody ever sees a half-made one, and a file of that name is never replaced.
  const fs::path made = fmt::format("{}.new-{}", file.string(), ::getpid());
  fs::remove(made, none);
  {
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(made.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    const std::unique_ptr<sqlite3, closer> owner(handle);
    if (code != SQLITE_OK || sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      const std::string why = handle == nullptr ? "no memory" : sqlite3_errmsg(handle);
      fs::remove(made, none);
      throw input_error(fmt::format("{}: cannot be made ({})", file.string(), one_line(why)));
    }
  }
  const int failed = ::link(made.c_str(), file.c_str()) == 0 || errno == EEXIST ? 0 : errno;
  fs::remove(made, none);
  if (failed != 0)
    throw input_error(
        fmt::format("{}: cannot be made ({})", file.string(), std::generic_category().message(failed)));
  sync_directory_of(file);
}

void database::fail(std::string_view what) const {
  throw input_error(fmt::format("{}: {}", file_.string(), what));
}

void database::fail() const {
  fail(what_is_wrong(sqlite3_errcode(handle_.get()), sqlite3_errmsg(handle_.get())));
}

void database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::int64_t database::number(const std::string& sql) {
  statement s(*this, sql);
  return s.step() ? s.number(0) : 0;
}

std::string database::text(const std::string& sql) {
  statement s(*this, sql);
  return s.step() ? s.text(0) : std::string();
}

void statement::finalizer::operator()(sqlite3_stmt* handle) const {
  sqlite3_finalize(handle);
}

statement::statement(database& in, const std::string& sql) : in_(in) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v2(in.get(), sql.c_str(), static_cast<int>(sql.size()), &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) in.fail();
}

statement& statement::reset() {
  sqlite3_reset(handle_.get());
  bound_ = 0;
  return *this;
}

statement& statement::bind(std::int64_t value) {
  if (sqlite3_bind_int64(handle_.get(), ++bound_, value) != SQLITE_OK) in_.fail();
  return *this;
}

statement& statement::bind(std::string_view value) {
  if (sqlite3_bind_text64(handle_.get(), ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8) != SQLITE_OK)
    in_.fail();
  return *this;
}

bool statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) in_.fail();
  return false;
}

std::int64_t statement::number(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string statement::text(int column) const {
  const auto* const at = sqlite3_column_text(handle_.get(), column);
  const auto size = sqlite3_column_bytes(handle_.get(), column);
  return at == nullptr ? std::string()
                       : std::string(reinterpret_cast<const char*>(at), static_cast<std::size_t>(size));
}

transaction::transaction(database& in) : in_(in) {
  in_.run("BEGIN IMMEDIATE");
}

transaction::~transaction() {
  if (open_) sqlite3_exec(in_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void transaction::commit() {
  in_.run("COMMIT");
  open_ = false;
}

}  // namespace cufault
