// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/twins.hpp"

#include "harness/injector/cufault_injector.h"
#include "harness/preloaded.hpp"
#include "harness/trial.hpp"

#include <algorithm>

namespace cufault {
namespace {

bool twin = false;

}  // namespace

arm& add_twin(failure_case& c, const std::string& natural, const std::string& rules) {
  const auto found =
      std::find_if(c.arms.begin(), c.arms.end(), [&](const arm& a) { return a.name == natural; });
  arm added = found != c.arms.end() ? *found : arm{};
  added.name = natural + "_injected";
  added.summary += ", injected";
  added.twin_of = natural;
  if (added.rungs) added.rungs->refine_to = 0;  // edges are not compared
  under_injector(added, rules);
  added.body = [body = added.body](trial& t) {
    auto* injections = PRELOADED(cufault_injections);
    twin = true;
    body(t);
    t.measure("driver calls of this process that rules acted on", static_cast<double>(injections()));
  };
  return c.arms.emplace_back(std::move(added));
}

bool in_twin() {
  return twin;
}

}  // namespace cufault
