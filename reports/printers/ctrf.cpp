// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0

#include "reports/base/files.hpp"
#include "reports/printers/printers.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cufault {
namespace {

struct test_counts {
  int passed = 0, failed = 0, skipped = 0;
};

void add_tests(nlohmann::ordered_json& tests, test_counts& counts, const run_report& report,
               bool with_stack) {
  for (const report_arm& a : report.arms) {
    const bool good = a.status == test_status::passed, none = a.status == test_status::skipped;
    ++(good ? counts.passed : none ? counts.skipped : counts.failed);
    nlohmann::ordered_json test{{"name", join_key(a.case_name, a.arm)},
                                {"status", good   ? "passed"
                                           : none ? "skipped"
                                                  : "failed"},
                                {"duration", std::llround(a.seconds * 1000)},
                                {"rawStatus", to_string(a.judged)}};
    if (!good) test["message"] = a.why.empty() ? to_string(a.judged) : a.why;
    if (a.judged == verdict::flaky) test["flaky"] = true;
    test["extra"] = {{"case", a.case_name},
                     {"kind", a.kind},
                     {"seen", a.seen},
                     {"expectation", a.expectation},
                     {"repeat", a.repeat}};
    if (a.made_up) test["extra"]["made_up"] = true;
    if (!a.cost.empty()) test["extra"]["cost"] = a.cost;
    if (with_stack) test["extra"]["stack"] = report.stack;
    tests.push_back(std::move(test));
  }
}

std::string report_as_ctrf(const report& all) {
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  test_counts counts;
  std::int64_t start = 0, stop = 0;
  std::string version, stacks;
  bool complete = true;
  int exit_code = 0;
  for (const report::stack& s : all.stacks) {
    const run_report& r = s.run;
    add_tests(tests, counts, r, all.stacks.size() > 1);
    start = start == 0 ? r.start_ms : std::min(start, r.start_ms);
    stop = std::max({stop, r.start_ms, r.stop_ms});  // a stack that is filed has no end
    version = std::max(version, r.version);
    stacks += (stacks.empty() ? "" : "; ") + r.stack;
    complete = complete && r.complete;
    exit_code = std::max(exit_code, r.exit_code);
  }
  const std::size_t count = tests.size();
  const nlohmann::ordered_json document{
      {"reportFormat", "CTRF"},
      {"specVersion", "0.0.0"},
      {"results",
       {{"tool", {{"name", "cufault"}, {"version", version}}},
        {"summary",
         {{"tests", count},
          {"passed", counts.passed},
          {"failed", counts.failed},
          {"pending", 0},
          {"skipped", counts.skipped},
          {"other", 0},
          {"start", start},
          {"stop", stop}}},
        {"tests", std::move(tests)},
        {"extra", {{"stack", stacks}, {"complete", complete}, {"exit_code", exit_code}}}}}};
  return dump_json(document) + "\n";
}

}  // namespace

const report_printer as_ctrf{"ctrf", "ctrf.json", "CTRF JSON: one test per arm", report_as_ctrf};

}  // namespace cufault
