// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

bool plain(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line{text.substr(0, longest_message)};
  for (auto& c : line)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > longest_message) line += "...";
  return line;
}

/// Values in the order of their beginnings, so that the first child of a value stands right behind it.
class json_document {
 public:
  enum class kind : std::uint8_t { null, boolean, integer, unsigned_integer, real, string, array, object };
  struct node {
    std::uint32_t parent = 0;
    std::uint32_t next = 0;  ///< its parent's next child; 0: none
    std::uint32_t key_at = 0, key_size = 0;
    std::uint32_t size = 0;  ///< children, or bytes of a text
    int line = 0;
    kind what = kind::null;
    union {
      bool yes;
      std::int64_t integer;
      std::uint64_t unsigned_integer;
      double real;
      std::uint32_t text_at;
    };
  };

  std::string name;  ///< file name used in messages
  int first_line = 1;
  std::string text;  ///< of all keys and strings
  std::vector<node> nodes;

  [[nodiscard]] std::string_view key_of(const node& n) const { return {text.data() + n.key_at, n.key_size}; }
  [[nodiscard]] std::string_view text_of(const node& n) const { return {text.data() + n.text_at, n.size}; }
  [[nodiscard]] std::uint32_t child_of(std::uint32_t at) const { return nodes[at].size > 0 ? at + 1 : 0; }
  [[nodiscard]] std::uint32_t member_of(std::uint32_t at, std::string_view key) const;  ///< 0: none
  [[nodiscard]] std::string kind_of(std::uint32_t at) const;   ///< "an object", "true"
  [[nodiscard]] std::string field_of(std::uint32_t at) const;  ///< "expectations[0].arm"
  [[nodiscard]] nlohmann::json json_of(std::uint32_t at) const;
  std::uint32_t keep(std::string_view more) {  ///< where it stands in `text`
    const auto at = static_cast<std::uint32_t>(text.size());
    text += more;
    return at;
  }
};

std::uint32_t json_document::member_of(std::uint32_t at, std::string_view key) const {
  for (std::uint32_t child = child_of(at); child != 0; child = nodes[child].next)
    if (key_of(nodes[child]) == key) return child;
  return 0;
}

std::string json_document::kind_of(std::uint32_t at) const {
  switch (nodes[at].what) {
    case kind::null:
      return "null";
    case kind::object:
      return "an object";
    case kind::array:
      return "an array";
    case kind::string:
      return "a string";
    case kind::boolean:
      return nodes[at].yes ? "true" : "false";
    default:
      return "a number";
  }
}

std::string json_document::field_of(std::uint32_t at) const {
  if (at == 0) return "top level";
  const std::uint32_t parent = nodes[at].parent;
  std::string field = parent == 0 ? std::string() : field_of(parent);
  if (nodes[parent].what == kind::array) {
    std::size_t index = 0;
    for (std::uint32_t child = child_of(parent); child != at; child = nodes[child].next) ++index;
    return fmt::format("{}[{}]", field, index);
  }
  const std::string_view key = key_of(nodes[at]);
  if (!plain(key)) return fmt::format("{}[\"{}\"]", field, one_line(key));
  return fmt::format("{}{}{}", field, field.empty() ? "" : ".", key);
}

nlohmann::json json_document::json_of(std::uint32_t at) const {
  const node& n = nodes[at];
  switch (n.what) {
    case kind::null:
      return nullptr;
    case kind::boolean:
      return n.yes;
    case kind::integer:
      return n.integer;
    case kind::unsigned_integer:
      return n.unsigned_integer;
    case kind::real:
      return n.real;
    case kind::string:
      return text_of(n);
    case kind::array:
    case kind::object:
      break;
  }
  nlohmann::json all = n.what == kind::array ? nlohmann::json::array() : nlohmann::json::object();
  for (std::uint32_t child = child_of(at); child != 0; child = nodes[child].next) {
    if (n.what == kind::array)
      all.push_back(json_of(child));
    else
      all[std::string(key_of(nodes[child]))] = json_of(child);
  }
  return all;
}

namespace {

/// Takes what the parser finds into a document, and says what is wrong with it.
class builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `lines`: null where the text is one line.
  builder(json_document& document, const line_counter* lines) : document_(document), lines_(lines) {}

  bool null() override {
    return scalar(kind::null, [](node&) {});
  }
  bool boolean(bool value) override {
    return scalar(kind::boolean, [&](node& n) { n.yes = value; });
  }
  bool number_integer(number_integer_t value) override {
    return scalar(kind::integer, [&](node& n) { n.integer = value; });
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(kind::unsigned_integer, [&](node& n) { n.unsigned_integer = value; });
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return scalar(kind::real, [&](node& n) { n.real = value; });
  }
  bool string(string_t& value) override {
    return scalar(kind::string, [&](node& n) {
      n.text_at = document_.keep(value);
      n.size = static_cast<std::uint32_t>(value.size());
    });
  }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none
  bool start_object(std::size_t /*elements*/) override { return open(kind::object); }
  bool start_array(std::size_t /*elements*/) override { return open(kind::array); }
  bool end_object() override {
    refuse_equal_keys(open_.back());
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& key) override {
    if (lines_ != nullptr) open_.back().key_lines.push_back(line());
    key_at_ = document_.keep(key);
    key_size_ = static_cast<std::uint32_t>(key.size());
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    // The library puts its own identifiers and position in front of what is wrong, and all since the last value behind it.
    std::string what = error.what();
    if (const auto at = what.find("syntax error"); at != what.npos)
      what.erase(0, at);
    else if (const auto bracket = what.find("] "); bracket != what.npos)
      what.erase(0, bracket + 2);
    constexpr std::string_view read = "last read: '";
    constexpr std::size_t shown = 40;
    if (const auto at = what.find(read); at != what.npos)
      if (const auto from = at + read.size(), end = what.rfind('\''); end > from + shown)
        what.replace(from, end - from - shown, "...");
    refuse(
        document_.name, line(),
        fmt::format("{} (byte {} of the {})", one_line(what), position, lines_ == nullptr ? "line" : "file"));
  }

 private:
  using kind = json_document::kind;
  using node = json_document::node;
  struct open_list {
    std::uint32_t self = 0, last_child = 0;
    std::vector<int> key_lines{};  // where the text has several lines
  };

  [[nodiscard]] int line() const { return document_.first_line + (lines_ == nullptr ? 1 : lines_->line) - 1; }
  std::uint32_t add(kind what) {
    if (document_.nodes.size() == most_values)
      refuse(document_.name, line(), fmt::format("more than {} values", most_values));
    const auto self = static_cast<std::uint32_t>(document_.nodes.size());
    document_.nodes.push_back({.line = line(), .what = what, .unsigned_integer = 0});
    if (open_.empty()) return self;
    open_list& list = open_.back();
    node& parent = document_.nodes[list.self];
    document_.nodes[self].parent = list.self;
    if (parent.what == kind::object) {
      document_.nodes[self].key_at = key_at_;
      document_.nodes[self].key_size = key_size_;
    }
    if (list.last_child != 0) document_.nodes[list.last_child].next = self;
    list.last_child = self;
    ++parent.size;
    return self;
  }

  template <class Set>
  bool scalar(kind what, Set set) {
    set(document_.nodes[add(what)]);
    return true;
  }

  bool open(kind what) {
    if (open_.size() == deepest)
      refuse(document_.name, line(), fmt::format("nested deeper than {} levels", deepest));
    open_.push_back({.self = add(what)});
    return true;
  }

  void refuse_equal_keys(const open_list& object) {
    keys_.clear();
    std::size_t index = 0;
    for (std::uint32_t child = document_.child_of(object.self); child != 0;
         child = document_.nodes[child].next)
      keys_.emplace_back(document_.key_of(document_.nodes[child]), index++);
    std::ranges::sort(keys_);
    const std::pair<std::string_view, std::size_t>* first = nullptr;  // of those that stand a second time
    for (std::size_t i = 1; i < keys_.size(); ++i)
      if (keys_[i].first == keys_[i - 1].first && (first == nullptr || keys_[i].second < first->second))
        first = &keys_[i];
    if (first != nullptr)
      refuse(document_.name, lines_ == nullptr ? line() : object.key_lines[first->second],
             fmt::format("key \"{}\" twice", one_line(first->first)));
  }

  json_document& document_;
  const line_counter* lines_;
  std::vector<open_list> open_;
  std::uint32_t key_at_ = 0, key_size_ = 0;
  std::vector<std::pair<std::string_view, std::size_t>> keys_;  // of one object at a time, with their places
};

}  // namespace

std::shared_ptr<const json_document> parse_json(std::string name, std::string_view text, int first_line,
                                                std::shared_ptr<const json_document> spare) {
  if (text.size() > longest_text)
    refuse(name, first_line, fmt::format("longer than {} MiB", longest_text >> 20));
  if (const auto at = text.find('\0'); at != text.npos)  // the library takes it for the end
    refuse(name, first_line + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n')),
           fmt::format("a NUL byte (byte {} of the text)", at + 1));
  auto document = spare.use_count() == 1 ? std::const_pointer_cast<json_document>(std::move(spare))
                                         : std::make_shared<json_document>();
  document->text.clear();
  document->nodes.clear();
  document->name = std::move(name);
  document->first_line = first_line;
  document->text.reserve(text.size());
  document->nodes.reserve(std::min(text.size() / 12 + 1, most_values));
  if (text.find('\n') == std::string_view::npos) {
    builder handler{*document, nullptr};
    nlohmann::json::sax_parse(text, &handler);
  } else {
    line_counter lines;
    builder handler{*document, &lines};
    nlohmann::json::sax_parse(counting_iterator{text.data(), &lines},
                              counting_iterator{text.data() + text.size(), &lines}, &handler);
  }
  return document;
}

input_error cannot_be_read(const std::filesystem::path& path, const std::error_code& why) {
  return input_error(fmt::format("{}: cannot be read: {}", one_line(path.string()), why.message()));
}

std::string read_text(const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in{std::fopen(file.c_str(), "rbe"), &std::fclose};
  const auto refuse = [&] { throw cannot_be_read(file, {errno, std::generic_category()}); };
  if (!in) refuse();
  const auto refuse_length = [&] {
    throw input_error(fmt::format("{}: longer than {} MiB", file.string(), longest_text >> 20));
  };
  std::error_code no_size;
  const auto size = std::filesystem::file_size(file, no_size);
  if (!no_size && size > longest_text) refuse_length();
  std::string text;
  if (!no_size) text.reserve(size + 1);
  std::string block(std::size_t{1} << 16, '\0');
  while (const auto got = std::fread(block.data(), 1, block.size(), in.get())) {
    text.append(block, 0, got);
    if (text.size() > longest_text) refuse_length();
  }
  if (std::ferror(in.get()) != 0) refuse();
  return text;
}

std::shared_ptr<const json_document> read_json(const std::filesystem::path& file) {
  return parse_json(file.string(), read_text(file));
}

json_cursor::json_cursor(std::shared_ptr<const json_document> document) : document_(std::move(document)) {}

json_cursor::json_cursor(std::shared_ptr<const json_document> document, std::uint32_t node)
    : document_(std::move(document)), node_(node) {}

json_cursor json_cursor::at(std::string_view key) const {
  auto member = find(key);
  if (!member) fail(fmt::format("\"{}\" is missing", key));
  return *std::move(member);
}

std::optional<json_cursor> json_cursor::find(std::string_view key) const {
  if (!is_object()) fail(fmt::format("expected an object, found {}", document_->kind_of(node_)));
  const std::uint32_t member = document_->member_of(node_, key);
  if (member == 0) return std::nullopt;
  return json_cursor{document_, member};
}

bool json_cursor::has(std::string_view key) const {
  return find(key).has_value();
}

std::vector<json_cursor> json_cursor::items() const {
  if (!is_array()) fail(fmt::format("expected an array, found {}", document_->kind_of(node_)));
  std::vector<json_cursor> list;
  list.reserve(document_->nodes[node_].size);
  for (std::uint32_t child = document_->child_of(node_); child != 0; child = document_->nodes[child].next)
    list.push_back(json_cursor{document_, child});
  return list;
}

std::size_t json_cursor::size() const {
  return is_object() || is_array() ? document_->nodes[node_].size : 0;
}

std::vector<std::string> json_cursor::keys() const {
  if (!is_object()) fail(fmt::format("expected an object, found {}", document_->kind_of(node_)));
  std::vector<std::string> list;
  for (std::uint32_t child = document_->child_of(node_); child != 0; child = document_->nodes[child].next)
    list.emplace_back(document_->key_of(document_->nodes[child]));
  std::ranges::sort(list);
  return list;
}

std::vector<std::pair<std::string, json_cursor>> json_cursor::members() const {
  if (!is_object()) fail(fmt::format("expected an object, found {}", document_->kind_of(node_)));
  std::vector<std::pair<std::string, json_cursor>> list;
  for (std::uint32_t child = document_->child_of(node_); child != 0; child = document_->nodes[child].next)
    list.emplace_back(document_->key_of(document_->nodes[child]), json_cursor(document_, child));
  return list;
}

void json_cursor::only(std::span<const std::string_view> known) const {
  const auto is_known = [&](std::string_view key) { return std::ranges::find(known, key) != known.end(); };
  if (!is_object()) fail(fmt::format("expected an object, found {}", document_->kind_of(node_)));
  bool all = true;
  for (std::uint32_t child = document_->child_of(node_); child != 0; child = document_->nodes[child].next)
    all = all && is_known(document_->key_of(document_->nodes[child]));
  if (all) return;
  for (const auto& key : keys())
    if (!is_known(key)) at(key).fail("unknown key");
}

bool json_cursor::is_object() const {
  return document_->nodes[node_].what == json_document::kind::object;
}
bool json_cursor::is_array() const {
  return document_->nodes[node_].what == json_document::kind::array;
}
bool json_cursor::is_string() const {
  return document_->nodes[node_].what == json_document::kind::string;
}
bool json_cursor::is_boolean() const {
  return document_->nodes[node_].what == json_document::kind::boolean;
}
bool json_cursor::is_integer() const {
  const auto what = document_->nodes[node_].what;
  return what == json_document::kind::integer || what == json_document::kind::unsigned_integer;
}

std::string json_cursor::string() const {
  return std::string(text());
}

std::string_view json_cursor::text() const {
  if (!is_string()) fail(fmt::format("expected a string, found {}", document_->kind_of(node_)));
  return document_->text_of(document_->nodes[node_]);
}

std::int64_t json_cursor::integer() const {
  const auto& n = document_->nodes[node_];
  if (!is_integer()) {
    const auto found = n.what == json_document::kind::real ? value().dump() : document_->kind_of(node_);
    fail(fmt::format("expected an integer, found {}", found));
  }
  if (n.what == json_document::kind::integer) return n.integer;
  if (n.unsigned_integer > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail(fmt::format("{} does not fit a signed 64-bit integer", n.unsigned_integer));
  return static_cast<std::int64_t>(n.unsigned_integer);
}

std::uint64_t json_cursor::unsigned_integer() const {
  const auto& n = document_->nodes[node_];
  if (n.what == json_document::kind::unsigned_integer) return n.unsigned_integer;
  const auto signed_value = integer();  // throws for anything that is no integer
  if (signed_value < 0) fail(fmt::format("expected no negative number, found {}", signed_value));
  return static_cast<std::uint64_t>(signed_value);
}

double json_cursor::number() const {
  const auto& n = document_->nodes[node_];
  if (n.what == json_document::kind::real) return n.real;
  if (n.what == json_document::kind::integer) return static_cast<double>(n.integer);
  if (n.what == json_document::kind::unsigned_integer) return static_cast<double>(n.unsigned_integer);
  fail(fmt::format("expected a number, found {}", document_->kind_of(node_)));
}

bool json_cursor::boolean() const {
  if (!is_boolean()) fail(fmt::format("expected true or false, found {}", document_->kind_of(node_)));
  return document_->nodes[node_].yes;
}

nlohmann::json json_cursor::value() const {
  return document_->json_of(node_);
}

std::string json_cursor::place() const {
  return fmt::format("{}:{}", document_->name, document_->nodes[node_].line);
}

void json_cursor::fail(std::string_view what) const {
  throw input_error(fmt::format("{}: {}: {}", place(), document_->field_of(node_), one_line(what)));
}

}  // namespace cufault
