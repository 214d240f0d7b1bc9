// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/evidence/baselines.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/examples.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cufault::examples {

/// Baselines in a temporary folder.
class recorded_stacks : public in_directory {
 protected:
  static stack_keys keys(const std::string& cublas, const std::string& capability = "9.0") {
    return {{"cublas", cublas}, {"compute_capability", capability}, {"driver", "580.1"}};
  }
  /// The same arm, expected.
  static arm_result expected(arm_result a) {
    a.expected = true;
    return a;
  }
  /// Files arms of one case as what a stack of this GPU showed.
  std::filesystem::path record_arms(const stack_keys& keys, std::vector<arm_result> arms,
                                    const std::string& gpu = "H200", const std::string& baseline = "recorded",
                                    const std::string& case_name = "memory.leak") const {
    record r;
    *r.stack = {{"keys", keys}, {"gpu", {{"name", "NVIDIA " + gpu}}}};
    r.cases = {{.name = case_name, .arms = std::move(arms)}};
    return file_in_stack(directory / baseline, r);
  }
  [[nodiscard]] baselines recorded() const { return baselines({directory / "recorded"}); }
};

}  // namespace cufault::examples
