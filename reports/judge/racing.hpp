// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/expectation.hpp"
#include "reports/model/results.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// The expectations of the other arms of the case with the same operation: of OPERATION and of OPERATION+REMEDY. All of them are samples of
/// one race, up to the failure. Empty for an arm that does not race. Valid until the next expectation_set::put().
std::vector<const expectation*> racing_beside(const arm_result& arm, const std::string& case_name,
                                              const expectation_set& expected, const stack_keys& stack);

/// The arm with trials that its expectation has in place of those that it lacks, where what it lacks is explained:
/// - cudaErrorLaunchFailure in place of cudaErrorAssert, as rarely as it was seen in records, if no rates are expected;
/// - where rates are not compared, a failure that one of `beside` shows, if all that comes after the failure is as expected.
/// Empty if no trial is explained; trials that are not stay as they are. Precondition: observed(arm).
std::optional<arm_result> with_explained_trials(const arm_result& arm, const expectation& expected,
                                                const std::vector<const expectation*>& beside);

}  // namespace cufault
