// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Recorded stacks as what runs are judged by.
#pragma once

#include "reports/evidence/distance.hpp"
#include "reports/model/record.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cufault {

/// What an arm showed on a recorded stack.
struct expectation {
  const arm_result* shown = nullptr;  ///< owned by the baselines, or by who called expectation_of()
  std::vector<plateau> seen{};        ///< what is compared
  /// Of an arm that races: how many trials showed each of `seen`. Else empty.
  std::vector<int> counts{};
  std::string stack{};  ///< "H200, cuBLAS 13.1.0"
};
/// Precondition: observed(arm). `races`: its trials are a sample.
expectation expectation_of(const arm_result& arm, bool races);

/// What the recorded stacks say of an arm on one stack.
struct reference {
  /// Of distance 0: one stack. Further away: the nearest one or, where both are recorded, the nearest versions below and above.
  std::vector<expectation> from{};
  int distance = 0;        ///< 0: a judgement; more: a prediction
  bool undefined = false;  ///< recorded, and nothing is expected of it: nothing is compared
};

/// Folders of stacks. A stack's family of cases is read when an arm of it is first looked up.
class baselines {
 public:
  /// Of several folders the earlier come first: a site's own, then those that come with cufault. A folder that is missing has no stacks.
  /// A stack.json that cannot be read is in problems(), and its stack is left out.
  explicit baselines(const std::vector<std::filesystem::path>& folders);
  baselines();
  ~baselines();
  baselines(baselines&&) noexcept;
  baselines& operator=(baselines&&) noexcept;
  baselines(const baselines&) = delete;
  baselines& operator=(const baselines&) = delete;

  /// nullptr where no recorded stack says anything. Valid as long as this object. Lines that cannot be read are in problems(), and are left out.
  [[nodiscard]] const reference* find(const std::string& case_name, const std::string& arm,
                                      const stack_keys& here) const;
  /// "FILE:LINE: ..." of lines that could not be read so far.
  [[nodiscard]] const std::vector<std::string>& problems() const;
  /// Leaves out the stacks for which `which` is true, and no others, as for judging a stack by the others. What find() returned before is void.
  void leave_out(const std::function<bool(const std::string& folder, const stack_keys& keys)>& which);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace cufault
