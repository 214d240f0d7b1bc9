// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/measured.hpp"

namespace cufault {
namespace {

constexpr std::string_view footprint_name = "device memory taken by the first cublasCreate";
constexpr std::string_view look_up = " asks for ";

bool cleared(const arm_result& arm) {
  return arm.kind == arm_kind::remedy && arm.judged != verdict::not_provoked &&
         arm.judged != verdict::unresolved && observed(arm) && count_failures(arm.trials).none();
}

}  // namespace

measured_facts facts_in(const std::vector<record>& judged) {
  measured_facts facts;
  for (const record& r : judged)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) {
        if (cleared(a)) facts.cleared[join_key(c.name, a.name)].insert(stack_label(r));
        for (const observation& o : a.trials)
          for (const measurement& m : o.measurements) {
            if (a.kind == arm_kind::control && m.name == footprint_name && m.value > 0) {
              const stack_keys keys = keys_of(r);
              const auto version = keys.find("cublas");
              facts.footprints.push_back({.stack = stack_label(r),
                                          .arm = join_key(c.name, a.name),
                                          .cublas = version == keys.end() ? "" : version->second,
                                          .eager = a.name.ends_with("eager"),
                                          .bytes = static_cast<std::uint64_t>(m.value)});
            }
            if (const auto at = m.name.find(look_up); at != m.name.npos)
              facts.asked[m.name.substr(at + look_up.size())].insert(m.name.substr(0, at));
          }
      }
  return facts;
}

}  // namespace cufault
