// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Long texts that lines of a stack's file repeat (messages of a library's log, notes, names of measurements) are stated once, in a line in front of all
// cases: {"texts": {"3fa": "why it could not be prepared"}}. In the lines of arms, "$3fa" stands for the text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

class json_cursor;

class shared_texts {
 public:
  shared_texts() = default;
  /// Of the lines of a file: texts of `trials` (but not of `calls` and `after`, which people search for) and of `races`, where they take less room when
  /// they are shared. Also each text that looks like a sign, wherever it stands.
  explicit shared_texts(const std::vector<nlohmann::ordered_json>& lines);
  /// {"texts": {...}}. Throws input_error where it has another shape.
  explicit shared_texts(const json_cursor& line);

  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] nlohmann::ordered_json line() const;  ///< {"texts": {...}}
  /// The line of an arm, with signs in place of the texts that are shared.
  [[nodiscard]] nlohmann::ordered_json with_signs(nlohmann::ordered_json line) const;
  /// The line with the texts in place of their signs. Takes its bytes from `room` if it has signs. Throws input_error, which names `file` and the
  /// line's `number`, where a text is not stated or `room` is too small.
  [[nodiscard]] std::string restored(std::string_view line, const std::string& file, int number,
                                     std::size_t& room) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_{};  ///< by what stands behind '$'
};

}  // namespace cufault
