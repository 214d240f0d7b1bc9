// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

constexpr std::size_t deepest = 64;
constexpr std::size_t longest_text = std::size_t{256} << 20;
constexpr std::size_t most_values = 4'000'000;  // each costs far more memory here than its bytes in the text
constexpr std::size_t longest_message = 240;

[[noreturn]] void refuse(std::string_view name, int line, std::string_view what) {
  throw input_error(fmt::format("{}:{}: {}", name, line, what));
}

/// Line of the last character that the parser took.
struct line_counter {
  int line = 1;
  bool ended = false;  // the last character ended its line

  void take(char c) {
    line += ended ? 1 : 0;
    ended = c == '\n';
  }
};

/// Input iterator that tells a line_counter what passes through it.
class counting_iterator {
 public:
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  counting_iterator(const char* at, line_counter* lines) : at_(at), lines_(lines) {}
  reference operator*() const { return *at_; }
  counting_iterator& operator++() {
    lines_->take(*at_++);
    return *this;
  }
  counting_iterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const counting_iterator& a, const counting_iterator& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  line_counter* lines_;
};

std::string with_key(std::string pointer, std::string_view key) {
  pointer += '/';
  for (const char c : key) {
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
  return pointer;
}

std::string with_index(const std::string& pointer, std::size_t index) {
  return fmt::format("{}/{}", pointer, index);
}

/// Builds the document and notes the line of each value.
class builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// Of a text of one line no places are noted: they are all first_line.
  builder(json_document& document, const line_counter& lines, int first_line, bool one_line)
      : document_(document), lines_(lines), first_line_(first_line), one_line_(one_line) {}

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t& value) override { return scalar(std::move(value)); }
  bool start_object(std::size_t /*elements*/) override { return open(nlohmann::json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    if (open_.back().value->contains(key))
      refuse(document_.name, line(), fmt::format("key \"{}\" twice", one_line(key)));
    key_ = std::move(key);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    // The library puts its own identifiers and position in front of what is wrong.
    std::string_view what = error.what();
    if (const auto at = what.find("syntax error"); at != std::string_view::npos)
      what.remove_prefix(at);
    else if (const auto bracket = what.find("] "); bracket != std::string_view::npos)
      what.remove_prefix(bracket + 2);
    refuse(document_.name, line(),
           fmt::format("{} (byte {} of the {})", one_line(what), position, one_line_ ? "line" : "file"));
  }

 private:
  struct level {
    nlohmann::json* value;
    std::string pointer;
  };

  [[nodiscard]] int line() const { return first_line_ + lines_.line - 1; }

  std::pair<nlohmann::json*, std::string> place(nlohmann::json value) {
    if (++values_ > most_values)
      refuse(document_.name, line(), fmt::format("more than {} values", most_values));
    nlohmann::json* where = &document_.root;
    std::string pointer;
    if (open_.empty()) {
      *where = std::move(value);
    } else if (auto& [parent, parent_pointer] = open_.back(); parent->is_array()) {
      if (!one_line_) pointer = with_index(parent_pointer, parent->size());
      parent->push_back(std::move(value));
      where = &parent->back();
    } else {
      if (!one_line_) pointer = with_key(parent_pointer, key_);
      where = &((*parent)[key_] = std::move(value));
    }
    if (line() != document_.first_line) document_.line_of[pointer] = line();
    return {where, std::move(pointer)};
  }

  bool scalar(nlohmann::json value) {
    place(std::move(value));
    return true;
  }

  bool open(nlohmann::json value) {
    if (open_.size() == deepest)
      refuse(document_.name, line(), fmt::format("nested deeper than {} levels", deepest));
    // Growing an array moves its elements, but only the last one is open, and nothing is added beside it
    // meanwhile.
    auto [where, pointer] = place(std::move(value));
    open_.push_back({where, std::move(pointer)});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  json_document& document_;
  const line_counter& lines_;
  int first_line_;
  bool one_line_;
  std::vector<level> open_;
  std::string key_;
  std::size_t values_ = 0;
};

std::string kind_of(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return "null";
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "an array";
    case nlohmann::json::value_t::string:
      return "a string";
    case nlohmann::json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    default:
      return "a number";
  }
}

bool plain(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// "/expectations/0/arm" -> "expectations[0].arm"
std::string field_of(const nlohmann::json& root, std::string_view pointer) {
  if (pointer.empty()) return "top level";
  std::string field;
  const auto* value = &root;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    std::string key;
    for (std::size_t i = 0; i < token.size(); ++i) {
      if (token[i] == '~' && i + 1 < token.size())
        key += token[++i] == '0' ? '~' : '/';
      else
        key += token[i];
    }
    if (value->is_array()) {
      field += fmt::format("[{}]", key);
      value = &(*value)[std::stoul(key)];
    } else {
      field += plain(key) ? fmt::format("{}{}", field.empty() ? "" : ".", key)
                          : fmt::format("[\"{}\"]", one_line(key));
      value = &(*value)[key];
    }
  }
  return field;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line{text.substr(0, longest_message)};
  for (auto& c : line)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > longest_message) line += "...";
  return line;
}

std::shared_ptr<const json_document> parse_json(std::string name, std::string_view text, int first_line) {
  if (text.size() > longest_text)
    refuse(name, first_line, fmt::format("longer than {} MiB", longest_text >> 20));
  auto document = std::make_shared<json_document>();
  document->name = std::move(name);
  document->first_line = first_line;
  line_counter lines;
  builder handler{*document, lines, first_line, text.find('\n') == std::string_view::npos};
  nlohmann::json::sax_parse(counting_iterator{text.data(), &lines},
                            counting_iterator{text.data() + text.size(), &lines}, &handler);
  return document;
}

std::string read_text(const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in{std::fopen(file.c_str(), "rbe"), &std::fclose};
  const auto unreadable = [&] {
    return input_error(
        fmt::format("{}: cannot be read: {}", file.string(), std::generic_category().message(errno)));
  };
  if (!in) throw unreadable();
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (const auto got = std::fread(block.data(), 1, block.size(), in.get())) {
    text.append(block, 0, got);
    if (text.size() > longest_text)
      throw input_error(fmt::format("{}: longer than {} MiB", file.string(), longest_text >> 20));
  }
  if (std::ferror(in.get()) != 0) throw unreadable();
  return text;
}

std::shared_ptr<const json_document> read_json(const std::filesystem::path& file) {
  return parse_json(file.string(), read_text(file));
}

json_cursor::json_cursor(std::shared_ptr<const json_document> document)
    : document_(std::move(document)), value_(&document_->root) {}

json_cursor::json_cursor(std::shared_ptr<const json_document> document, const nlohmann::json* value,
                         std::string pointer)
    : document_(std::move(document)), value_(value), pointer_(std::move(pointer)) {}

json_cursor json_cursor::at(std::string_view key) const {
  if (!has(key)) fail(fmt::format("\"{}\" is missing", key));
  return {document_, &*value_->find(key), with_key(pointer_, key)};
}

bool json_cursor::has(std::string_view key) const {
  if (!value_->is_object()) fail(fmt::format("expected an object, found {}", kind_of(*value_)));
  return value_->contains(key);
}

std::vector<json_cursor> json_cursor::items() const {
  if (!value_->is_array()) fail(fmt::format("expected an array, found {}", kind_of(*value_)));
  std::vector<json_cursor> list;
  list.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    list.push_back(json_cursor{document_, &(*value_)[i], with_index(pointer_, i)});
  return list;
}

std::vector<std::string> json_cursor::keys() const {
  if (!value_->is_object()) fail(fmt::format("expected an object, found {}", kind_of(*value_)));
  std::vector<std::string> list;
  for (const auto& [key, value] : value_->items()) list.push_back(key);
  return list;
}

void json_cursor::only(std::span<const std::string_view> known) const {
  for (const auto& key : keys())
    if (std::find(known.begin(), known.end(), key) == known.end()) at(key).fail("unknown key");
}

std::string json_cursor::string() const {
  if (!value_->is_string()) fail(fmt::format("expected a string, found {}", kind_of(*value_)));
  return value_->get<std::string>();
}

std::int64_t json_cursor::integer() const {
  if (!value_->is_number_integer()) {
    const auto found = value_->is_number() ? value_->dump() : kind_of(*value_);
    fail(fmt::format("expected an integer, found {}", found));
  }
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail(fmt::format("{} does not fit a signed 64-bit integer", value_->dump()));
  return value_->get<std::int64_t>();
}

std::uint64_t json_cursor::unsigned_integer() const {
  if (value_->is_number_unsigned()) return value_->get<std::uint64_t>();
  const auto signed_value = integer();  // throws for anything that is no integer
  if (signed_value < 0) fail(fmt::format("expected no negative number, found {}", signed_value));
  return static_cast<std::uint64_t>(signed_value);
}

double json_cursor::number() const {
  if (!value_->is_number()) fail(fmt::format("expected a number, found {}", kind_of(*value_)));
  return value_->get<double>();
}

bool json_cursor::boolean() const {
  if (!value_->is_boolean()) fail(fmt::format("expected true or false, found {}", kind_of(*value_)));
  return value_->get<bool>();
}

const nlohmann::json& json_cursor::value() const {
  return *value_;
}

std::string json_cursor::place() const {
  const auto line = document_->line_of.find(pointer_);
  return fmt::format("{}:{}", document_->name,
                     line == document_->line_of.end() ? document_->first_line : line->second);
}

void json_cursor::fail(std::string_view what) const {
  throw input_error(fmt::format("{}: {}: {}", place(), field_of(document_->root, pointer_), one_line(what)));
}

}  // namespace cufault
