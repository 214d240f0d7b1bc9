// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0

#include "reports/printers/printers.hpp"
#include "reports/printers/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

namespace cufault {
namespace {

// What XML 1.0 cannot hold, as a question mark: what a library prints may be anything.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') c = '?';
  return text;
}

/// The element that tells of it; null for none.
const char* element_for(test_status status) {
  return status == test_status::error     ? "error"
         : status == test_status::skipped ? "skipped"
         : status == test_status::failed  ? "failure"
                                          : nullptr;
}

void add_suites(pugi::xml_node& suites, const run_report& report, const std::string& behind_name) {
  for (auto first = report.arms.begin(); first != report.arms.end();) {
    const std::string name = printable(first->case_name + behind_name);
    const auto last = std::find_if(first, report.arms.end(),
                                   [&](const report_arm& a) { return a.case_name != first->case_name; });
    auto suite = suites.append_child("testsuite");
    suite.append_attribute("name") = name.c_str();
    suite.append_attribute("timestamp") = report.started.c_str();
    int failures = 0, errors = 0, skipped = 0;
    double seconds = 0;
    for (auto a = first; a != last; ++a) {
      auto test = suite.append_child("testcase");
      test.append_attribute("classname") = name.c_str();
      test.append_attribute("name") = a->arm.c_str();
      test.append_attribute("time") = fmt::format("{:.3f}", a->seconds).c_str();
      seconds += a->seconds;
      const char* const tag = element_for(a->status);
      if (tag == nullptr) continue;
      ++(a->status == test_status::error ? errors : a->status == test_status::failed ? failures : skipped);
      auto element = test.append_child(tag);
      // Of what changed, the reason says both: "expected ...; seen ...".
      const std::string message = a->why.empty() ? to_string(a->judged) : a->why;
      element.append_attribute("type") = to_string(a->judged).c_str();
      element.append_attribute("message") = printable(message).c_str();
      const std::string body =
          fmt::format("{}: {}\nseen: {}\nrecorded: {}\nrepeat: {}\n", to_string(a->judged), a->why, a->seen,
                      a->expectation.empty() ? "not on this stack" : a->expectation, a->repeat);
      element.text().set(printable(body).c_str());
    }
    suite.append_attribute("tests") = last - first;
    suite.append_attribute("failures") = failures;
    suite.append_attribute("errors") = errors;
    suite.append_attribute("skipped") = skipped;
    suite.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
    first = last;
  }
}

std::string report_as_junit(const report& r) {
  pugi::xml_document document;
  auto declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  auto suites = document.append_child("testsuites");
  suites.append_attribute("name") = "cufault";
  for (const report::stack& s : r.stacks)
    add_suites(suites, s.run, r.stacks.size() > 1 ? fmt::format(" ({})", s.run.stack) : "");
  for (const char* count : {"tests", "failures", "errors", "skipped"}) {
    int all = 0;
    for (const auto& suite : suites.children()) all += suite.attribute(count).as_int();
    suites.append_attribute(count) = all;
  }
  double seconds = 0;
  for (const auto& suite : suites.children()) seconds += suite.attribute("time").as_double();
  suites.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace

const report_printer as_junit{"junit", "junit.xml", "JUnit XML: one suite per case, one test per arm",
                              report_as_junit};

}  // namespace cufault
