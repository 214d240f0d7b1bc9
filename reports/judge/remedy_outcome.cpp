// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/remedy_outcome.hpp"

namespace cufault {

std::optional<remedy_outcome> remedy_outcome_of(const case_result& c, const arm_result& arm) {
  if (arm.kind == arm_kind::fault || arm.kind == arm_kind::control || !arm.counterpart_of.empty())
    return std::nullopt;
  remedy_outcome tried{.words = arm.summary, .before = {}, .against = {}, .cleared = true};
  if (!arm.against.empty()) tried.against = join_key(c.name, arm.against);
  bool compared = false;
  for (const observation& o : arm.trials) {
    if (!comparable(o)) continue;
    compared = true;
    tried.cleared = tried.cleared && !failed(signature_of(o));
    if (o.applied.empty()) continue;
    tried.words = o.applied;
    for (const call_record& call : o.calls)
      if (!call.after_remedy) tried.before.push_back(&call);
  }
  if (!compared || (tried.before.empty() && tried.against.empty())) return std::nullopt;
  return tried;
}

}  // namespace cufault
