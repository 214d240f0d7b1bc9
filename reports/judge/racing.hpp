// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/expectation.hpp"
#include "reports/model/results.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// Expectations of the other arms of the case whose names begin with the same operation (OPERATION, OPERATION+REMEDY), on this stack, but
/// for remedies that are in place from the start. Up to the failure they run the same race. Empty if `arm` does not race. The pointers are
/// valid until the next expectation_set::put(). Throws as expectation_set::find().
std::vector<const expectation*> expectations_of_siblings(const arm_result& arm, const std::string& case_name,
                                                         const expectation_set& expected,
                                                         const stack_keys& stack);

struct explained_arm {
  arm_result arm;
  int trials = 0;  ///< how many of its trials have the calls of another one
};
/// A copy of `arm` in which trials that `expected` lacks have the calls of trials that it has, where one of these explains the difference:
/// - the arm races, no rates are expected, and cudaErrorLaunchFailure stands in place of cudaErrorAssert, no more often than in the records;
/// - the rates of the arm are not compared, an expectation in `siblings` shows the failure, everything after it is as expected, and the
///   failure comes no more often than the recorded trials of the arm and its siblings together explain.
/// Trials that cannot be compared are not changed. Empty if no trial is explained.
std::optional<explained_arm> with_explained_trials(const arm_result& arm, const expectation& expected,
                                                   const std::vector<const expectation*>& siblings);

}  // namespace cufault
