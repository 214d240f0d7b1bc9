// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/explanation.hpp"
#include "reports/judge/cost.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace cufault {

/// Of explanation_json(); reports/schemas/explanation.schema.json.
inline constexpr int explanation_schema = 1;

/// A row of an answer: a head, and text beside it. Where an answer has too many lines, rows with the greatest `gives` are shortened first.
struct answer_row {
  std::string head, text;
  int gives = 0;          ///< 0: the text stays whole
  std::size_t least = 0;  ///< lines that stay; 0: the row is left out
};
/// What failed, the first cause, what it rests on, its check, what clears it, other causes; without a cause what else failed. Text of the log is printable ASCII in it.
std::vector<answer_row> answer_rows(const explanation& e);
/// In at most so many lines, unless rows that stay whole take more. Keeps to the width of `shown`, and to 100 columns.
void print_rows(std::ostream& out, std::vector<answer_row> rows, const terminal& shown,
                std::size_t most_lines);

/// answer_rows() in at most 10 lines.
void print_first_answer(std::ostream& out, const explanation& e, const std::string& log);

/// All of it: whether the process can go on, the failure, then at most three causes.
void print_explanation(std::ostream& out, const explanation& e, const std::string& log,
                       const cost_notes& costs = {});

/// The explanation for programs. `log`: what was read: a file, "standard input", "command line".
nlohmann::ordered_json explanation_json(const explanation& e, const std::string& log);

}  // namespace cufault
