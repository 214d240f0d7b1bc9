// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cufault {

/// Bad outside data. what() is one line: "FILE:LINE: FIELD: what is wrong".
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "PATH: cannot be read: REASON"
input_error cannot_be_read(const std::filesystem::path& path, const std::error_code& why);

/// Of outside text, what a message can show of it on a terminal or in a log: 240 characters at most, all of them printable ASCII.
std::string one_line(std::string_view text);

/// A JSON value, read from a text, that remembers where each part of it stood, so that a wrong field is reported by line.
class json_document;

/// Nesting deeper than 64 levels, duplicate keys, texts over 256 MiB and more than 4 million values are
/// refused. `first_line` is the number of the text's first line in the file. `spare`: a document whose memory is used again if nothing
/// else holds it, as of the line before. Throws input_error.
std::shared_ptr<const json_document> parse_json(std::string name, std::string_view text, int first_line = 1,
                                                std::shared_ptr<const json_document> spare = nullptr);
/// The file's bytes; throws input_error where it cannot be read or is over 256 MiB.
std::string read_text(const std::filesystem::path& file);
std::shared_ptr<const json_document> read_json(const std::filesystem::path& file);

/// A place in a json_document. Every accessor throws input_error naming file, line and field.
class json_cursor {
 public:
  explicit json_cursor(std::shared_ptr<const json_document> document);

  [[nodiscard]] json_cursor at(std::string_view key) const;  ///< required member of an object
  [[nodiscard]] std::optional<json_cursor> find(std::string_view key) const;  ///< throws if this is no object
  [[nodiscard]] bool has(std::string_view key) const;                         ///< likewise
  [[nodiscard]] std::vector<json_cursor> items() const;                       ///< elements of an array
  [[nodiscard]] std::size_t size() const;  ///< members of an object, elements of an array; else 0
  [[nodiscard]] std::vector<std::string> keys() const;  ///< keys of an object, sorted
  [[nodiscard]] std::vector<std::pair<std::string, json_cursor>> members()
      const;                                                 ///< of an object, in their order
  void only(std::span<const std::string_view> known) const;  ///< refuses keys not in the list, by name
  void only(std::initializer_list<std::string_view> known) const {
    only(std::span{known.begin(), known.size()});
  }

  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_boolean() const;
  [[nodiscard]] bool is_integer() const;  ///< a number without a fraction or exponent

  [[nodiscard]] std::string string() const;
  [[nodiscard]] std::string_view text() const;           ///< the same; holds as long as the document
  [[nodiscard]] std::int64_t integer() const;            ///< refuses fractions, and what 64 bits do not hold
  [[nodiscard]] std::uint64_t unsigned_integer() const;  ///< likewise
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] nlohmann::json value() const;  ///< a copy
  [[nodiscard]] std::string place() const;     ///< "FILE:LINE"

  [[noreturn]] void fail(std::string_view what) const;  ///< throws input_error for this place

 private:
  json_cursor(std::shared_ptr<const json_document> document, std::uint32_t node);
  std::shared_ptr<const json_document> document_;
  std::uint32_t node_ = 0;
};

}  // namespace cufault
