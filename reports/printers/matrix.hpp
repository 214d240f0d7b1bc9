// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/cost.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// Of the JSON, reports/schemas/matrix.schema.json.
inline constexpr int matrix_schema = 1;

/// What a section of the output is about; it has a table, with rows and columns that are all alike made one, and what outcomes depend on.
struct matrix_layout {
  table_style style = table_style::text;
  std::size_t width = 100;  ///< of a line of the tables, in the style text
  axis along =
      axis::operation;  ///< a section a fault, with its operations as columns; or a section an operation
};

/// For each stack and each fault (or operation): the table, its conditions, and what remedies did. Where a remedy was asked for, all cells have
/// one, and the table has what it did. Of a remedy that cleared something, what it costs, where that was measured on the stack.
void print_matrix(std::ostream& out, const std::vector<stack_matrix>& all, const matrix_layout& layout,
                  const cost_notes& costs = {});

/// What cells came to, by stacks: a group for each combination of the values of these keys ("cublas", "gpu", "driver", ...).
struct stack_comparison {
  std::vector<std::string> groups{};  ///< "cublas 13.1.0, gpu NVIDIA H200"
  struct difference {
    observed_cell cell{};              ///< of the first group
    std::vector<std::string> shown{};  ///< for each group
  };
  std::vector<difference> differing{};
  std::size_t equal = 0, not_in_all = 0;  ///< cells
};
stack_comparison compare_stacks(const std::vector<stack_matrix>& all, const std::vector<std::string>& keys);
void print_comparison(std::ostream& out, const stack_comparison& c, const matrix_layout& layout);
/// Only the cells that differ.
std::vector<stack_matrix> differing_cells(const std::vector<stack_matrix>& all, const stack_comparison& c);

/// A line a cell, below a line of names.
void print_matrix_csv(std::ostream& out, const std::vector<stack_matrix>& all);
nlohmann::ordered_json matrix_json(const std::vector<stack_matrix>& all, axis along);

}  // namespace cufault
