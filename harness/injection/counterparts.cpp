// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/counterparts.hpp"

#include "harness/injection/preloaded.hpp"
#include "harness/injector/rules.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/trial/trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cufault/cufault_injector.h"

namespace cufault {
namespace {

bool counterpart = false;

}  // namespace

arm& add_counterpart(failure_case& c, const std::string& natural, const std::string& rules) {
  const auto found =
      std::find_if(c.arms.begin(), c.arms.end(), [&](const arm& a) { return a.name == natural; });
  arm added = found != c.arms.end() ? *found : arm{};
  added.name = natural + "_injected";
  added.summary += ", injected";
  added.counterpart_of = natural;
  added.made_up = false;  // counterpart_of tells so
  added.shares_process = false;
  if (added.levels) added.levels->refine_to = 0;  // edges are not compared
  if (injector::needs_host_library(injector::rules_of(rules, {})))
    under_host_injector(added, rules);
  else
    under_injector(added, rules);
  added.body = [body = added.body](trial& t) {
    auto* injections = CUFAULT_PRELOADED(cufault_injections);
    counterpart = true;
    replace_pressure_by([](std::optional<std::uint64_t> bytes) {
      set_rules(bytes ? fmt::format(R"({{"rules": [{{"budget_bytes": {}}}]}})", *bytes) : std::string());
    });
    body(t);
    t.measure("driver calls of this process that rules acted on", static_cast<double>(injections()));
  };
  return c.arms.emplace_back(std::move(added));
}

bool in_counterpart() {
  return counterpart;
}

}  // namespace cufault
