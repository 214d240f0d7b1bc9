// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The table: what records say, and what was judged of it, as rows. reports/answers makes an SQLite file of them and queries it.
#pragma once

#include "reports/judge/claims.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// Writes rows of tables as JSON Lines: an object that names a table and its columns, and an array for each of its rows.
class row_writer {
 public:
  using column = std::pair<const char*, const char*>;  ///< its name, and what it says
  explicit row_writer(std::ostream& out) : out_(out) {}
  /// Rows that follow are of this table. `what`: what one of its rows is.
  void begin(const char* table, const char* what, std::span<const column> columns);
  void begin(const char* table, const char* what, std::initializer_list<column> columns) {
    begin(table, what, std::span(columns.begin(), columns.size()));
  }
  /// As many values as columns; null where there is nothing to say. Arrays and objects become JSON in a text.
  void row(const nlohmann::ordered_json& values);

 private:
  std::ostream& out_;
};

/// Null where it is empty.
nlohmann::ordered_json or_null(std::string text);

/// What arms came to in the runs of a record, for `cufault history`: {"record": FILE, "stack": its keys and GPU as JSON that is equal where the
/// stacks are}; for each arm and run [CASE/ARM, start, seed, commit, races, [[digest, words, trials]]]; null. Of an arm with levels the results
/// in the order of levels; of one that races each signature. What could not be compared is left out.
void write_runs(row_writer& to, const std::string& file, const record& r);

/// The tables stacks, judged_arms, trials, steps and made_calls. Precondition: the records are judged.
void write_arms(row_writer& to, std::span<const record> judged, const cost_notes& costs);
/// The tables cost_runs, cost_works and cost_remedies.
void write_costs(row_writer& to, std::span<const cost_record> records);
/// The tables claims and claim_evidence.
void write_claims(row_writer& to, const std::vector<claim_verdict>& verdicts);

}  // namespace cufault
