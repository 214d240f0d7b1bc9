// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/ctrf.hpp"

#include "reports/base/files.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace cufault {

std::string ctrf_json(const run_report& report) {
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  int passed = 0, failed = 0, skipped = 0;
  for (const report_arm& a : report.arms) {
    const bool good = a.status == test_status::passed, none = a.status == test_status::skipped;
    ++(good ? passed : none ? skipped : failed);
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
    tests.push_back(std::move(test));
  }
  const nlohmann::ordered_json all{
      {"reportFormat", "CTRF"},
      {"specVersion", "0.0.0"},
      {"results",
       {{"tool", {{"name", "cufault"}, {"version", report.version}}},
        {"summary",
         {{"tests", report.arms.size()},
          {"passed", passed},
          {"failed", failed},
          {"pending", 0},
          {"skipped", skipped},
          {"other", 0},
          {"start", report.start_ms},
          {"stop", report.stop_ms}}},
        {"tests", std::move(tests)},
        {"extra",
         {{"stack", report.stack}, {"complete", report.complete}, {"exit_code", report.exit_code}}}}}};
  return dump_json(all) + "\n";
}

}  // namespace cufault
