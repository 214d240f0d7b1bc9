// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"
#include "reports/model/tests/examples.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cufault::examples {

inline arm_result judged(arm_kind kind, std::string name, verdict v, std::vector<observation> trials,
                         std::string why = {}) {
  auto a = arm(kind, std::move(trials), std::move(name));
  a.judged = v;
  a.why = std::move(why);
  return a;
}

inline record example_record() {
  record r;
  r.started = "2026-11-21T07:27:40Z";
  *r.stack = {{"keys", {{"cublas", "13.1.0"}}}};
  r.complete = true;
  r.cases = {
      {.name = "memory.leak",
       .arms = {judged(arm_kind::control, "control", verdict::ok, {trial({success})}),
                judged(arm_kind::fault, "fault", verdict::reproduced, {trial({no_memory})}),
                judged(arm_kind::remedy, "trim", verdict::worsened, {crash({})}, "expected a; seen b")}}};
  return r;
}

}  // namespace cufault::examples
