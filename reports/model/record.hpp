// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/json_value.hpp"
#include "reports/model/results.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Of records of runs, and of stacks. Nothing reads an earlier one.
inline constexpr int record_schema = 5;

/// The keys of a stack that conditions can name, as text: "cublas" "13.1.0", "cublaslt", "driver"
/// "580.159.04", "runtime" "13.0", "compute_capability" "9.0", "memory_gib" "139" (of the GPU), "module_loading" "LAZY",
/// "other_cublas" "12.4.5" or "none"; "pytorch" "2.11.0" and the other frameworks of the Python that was given. A key that is
/// unknown on this machine (no GPU, say) is absent.
using stack_keys = std::map<std::string, std::string>;

/// What a run was asked to do: only of this is it said that it is missing.
struct asked_for {
  std::string tier{};
  std::vector<std::string>
      cases{};  ///< CASE, FAMILY or CASE/ARM, where * is anything; all of the tier where it is empty
  std::vector<int> part{};  ///< {2, 3}: the second of three parts; empty: all
  friend bool operator==(const asked_for&, const asked_for&) = default;
};

template <class Fields>
void describe_fields(asked_for& a, Fields& f) {
  f.required("tier", a.tier);
  f("cases", a.cases);
  f("part", a.part);
}

/// Trials, and the stack that they ran on: of one run, or all that is kept of a stack.
struct record {
  std::string version{}, commit{};  ///< of cufault, in a run; commit is "unknown" outside a checkout
  bool dirty = false;
  std::vector<std::string> argv{};
  std::vector<asked_for>
      asked{};  ///< of a run, or of several that are one; none: a stack was asked for what it has
  std::string started{}, ended{};  ///< UTC, "2026-11-21T07:27:40Z"; ended is empty in an unfinished run
  run_mode mode = run_mode::observe;
  std::uint64_t seed = 0;
  json_value stack{};  ///< as printed by `cufault stack --json`; member "keys" holds the stack_keys
  std::vector<case_result> cases{};
  bool complete = false;  ///< of a run: it came to its end
  /// Of a run: arms with a remedy that it left out, since by its expectation the arm without it does not fail.
  std::uint64_t left_out = 0;
  int exit_code = 2;
};

stack_keys keys_of(const record& r);
/// "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04", or less where less is known; "unknown stack" where nothing is.
std::string stack_label(const record& r);

/// Records of one stack_label() become one, in the order of the first of each. Of an arm that several observed the latest counts, of one
/// that races all trials do.
std::vector<record> merged_by_stack(std::vector<record> records);
/// Adds an arm to a case, or replaces the one of this name, likewise.
void merge(case_result& into, arm_result arm);
/// The same, and of any arm that takes further trials all count, each run once: one whose trials differ has a rate.
void merge_trials(case_result& into, arm_result arm);
case_result& case_in(std::vector<case_result>& cases, const std::string& name);  ///< made where it is absent

/// Reads the file of a run (.jsonl), or the folder of a stack (stack.json and FAMILY.jsonl). Throws input_error. A run that was killed
/// has no last line, or half of one: it is read up to there and is not complete.
record load_record(const std::filesystem::path& file);
record record_from(const std::string& name, std::string_view text);  ///< of a run; name is for messages
/// Runs and stacks in what was named: files as they are, of folders their runs and their stacks' folders. Throws input_error for a folder that
/// cannot be read.
std::vector<std::filesystem::path> records_in(const std::vector<std::filesystem::path>& named);

/// Reads files ahead, in threads unless the address space is limited, and returns them in their order. The destructor waits for the threads.
class record_reader {
 public:
  using read_file = std::function<record(const std::filesystem::path&)>;
  /// `read` is called from several threads at a time.
  explicit record_reader(std::vector<std::filesystem::path> files, read_file read = load_record);
  ~record_reader();
  record_reader(const record_reader&) = delete;
  record_reader& operator=(const record_reader&) = delete;

  /// That of the next file; throws what `read` threw. Precondition: there is one.
  record next();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Those of records_in(named), in order. Throws input_error of the first that cannot be read. `read`: as of a record_reader.
std::vector<record> load_records(const std::vector<std::filesystem::path>& named,
                                 record_reader::read_file read = load_record);

/// One record at a time, in order. A file that cannot be read, or of which `take` throws input_error, is a line for `bad`; the others are read.
void each_record(const std::vector<std::filesystem::path>& named,
                 const std::function<void(const std::filesystem::path&, record)>& take,
                 const std::function<void(const std::string&)>& bad);

/// The text of a whole run.
std::string record_text(const record& r);

/// Writes a run's record while it runs, so that nothing recorded is lost however it ends: a header line, a line an arm as soon as its
/// trials are over, each synced, and a last line when the run has ended. Without the last line the run was killed.
class record_writer {
 public:
  /// Creates the directory. Throws std::system_error naming the path when it cannot be written to.
  /// The file is STEM.jsonl; an existing name gets a suffix "-2", "-3", ...
  record_writer(const std::filesystem::path& directory, const std::string& stem, const record& header);
  ~record_writer();
  record_writer(const record_writer&) = delete;
  record_writer& operator=(const record_writer&) = delete;

  void add(std::string_view line);                    ///< that of an arm, without its newline
  std::filesystem::path finish(const record& whole);  ///< returns the record's path
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  int fd_ = -1;
};

}  // namespace cufault
