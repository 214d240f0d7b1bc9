// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/merge.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What is wrong with a host, or with what it left.
struct host_finding {
  std::string host{};
  std::string
      code{};  ///< "absent", "unknown", "twice", "unfinished", "no_gpu", "nothing_ran", "other_stack", "clock", "outlier"
  std::string text{};  ///< one line
  friend bool operator==(const host_finding&, const host_finding&) = default;
};

/// Of "records/n1@BOOT" and "records/n1": "n1". A record does not know its host: its file is named by it.
std::string host_of(std::string_view member_name);

/// Compares what was merged with the hosts that were to report, one record each. Ordered by host; empty where nothing is wrong.
std::vector<host_finding> check_hosts(const merged_records& merged, const std::vector<std::string>& hosts);

}  // namespace cufault
