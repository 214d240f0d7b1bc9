// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cufault {

/// Cases of the matrix are called matrix.FAULT, and each of their arms but the control is a cell.
inline constexpr std::string_view matrix_family = "matrix.";

/// What varies from cell to cell of a fault, as the arm is called:
/// OPERATION.STATE[.TIMING][.LEVEL][+REMEDY], as in "sgemm_64.warm.arrived", "cublas_create.cold.64+release". Words are of a-z, 0-9, '_'.
struct cell_name {
  std::string operation{};
  std::string state{};   ///< "cold" or "warm"
  std::string timing{};  ///< "racing", "arrived", "synchronised"; empty where the fault has none
  std::optional<std::int64_t> level{};  ///< of a fault that has levels
  std::string remedy{};                 ///< empty: none
  friend bool operator==(const cell_name&, const cell_name&) = default;
};

std::string to_string(const cell_name& c);
/// The same for people, a level without its unit, which only the fault knows: "sgemm_64, warm, arrived", "cublas_create, cold, 64; release".
std::string in_words(const cell_name& c);
/// Empty where the text names no cell.
std::optional<cell_name> cell_named(std::string_view arm);
/// Of a cell, or of an arm of a framework: the arm without its remedy, "matmul.8" of "matmul.8+retry". Empty where it has none.
std::string without_remedy(std::string_view arm);

}  // namespace cufault
