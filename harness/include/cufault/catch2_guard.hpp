// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cufault/context_guard.hpp"

#if !__has_include(<catch2/reporters/catch_reporter_event_listener.hpp>)
#error "catch2_guard.hpp needs Catch2 3"
#endif
#include <catch2/interfaces/catch_interfaces_capture.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace cufault {

/// Catch2, version 3: where the CUDA context is lost, the test fails as by a fatal error, reporters end, JUnit included, and the process ends
/// with 42: a listener can skip no test. In one file of the test program:
///
///     #include <cufault/catch2_guard.hpp>
///     using guard = cufault::catch2_guard<cufault::guard_when::each>;
///     CATCH_REGISTER_LISTENER(guard)
template <guard_when when = guard_when::failures>
class catch2_guard : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;

  void sectionStarting(const Catch::SectionInfo&) override {
    if (depth_++ == 0) guard_.begin(when);
  }
  void sectionEnded(const Catch::SectionStats& section) override {
    if (--depth_ != 0 || ending_ || (when == guard_when::failures && section.assertions.failed == 0)) return;
    const std::string why = guard_.look(), left = guard_.left_behind();
    if (!left.empty() && when == guard_when::each)
      std::cerr << "cufault guard: left behind by " << section.sectionInfo.name << ": " << left << '\n';
    if (why.empty()) return;
    ending_ = true;
    const std::string text =
        "cufault guard: the CUDA context is lost: " + why + "; the tests after it are not run";
    Catch::getResultCapture().handleFatalErrorCondition(text);
    std::cerr << "cufault guard: context lost in " << section.sectionInfo.name << ": " << why << std::endl;
    std::cout.flush();
    std::fflush(nullptr);
    std::_Exit(42);  // as Catch2 ends after a failed test; a driver may hang in destructors
  }

 private:
  context_guard guard_;
  int depth_ = 0;
  bool ending_ = false;
};

}  // namespace cufault
