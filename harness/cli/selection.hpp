// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Which cases and arms a run has: by name, tier and part, with variables that were chosen for all trials.
#pragma once

#include "harness/cli/run_arguments.hpp"
#include "harness/model/case.hpp"

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// A case, and those of its arms that run. Borrowed from the catalogue, or from copies of it.
struct selected_case {
  const failure_case* what;
  std::vector<const arm*> arms;
  std::set<std::string> named{};  ///< arms that were named themselves, by CASE/ARM
};

/// CASE, or FAMILY.
bool names_case(const std::string& name, const failure_case& c);
/// Families, cases and arms that can be named: "handles", CASE, CASE/ARM.
std::vector<std::string> names_of_cases();
/// Those that the arguments name, by case, family or CASE/ARM, or all of the tier; arms of frameworks where `frameworks`. With an arm come the
/// controls of its case and what answers it. Empty where the tier or the part has none. Throws usage_error for a name of nothing.
std::vector<selected_case> select_cases(const run_arguments& arguments, bool frameworks);
/// Families of frameworks that these need.
std::set<std::string> families_of(const std::vector<selected_case>& selected);
/// "; --tier full would run NAME" for each name that alone was not enough.
std::string how_to_run(const std::vector<std::string>& names);
/// Variables of trials whose arm says nothing of them.
std::map<std::string, std::string> usual_environment();
/// The same selection, of copies of cases in which trials get the chosen values in place of the usual ones. A case of which an arm sets such
/// a variable to another value compares the two itself, and is left as it is. `copies` is to outlive what is returned.
std::vector<selected_case> with_chosen_variables(const std::vector<selected_case>& selected,
                                                 const std::map<std::string, std::string>& chosen,
                                                 std::deque<failure_case>& copies);

}  // namespace cufault
