// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cufault/context_guard.hpp"

#if __has_include(<catch2/reporters/catch_reporter_event_listener.hpp>)
#include <catch2/catch_config.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_version_macros.hpp>
#include <catch2/interfaces/catch_interfaces_capture.hpp>
#include <catch2/interfaces/catch_interfaces_tag_alias_registry.hpp>
#include <catch2/interfaces/catch_interfaces_testcase.hpp>
#include <catch2/internal/catch_test_case_registry_impl.hpp>
#include <catch2/internal/catch_test_spec_parser.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
namespace cufault::catch2 {
using listener = Catch::EventListenerBase;
using configuration = const Catch::IConfig*;
}  // namespace cufault::catch2
#else  // version 2
#ifndef CATCH_CONFIG_EXTERNAL_INTERFACES
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#endif
#ifndef CATCH_VERSION_MAJOR
#include <catch2/catch.hpp>
#endif
#if CATCH_VERSION_MAJOR == 2 && CATCH_VERSION_MINOR < 13
#error "catch2_guard.hpp needs Catch2 2.13 or 3"
#endif
namespace cufault::catch2 {
using listener = Catch::TestEventListenerBase;
using configuration = const Catch::ReporterConfig&;
}  // namespace cufault::catch2
#endif

namespace cufault {

/// Catch2, version 3 or 2.13: where the CUDA context is lost, the test fails as by a fatal error, and reporters end, JUnit included: a
/// listener can skip no test. The program, started anew in place of this process, runs the tests after it; its reports are report.2.xml for report.xml.
/// With --abort or shards, and with guard_rest::not_run, the process ends with 42 instead. In one file of the test program, of version 2 before
/// or in place of <catch2/catch.hpp>:
///
///     #include <cufault/catch2_guard.hpp>
///     using guard = cufault::catch2_guard<cufault::guard_when::each>;
///     CATCH_REGISTER_LISTENER(guard)
template <guard_when when = guard_when::failures, guard_rest rest = guard_rest::fresh_process>
class catch2_guard : public catch2::listener {
 public:
  /// A fresh process changes the configuration, which Catch2 keeps from changes, before it makes reporters and the list of tests of it.
  explicit catch2_guard(catch2::configuration config) : catch2::listener(config) {
    if (!fresh_.goes_on()) return;
    std::stringstream names;
    names << std::ifstream(fresh_.list).rdbuf() << ",\"" << fails << '"';
    const_cast<Catch::TestSpec&>(m_config->testSpec()) =
        Catch::TestSpecParser(Catch::ITagAliasRegistry::get()).parse(names.str()).testSpec();
#if CATCH_VERSION_MAJOR > 2  // which opens its one file before it makes listeners
    for (const auto& reporter : dynamic_cast<const Catch::Config&>(*m_config).getProcessedReporterSpecs())
      if (auto& file = const_cast<std::string&>(reporter.outputFilename); !file.empty() && file[0] != '%')
        file = fresh_process::file_of(fresh_.number, file);
#endif
    // The process is to fail, whatever the tests do that are left.
    lost_before() = fresh_.lost + ", in a process before this one";
    [[maybe_unused]] const Catch::AutoReg made(
        Catch::makeTestInvoker(+[] { FAIL("cufault guard: context lost in " << lost_before()); }),
        CATCH_INTERNAL_LINEINFO, Catch::StringRef(), Catch::NameAndTags{fails});
    if (const std::size_t found = tests().size(); found != fresh_.tests + 1)
      lost_before() += "; of the tests after it " + std::to_string(found - 1) + " are found, not " +
                       std::to_string(fresh_.tests);
  }

  void sectionStarting(const Catch::SectionInfo& section) override {
    if (depth_++ > 0) return;
    test_ = section.name;
    guard_.begin(when);
  }
  void sectionEnded(const Catch::SectionStats& section) override {
    if (--depth_ != 0 || ending_ || test_ == fails ||
        (when == guard_when::failures && section.assertions.failed == 0))
      return;
    const std::string why = guard_.look(), left = guard_.left_behind();
    if (!left.empty() && when == guard_when::each)
      std::cerr << "cufault guard: left behind by " << test_ << ": " << left << '\n';
    if (why.empty()) return;
    ending_ = true;
    Catch::getResultCapture().handleFatalErrorCondition("cufault guard: the CUDA context is lost: " + why +
                                                        "; the tests after it are not run in this process");
    std::cerr << "cufault guard: context lost in " << test_ << ": " << why << std::endl;
    go_on(why);
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(42);  // as Catch2 ends after a failed test; a driver may hang in destructors
  }

 private:
  static std::string& lost_before() {
    static std::string text;
    return text;
  }
  auto tests() const {
    return Catch::filterTests(Catch::getAllTestCasesSorted(*m_config), m_config->testSpec(), *m_config);
  }
  void go_on(const std::string& why) {
    if (rest == guard_rest::not_run || m_config->abortAfter() > 0) return;
#if CATCH_VERSION_MAJOR > 2
    if (m_config->shardCount() > 1) return;
#endif
    std::string names;
    std::size_t left = 0;
    bool is_behind = false;
    for (const auto& test : tests()) {
      const std::string& name = test.getTestCaseInfo().name;
      if (is_behind && name != test_ && name != fails) {
        names += left++ == 0 ? "\"" : ",\"";
        for (const char c : name)
          (names += std::string_view("\"\\,").find(c) != std::string_view::npos ? "\\" : "") += c;
        names += '"';
      }
      is_behind = is_behind || name == test_;
    }
    if (left == 0) return;
    std::cerr << "cufault guard: a fresh process runs the tests after it: " << left << std::endl;
    const std::string failed = fresh_.start(
        test_ + ": " + why, left, names, "",
        CATCH_VERSION_MAJOR > 2 ? std::vector<std::string>{} : std::vector<std::string>{"-o", "--out"});
    std::cerr << "cufault guard: none starts: " << failed << std::endl;
  }

  static constexpr const char* fails = "cufault guard: context lost";
  context_guard guard_;
  const fresh_process fresh_;
  std::string test_;
  int depth_ = 0;
  bool ending_ = false;
};

}  // namespace cufault
