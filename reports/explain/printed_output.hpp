// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Where a Python program failed, by what it printed.
#pragma once

#include "reports/explain/events.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cufault {

/// Of Python. Lines of ranks can be mixed: "[rank1]: Traceback (most recent call last):".
struct traceback {
  std::string rank;       ///< "rank1"; empty where its lines name none
  std::string frame;      ///< "train.py:17 in step: loss = model(x)", the innermost of the user; empty: none
  std::string exception;  ///< its first line
};

struct printed_output {
  std::vector<traceback> tracebacks;
  std::string last_line;
};
printed_output printed_output_of(const std::string& output);

/// The traceback that tells of the failure; nullptr: none. Only those of `rank` are looked at, if one of them names it.
/// The first whose exception is a failure of a GPU library, else the last with a frame of the user. `find`: the events in a text.
const traceback* traceback_of(const std::vector<traceback>& all, const std::string& rank,
                              const std::function<log_findings(const std::string&)>& find);

}  // namespace cufault
