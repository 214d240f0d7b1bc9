// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/preloaded.hpp"
#include "harness/matrix/world.hpp"

#include <string>
#include <utility>

#include "cufault/cufault_injector.h"

namespace cufault {

/// The rule that the next driver call that `function` matches fails, from any library. It replaces all rules of the process, and the
/// destructor removes all of them. The constructor throws not_provoked where libcufault.so is not preloaded, setup_failed where it refuses the rule.
class failing_driver_call {
 public:
  failing_driver_call(const std::string& function, const std::string& code) {
    set_rules(R"({"rules": [{"function": ")" + function + R"(", "return": ")" + code + R"(", "hits": 1}]})");
  }
  ~failing_driver_call() { set_(""); }
  failing_driver_call(const failing_driver_call&) = delete;
  failing_driver_call& operator=(const failing_driver_call&) = delete;

 private:
  decltype(&cufault_set_rules) set_ = CUFAULT_PRELOADED(cufault_set_rules);
};

/// Made up: one driver call fails in the operation or, where that makes none of the kind, in its proof.
inline fault_type failed_driver_call(std::string name, std::string summary, std::string function,
                                     std::string code) {
  fault_type f;
  f.name = std::move(name);
  f.summary = std::move(summary);
  f.kind = "driver_call";
  f.made_up = true;
  f.arrange = [](arm& a) { under_injector(a); };
  f.provoke = [function = std::move(function), code = std::move(code)](world& w) {
    w.keep<failing_driver_call>(function, code);
  };
  return f;
}

}  // namespace cufault
