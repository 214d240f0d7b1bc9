// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cufault {

/// A record of one host or GPU among several.
struct merged_member {
  std::string name{};        ///< of its file or folder: a record does not know its host
  std::string stack{};       ///< stack_label()
  std::size_t observed = 0;  ///< arms
  std::size_t outlying = 0;  ///< arms of which it is an outlier
  std::string started{};     ///< UTC, by its own clock; empty of a stack's folder
  bool complete = true;      ///< the run came to its end
  std::string no_gpu{};      ///< why there was none; empty where there was one, or where it is not told
};

/// Members that saw the same of an arm or, of an arm that races, that saw a signature.
struct merged_group {
  std::string seen{};
  std::string
      how{};  ///< it differs from the first group: "CHANGED: before → now"; empty of that one, and of an arm that races
  std::vector<std::size_t> members{};  ///< indices, ascending
  std::size_t trials = 0;
};

struct merged_arm {
  std::string case_name{}, arm{};
  bool races = false;
  std::vector<merged_group> groups{};    ///< the largest first; never empty
  std::size_t trials = 0, observed = 0;  ///< observed: members
  /// Members that do not agree with the majority or, where it races, whose rates differ from those of the others by more than chance. Each
  /// with how: "CHANGED: before → now".
  std::map<std::size_t, std::string> outliers{};
  bool no_majority = false;  ///< members differ, and no group has more than half of them
};

struct merged_records {
  std::vector<merged_member> members{};  ///< by name
  std::vector<merged_arm> arms{};        ///< by name; that any member observed
  /// Of the stacks: each key of which not all members have the same value, and who has which.
  std::map<std::string, std::map<std::string, std::vector<std::size_t>>> stacks{};
};

/// Takes records one at a time: of each arm it keeps one example of each result. The order of records changes nothing.
class merging {
 public:
  merging();
  ~merging();
  merging(const merging&) = delete;
  merging& operator=(const merging&) = delete;
  /// False where this run is there already.
  bool add(const std::string& name, const record& r);
  [[nodiscard]] merged_records result() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// 2 where no arm was observed, 1 where any arm has outliers or no majority, else 0.
int exit_code(const merged_records& m);

}  // namespace cufault
