// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Bad outside data. what() is one line: "FILE:LINE: FIELD: what is wrong".
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Of outside text, what a message can show of it on a terminal or in a log: 240 characters at most, all of them printable ASCII.
std::string one_line(std::string_view text);

/// A parsed JSON text that remembers where each value stood, so that a wrong field is reported by line.
struct json_document {
  std::string name;  ///< file name used in messages
  nlohmann::json root;
  int first_line = 1;                  ///< line of the text's beginning
  std::map<std::string, int> line_of;  ///< JSON pointer -> line, 1-based, where it is not first_line
};

/// Nesting deeper than 64 levels, duplicate keys, texts over 256 MiB and more than 4 million values are
/// refused. `first_line` is the number of the text's first line in the file. Throws input_error.
std::shared_ptr<const json_document> parse_json(std::string name, std::string_view text, int first_line = 1);
/// The file's bytes; throws input_error where it cannot be read or is over 256 MiB.
std::string read_text(const std::filesystem::path& file);
std::shared_ptr<const json_document> read_json(const std::filesystem::path& file);

/// A place in a json_document. Every accessor throws input_error naming file, line and field.
class json_cursor {
 public:
  explicit json_cursor(std::shared_ptr<const json_document> document);

  [[nodiscard]] json_cursor at(std::string_view key) const;  ///< required member of an object
  [[nodiscard]] bool has(std::string_view key) const;        ///< throws if this is no object
  [[nodiscard]] std::vector<json_cursor> items() const;      ///< elements of an array
  [[nodiscard]] std::vector<std::string> keys() const;       ///< keys of an object
  void only(std::span<const std::string_view> known) const;  ///< refuses keys not in the list, by name
  void only(std::initializer_list<std::string_view> known) const {
    only(std::span{known.begin(), known.size()});
  }

  [[nodiscard]] std::string string() const;
  [[nodiscard]] std::int64_t integer() const;            ///< refuses fractions, and what 64 bits do not hold
  [[nodiscard]] std::uint64_t unsigned_integer() const;  ///< likewise
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const nlohmann::json& value() const;
  [[nodiscard]] std::string place() const;  ///< "FILE:LINE"

  [[noreturn]] void fail(std::string_view what) const;  ///< throws input_error for this place

 private:
  json_cursor(std::shared_ptr<const json_document> document, const nlohmann::json* value,
              std::string pointer);
  std::shared_ptr<const json_document> document_;
  const nlohmann::json* value_;
  std::string pointer_;
};

}  // namespace cufault
