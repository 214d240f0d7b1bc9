// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What processes wrote of calls that failed while `cufault why` watched them (harness/injector/watch.cpp), and which of these failed first.
#pragma once

#include "reports/explain/lexicon.hpp"
#include "reports/model/driver_message.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// A line of a process's file.
struct said_line {
  std::string when;  ///< "2026-11-27 22:21:32.099"; empty in the driver's own log
  std::string call;  ///< "cublasCreate_v2#12" in which it came; "-" where there was none
  std::string who;   ///< "CUDA": a message of the driver; "cublas": that call returned `text`
  std::string thread, text;
  std::string process;        ///< "rank 1, pid 123"
  bool of_other_run = false;  ///< of a rank that another `why` started
};

/// Of files of processes below `folder`, without lines from before `began` ("2026-11-27 22:21:32", UTC), the earliest first. `own`: the folder of this run.
/// Where the driver said nothing in them: also its error log, `driver_log`, from that byte on. Of a file at most its first megabyte is read.
std::vector<said_line> lines_below(const std::filesystem::path& folder, const std::filesystem::path& own,
                                   const std::string& began, const std::filesystem::path& driver_log,
                                   std::uintmax_t from);

/// The call that failed first. Its pointers lead into the lines that it was chosen from.
struct first_failure {
  const said_line* call = nullptr;         ///< of a library; null: none failed
  std::optional<driver_message> driver{};  ///< inside that call, or before it; without a call, the first
  std::vector<std::string> messages{};     ///< that are that one
  bool inside = false;
  const said_line* of_driver = nullptr;
};

/// `status`: of the failure that the command told; "" where it told none. `told_else`: it told something that is no failure of a GPU library.
first_failure first_failure_of(const std::vector<said_line>& all, const lexicon& words,
                               const std::string& status, bool told_else);

}  // namespace cufault
