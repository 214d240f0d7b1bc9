// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

inline constexpr int record_schema = 1;

/// One run, as kept on disk.
struct record {
  std::string version, commit;  ///< of cufault; commit is "unknown" outside a checkout
  bool dirty = false;
  std::vector<std::string> argv;
  std::string started, ended;  ///< UTC, "2026-11-21T07:27:40Z"; ended is empty in an unfinished run
  run_mode mode = run_mode::observe;
  std::uint64_t seed = 0;
  nlohmann::json stack;  ///< as printed by `cufault stack --json`; member "keys" holds the stack_keys
  std::vector<case_result> cases;
  bool complete = false;  ///< false: interrupted, or read from a journal
  int exit_code = 2;
};

stack_keys keys_of(const record& r);
/// "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04", or less where less is known; "unknown stack" where
/// nothing is.
std::string stack_label(const record& r);

/// Whether it has trials and all of them can be compared.
bool observed(const arm_result& arm);

/// Records of one stack_label() become one, in the order of the first of each. Of an arm that several observed the latest counts, of one
/// that races all trials do.
std::vector<record> merged_by_stack(std::vector<record> records);

nlohmann::json to_json(const record& r);
/// Text of a JSON value. Bytes that are no UTF-8 (of a child's output, say) become U+FFFD. indent -1: one
/// line.
std::string dump_json(const nlohmann::json& value, int indent = -1);

/// Reads a record (.json), or the journal (.journal) of a run that was killed. Throws input_error.
/// A journal whose last line was cut off is read up to it; a later line of the same arm replaces the earlier
/// one.
record load_record(const std::filesystem::path& file);
record record_from(const json_cursor& top);                           ///< throws input_error
record journal_from(const std::string& name, std::string_view text);  ///< likewise; name is for messages

/// Writes text to a file beside `file`, syncs it, then renames. Throws std::system_error naming the path.
void write_whole(const std::filesystem::path& file, std::string_view text);

/// Writes a run's record while it runs, so that nothing recorded is lost however it ends: each arm is
/// appended to a journal (one JSON line, synced) as soon as its trials are over, and may be appended again
/// once it is judged; finish() writes the record and removes the journal. A journal that was never finished
/// stays where it is. The journal's first line is the record's header; the others are {"case",
/// "case_summary", "arm"}.
class record_writer {
 public:
  /// Creates the directory. Throws std::system_error naming the path when it cannot be written to.
  /// Files are named STEM.json and STEM.journal; an existing name gets a suffix "-2", "-3", ...
  record_writer(const std::filesystem::path& directory, const std::string& stem, const record& header);
  ~record_writer();
  record_writer(const record_writer&) = delete;
  record_writer& operator=(const record_writer&) = delete;

  void add(const std::string& case_name, const std::string& case_summary, const arm_result& arm);
  std::filesystem::path finish(const record& whole);  ///< returns the record's path
  [[nodiscard]] const std::filesystem::path& journal() const { return journal_; }

 private:
  void append(const nlohmann::json& line);
  std::filesystem::path journal_, final_;
  int fd_ = -1;
};

}  // namespace cufault
