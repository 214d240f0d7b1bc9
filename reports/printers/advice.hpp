// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/judge.hpp"
#include "reports/model/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cufault {

/// What a reader is to know about a verdict; worst first. Expected ones ask for nothing.
struct advice {
  verdict v;
  const char* look;  ///< what colour goes with it on a page, beside its name
  std::string_view asks;
};

inline constexpr std::array advices{
    advice{verdict::unresolved, "worse",
           "nothing was proved: repair the harness, the control or the machine, and run again"},
    advice{
        verdict::worsened, "worse",
        "a status became a crash, a hang, wrong numbers or a damaged context: do not upgrade; send the maker "
        "of the driver or library what cufault report RECORD --since OLD -o DIR writes"},
    advice{verdict::remedy_broken, "worse",
           "the failure is the same and its remedy no longer clears it: do not upgrade before another remedy "
           "is known"},
    advice{verdict::changed, "mixed",
           "it fails in another way: check what code relies on the old status, then accept it (cufault "
           "baseline add)"},
    advice{verdict::gone, "mixed",
           "the failure no longer happens, or a dead end now clears it: check, then accept it (cufault "
           "baseline add)"},
    advice{verdict::differs, "unseen", "not as on the nearest recorded stack: read what was seen"},
    advice{verdict::absent, "unseen",
           "recorded before and asked for, and not observed: run the same cases and tiers of both"},
    advice{verdict::unrecorded, "unseen", "nothing is recorded to compare it with: read what was seen"},
    advice{verdict::not_provoked, "unseen",
           "its precondition could not be reached here: nothing is known about it"},
    advice{verdict::undefined, "unseen", {}},
    advice{verdict::flaky, "mixed", {}},
    advice{verdict::as_predicted, "unseen", {}},
    advice{verdict::still_fails, "fails", {}},
    advice{verdict::diagnosed, "fails", {}},
    advice{verdict::reproduced, "fails", {}},
    advice{verdict::cleared, "right", {}},
    advice{verdict::ok, "right", {}}};

/// What a reader of a verdict is to do: "do not upgrade".
constexpr std::string_view to_do(const advice& a) {
  const std::string_view words = a.asks.substr(a.asks.rfind(": ") + 2);
  return words.substr(0, std::min(words.find(';'), words.find(" (")));
}

inline std::size_t rank(verdict v) {
  const auto at = std::ranges::find(advices, v, &advice::v);
  return static_cast<std::size_t>(at - advices.begin());
}

/// "fault"; "fault, made up" where it does not show that this happens without cufault.
inline std::string kind_text(const arm_result& arm) {
  return to_string(arm.kind) + (is_made_up(arm) ? ", made up" : "");
}

/// What an arm saw, in one line; the reason where there is nothing to compare. "40 of 40: ..." where an arm that races came to one result.
inline std::string seen_by(const arm_result& arm) {
  if (arm.trials.empty()) return "nothing: no trial was recorded";
  for (const auto& o : arm.trials)
    if (!comparable(o)) return fmt::format("{}: {}", to_string(o.ended), why_not_comparable(o));
  const bool one_of_many = !arm.races.empty() && distinct_signatures(arm.trials).size() == 1;
  return one_of_many ? fmt::format("{0} of {0}: {1}", arm.trials.size(), describe(arm)) : describe(arm);
}

}  // namespace cufault
