// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What programs read of a report: counts, what changed, what is unexpected.
#include "reports/base/files.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/summary.hpp"

#include <nlohmann/json.hpp>

namespace cufault {

nlohmann::json summary_json(const run_report& run, const std::string& file) {
  nlohmann::json by_verdict = nlohmann::json::object(), unexpected = nlohmann::json::array();
  std::size_t without_gpu = 0;
  std::vector<const report_arm*> told;
  for (const report_arm& a : run.arms) {
    without_gpu += a.no_gpu.empty() ? 0 : 1;
    auto& count = by_verdict[to_string(a.judged)];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    if (as_expected(a.judged) || !a.no_gpu.empty()) continue;
    told.push_back(&a);
    unexpected.push_back({{"case", a.case_name},
                          {"arm", a.arm},
                          {"verdict", to_string(a.judged)},
                          {"why", a.why},
                          {"seen", a.seen}});
  }
  return {{"record", file},
          {"complete", run.complete},
          {"exit_code", run.exit_code},
          {"reasons", to_json(run.reasons)},
          {"seed", run.seed},
          {"counts", by_verdict},
          {"groups", to_json(groups_in(told))},
          {"unexpected", unexpected},
          {"noted", run.noted},
          {"without_gpu", without_gpu},
          {"left_out", run.left_out}};
}

namespace {

nlohmann::ordered_json change_json(const report_change& c) {
  nlohmann::ordered_json stack = nlohmann::ordered_json::object(), groups = nlohmann::ordered_json::array();
  for (const stack_difference& d : c.stacks) stack[d.name] = d.values;
  for (const report_change::group& g : c.groups)
    groups.push_back({{"change", g.of.change},
                      {"verdict", to_string(g.of.v)},
                      {"arms", g.of.names},
                      {"why", g.what.found.why},
                      {"before", g.what.seen[0]},
                      {"now", g.what.seen[1]},
                      {"repeat", g.repeat}});
  return {{"green", c.green}, {"started", c.started}, {"stack", std::move(stack)},  {"changed", c.changed},
          {"same", c.same},   {"unknown", c.unknown}, {"groups", std::move(groups)}};
}

std::string report_as_json(const report& r) {
  nlohmann::ordered_json stacks = nlohmann::ordered_json::array();
  for (const report::stack& s : r.stacks) {
    nlohmann::ordered_json of{{"stack", s.run.stack}};
    of.update(nlohmann::ordered_json(summary_json(s.run, s.file)));
    stacks.push_back(std::move(of));
  }
  const nlohmann::ordered_json all{{"schema", 2},
                                   {"change", r.change ? change_json(*r.change) : nlohmann::ordered_json()},
                                   {"stacks", std::move(stacks)},
                                   {"unread", r.unread}};
  return dump_json(all) + "\n";
}

}  // namespace

const report_printer as_json{"report-json", "report.json", "what changed and what is unexpected as JSON",
                             report_as_json};

}  // namespace cufault
