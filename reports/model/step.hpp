// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/enum_names.hpp"
#include "reports/model/facts.hpp"

#include <string>
#include <string_view>

namespace cufault {

/// Statuses of a call whose process ended in it, where another process goes on with the trial. Facts say by which signal or exit code.
inline constexpr const char *status_crashed = "CRASHED", *status_timed_out = "TIMED_OUT",
                            *status_exited = "EXITED";

/// Whether the numbers that a step computed were looked at, and what they were.
enum class numbers_found { unchecked, right, wrong };
CUFAULT_NAMES(numbers_found, unchecked, right, wrong)

/// What names a step: it does not depend on how the code that makes it is spelt.
struct step_name {
  std::string
      api;  ///< a function of api_functions or framework_functions, or one of own_works: "cublasSgemm"
  std::string
      variant{};  ///< which of several uses of it: "split_k"; letters, digits and "_.+-="; empty for the plain call
  friend bool operator==(const step_name&, const step_name&) = default;
};
/// Why it can name no step; empty if it can.
std::string defect_of(const step_name& name);
/// A variant made of words of a table: every run of characters outside [A-Za-z0-9.+=-] becomes one "_", none at the ends.
std::string variant_of(std::string_view words);
/// Of a row of a table: its first word is the API, the others make the variant. "cublasSgemm, m of 2^31" -> cublasSgemm m_of_2_31.
step_name named_by_words(std::string_view words);
/// "cublasSgemm split_k"
std::string describe(const step_name& name);

/// One step of a trial: an observed call and what it came to. All of it is compared; of facts, those of fact_use::compared.
struct step {
  step_name name;
  std::string
      status{};  ///< the library's name of it: "CUBLAS_STATUS_ALLOC_FAILED"; empty while the call has not returned
  bool ok =
      false;  ///< whether it did what it should: a property of the step, not of the spelling of its status
  numbers_found numbers = numbers_found::unchecked;
  fact_map facts{};
  friend bool operator==(const step&, const step&) = default;
};

/// "cublasSgemm split_k: CUBLAS_STATUS_SUCCESS, numbers wrong (nan elements 4)"
std::string describe(const step& s);

}  // namespace cufault
