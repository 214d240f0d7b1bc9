// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Lines of records. That of an arm in the record of a run stands by itself; in a stack's file arms stand behind the line of their case,
// which says once what they share.
#pragma once

#include "reports/model/results.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// The name of a case's control. Its line may name an earlier case whose control is equal ("as").
inline constexpr std::string_view control_arm = "control";

/// {"case": ..., "summary": ..., "run": {...}, "more_runs": [{...}], "base": ...}
struct case_line {
  std::string name{};
  std::string summary{};               ///< of arms that state a detail the summary is "SUMMARY; DETAIL"
  std::optional<run_of_trials> run{};  ///< made all trials of arms that name no run
  /// Each made all trials of two or more other arms, which name it by its index here. An arm states a run that is its alone.
  std::vector<run_of_trials> more_runs{};
  /// Folder of the stack that arms of this case are stored as differences from; empty: all are stored whole.
  std::string base{};
};

/// What most arms of a case share.
case_line line_of(const case_result& c);
nlohmann::ordered_json case_json(const case_line& c);
case_line case_from(const json_cursor& at);  ///< throws input_error

/// {"case": ..., "arm": ..., ...}: a line by itself.
nlohmann::ordered_json arm_json(const std::string& case_name, const arm_result& arm);
/// {"arm": ..., ...}: a line behind that of its case, without what that says. That of a cell of the matrix whose
/// summary begins with the case's states none: it is read as the case's with the cell's name in words behind it.
nlohmann::ordered_json arm_json(const case_line& of, const arm_result& arm);

/// {"arm": ..., "base_hash": ..., ...}: a line behind that of its case, as the difference from the same arm of the case's base: the members that
/// differ, in the line and in each trial, and null for those that only the base has. A list of a trial that differs is stated as list_difference()
/// (list_difference.hpp) where that is shorter. Runs are always stated. The hash is of the base's line. Returns the whole line where the difference is
/// not shorter. If arm_json() comes to write lines otherwise, all stacks that are stored as differences have to be filed anew by a program that
/// reads the old lines.
nlohmann::ordered_json arm_json(const case_line& of, const arm_result& arm, const arm_result& base);
/// Restores the whole line from one with "base_hash". Takes what is copied from `room`. Throws input_error, also where the base's arm has
/// another hash.
nlohmann::ordered_json whole_line(const json_cursor& at, const case_line& of, const arm_result& base,
                                  std::size_t& room);

/// The lines of a case's arms, in order. Those of arms with one trial each, equal in all but its "ms" and run, become one, at the place of the first:
/// {"arms": {NAME: milliseconds, ...}, ...}, with [milliseconds, RUN] for one whose run is not that of the line: null for the case's, or the number
/// of one of its more_runs. An arm that states a run that is its alone keeps its line. Arms that are stored as differences become
/// {"base_arms": {NAME: milliseconds, ...}, "base_hashes": ..., ...}, likewise, with null for the milliseconds of the base; base_hashes are the hashes of
/// these arms, four digits each, in the order in which base_arms names them: sorted.
std::vector<nlohmann::ordered_json> join_equal_arms(const std::vector<nlohmann::ordered_json>& lines);

/// The line of a control with one trial as {"arm": "control", "as": CASE, "ms": ..., "run": ...} where the control of an earlier case of the same
/// file has a line of its own that is equal in all but its run and "ms", and where that is shorter; otherwise the line itself. `earlier`: cases by
/// what such lines have in common. Controls that are stored as differences are left as they are.
nlohmann::ordered_json shorter_control(const nlohmann::ordered_json& line, const std::string& case_name,
                                       std::map<std::string, std::string>& earlier);

/// How much the lines of a file may copy of what they share or repeat, in bytes.
inline constexpr std::size_t most_copied = std::size_t{256} << 20;
/// The arms of a line behind that of its case: one, or several that share it. Of these only those that are `wanted`, by name; all where that is
/// empty. Gives each to `take`, with where its name stands. Takes what is copied from `room`. Throws input_error.
void take_arms(const json_cursor& at, const case_line& of,
               const std::function<bool(const std::string&)>& wanted, std::size_t& room,
               const std::function<void(arm_result, const json_cursor& name)>& take);

/// The lines of arms that share one with "base_arms", each as {"arm": ..., "base_hash": ..., ...}. Of these only those that are `wanted`, by
/// name; all where that is empty. Takes what is copied from `room`. Throws input_error.
void each_differing_arm(const json_cursor& at, const case_line& of,
                        const std::function<bool(const std::string&)>& wanted, std::size_t& room,
                        const std::function<void(const nlohmann::ordered_json& line)>& take);

/// The controls that stand in a stack's file so far, which lines of later cases name by "as".
class earlier_controls {
 public:
  explicit earlier_controls(std::string file) : file_(std::move(file)) {}
  /// {"arm": "control", ...}. Parsed only where a later line names it, so that a reader of few arms skips the others.
  void add(const case_line& of, std::string line, int number);
  /// The arm of a line with "as". Takes what is copied from `room`. Throws input_error.
  arm_result restore(const json_cursor& at, const case_line& of, std::size_t& room);

 private:
  struct control {
    case_line of;
    std::string line;
    int number;
    std::optional<arm_result> arm;
  };
  std::string file_;
  std::map<std::string, control, std::less<>> by_case_;
};

/// An arm by itself, with the name of its case. Throws input_error.
case_result arm_from(const json_cursor& at, std::size_t& room);

}  // namespace cufault
