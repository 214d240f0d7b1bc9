// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"
#include "reports/model/tests/examples.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cufault::examples {

inline record example() {
  record r;
  r.version = "0.1.0";
  r.commit = "abc";
  r.dirty = true;
  r.argv = {"cufault", "run", "--gate"};
  r.started = "2026-11-21T07:27:40Z";
  r.ended = "2026-11-21T07:28:40Z";
  r.mode = run_mode::gate;
  r.seed = std::numeric_limits<std::uint64_t>::max();
  *r.stack = {{"keys", {{"cublas", "13.1.0"}, {"driver", "580.159.04"}}}, {"gpu", {{"name", "NVIDIA H200"}}}};
  auto first =
      arm(arm_kind::fault, {at_level(64, trial({no_memory})), at_level(128, trial({success}))}, "fault");
  first.claims = {"S0-5"};
  first.summary = "squeeze, then create";
  first.counterpart_of = "another";
  first.against = "third";
  first.races = "chance";
  first.made_up = true;
  r.cases = {{.name = "memory.leak", .arms = {first, arm(arm_kind::control, {}, "control")}},
             {.name = "sticky.trap", .arms = {arm(arm_kind::fault, {crash({success})}, "fault")}}};
  r.complete = true;
  r.exit_code = 1;
  return r;
}

inline record read(std::string_view text) {
  return record_from("x.jsonl", text);
}

/// What the function throws that is no input_error.
template <class Write>
std::string failure(Write write) {
  try {
    write();
  } catch (const std::system_error& e) {
    return e.what();
  }
  return "(written)";
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    lines.emplace_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// As it comes from a file: with the run of each arm.
inline record of_run(record r, const std::string& started = "2026-11-21T07:27:40Z") {
  r.started = started;
  return read(record_text(r));
}

}  // namespace cufault::examples
