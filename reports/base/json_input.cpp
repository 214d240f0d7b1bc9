// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
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

/// Builds a tree of what `tape` does not take, and says what is wrong with it.
class builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  builder(const std::string& name, const line_counter& lines, int first_line, bool one_line)
      : name_(name), lines_(lines), first_line_(first_line), one_line_(one_line) {}
  nlohmann::json root;

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
    if (open_.back()->contains(key)) refuse(name_, line(), fmt::format("key \"{}\" twice", one_line(key)));
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
    refuse(name_, line(),
           fmt::format("{} (byte {} of the {})", one_line(what), position, one_line_ ? "line" : "file"));
  }

 private:
  [[nodiscard]] int line() const { return first_line_ + lines_.line - 1; }

  nlohmann::json* place(nlohmann::json value) {
    if (++values_ > most_values) refuse(name_, line(), fmt::format("more than {} values", most_values));
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    nlohmann::json& parent = *open_.back();
    if (!parent.is_array()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool scalar(nlohmann::json value) {
    place(std::move(value));
    return true;
  }

  bool open(nlohmann::json value) {
    if (open_.size() == deepest) refuse(name_, line(), fmt::format("nested deeper than {} levels", deepest));
    // Growing an array moves its elements, but only the last one is open, and nothing is added beside it
    // meanwhile.
    open_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& name_;
  const line_counter& lines_;
  int first_line_;
  bool one_line_;
  std::vector<nlohmann::json*> open_;
  std::string key_;
  std::size_t values_ = 0;
};

bool plain(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
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

/// Values in the order of their beginnings, so that the first child of a value stands right behind it. Texts are where they were read, with
/// their escapes resolved in place.
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
  std::string text;
  std::vector<node> nodes;

  [[nodiscard]] std::string_view key_of(const node& n) const { return {text.data() + n.key_at, n.key_size}; }
  [[nodiscard]] std::string_view text_of(const node& n) const { return {text.data() + n.text_at, n.size}; }
  [[nodiscard]] std::uint32_t child_of(std::uint32_t at) const { return nodes[at].size > 0 ? at + 1 : 0; }
  [[nodiscard]] std::uint32_t member_of(std::uint32_t at, std::string_view key) const;  ///< 0: none
  [[nodiscard]] std::string kind_of(std::uint32_t at) const;   ///< "an object", "true"
  [[nodiscard]] std::string field_of(std::uint32_t at) const;  ///< "expectations[0].arm"
  [[nodiscard]] nlohmann::json json_of(std::uint32_t at) const;
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

/// Reads strict JSON into a document. What it does not take is wrong or rare: read() is false then, and says nothing of the reason.
class tape {
 public:
  explicit tape(json_document& document)
      : document_(document),
        at_(document.text.data()),
        end_(at_ + document.text.size()),
        line_(document.first_line) {}

  bool read() {
    document_.nodes.reserve(document_.text.size() / 12 + 1);
    skip_space();
    if (!value(0, 0)) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  using kind = json_document::kind;
  using node = json_document::node;

  [[nodiscard]] bool is(char c) const { return at_ != end_ && *at_ == c; }
  bool take(char c) {
    if (!is(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    for (; at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r'); ++at_)
      line_ += *at_ == '\n' ? 1 : 0;
  }
  [[nodiscard]] std::uint32_t offset(const char* p) const {
    return static_cast<std::uint32_t>(p - document_.text.data());
  }

  /// Adds a value; it has no key yet.
  node& add(std::uint32_t parent, kind what) {
    document_.nodes.push_back({.parent = parent, .line = line_, .what = what, .unsigned_integer = 0});
    return document_.nodes.back();
  }

  bool value(std::uint32_t parent, std::size_t depth) {
    if (at_ == end_ || document_.nodes.size() == most_values) return false;
    switch (*at_) {
      case '{':
      case '[':
        return list(parent, depth);
      case '"': {
        node& n = add(parent, kind::string);
        return string(n.text_at, n.size);
      }
      case 't':
        add(parent, kind::boolean).yes = true;
        return take("true");
      case 'f':
        add(parent, kind::boolean).yes = false;
        return take("false");
      case 'n':
        add(parent, kind::null);
        return take("null");
      default:
        return number(add(parent, kind::real));
    }
  }

  bool list(std::uint32_t parent, std::size_t depth) {
    if (depth == deepest) return false;
    const bool object = *at_++ == '{';
    const char close = object ? '}' : ']';
    const auto self = static_cast<std::uint32_t>(document_.nodes.size());
    add(parent, object ? kind::object : kind::array);
    skip_space();
    if (take(close)) return true;
    std::uint32_t before = 0, count = 0;
    do {
      skip_space();
      std::uint32_t key_at = 0, key_size = 0;
      if (object) {
        if (!is('"') || !string(key_at, key_size)) return false;
        skip_space();
        if (!take(':')) return false;
        skip_space();
      }
      const auto child = static_cast<std::uint32_t>(document_.nodes.size());
      if (!value(self, depth + 1)) return false;
      document_.nodes[child].key_at = key_at;
      document_.nodes[child].key_size = key_size;
      if (before != 0) document_.nodes[before].next = child;
      before = child;
      ++count;
      skip_space();
    } while (take(','));
    document_.nodes[self].size = count;
    return take(close) && (!object || keys_differ(self));
  }

  bool keys_differ(std::uint32_t self) {
    constexpr std::uint32_t few = 24;
    const auto& nodes = document_.nodes;
    if (nodes[self].size <= few) {
      for (std::uint32_t a = self + 1; a != 0; a = nodes[a].next)
        for (std::uint32_t b = nodes[a].next; b != 0; b = nodes[b].next)
          if (document_.key_of(nodes[a]) == document_.key_of(nodes[b])) return false;
      return true;
    }
    std::vector<std::string_view> keys;
    for (std::uint32_t child = self + 1; child != 0; child = nodes[child].next)
      keys.push_back(document_.key_of(nodes[child]));
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
  }

  bool number(node& n) {
    const char* const begin = at_;
    const bool negative = take('-');
    const char* const digits = at_;
    const auto skip_digits = [&] {
      const char* const from = at_;
      while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
      return at_ != from;
    };
    if (!skip_digits() || (*digits == '0' && at_ - digits > 1)) return false;
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!skip_digits()) return false;
    }
    if (is('e') || is('E')) {
      whole = false;
      ++at_;
      if (is('+') || is('-')) ++at_;
      if (!skip_digits()) return false;
    }
    if (whole && negative) {
      n.what = kind::integer;
      if (std::from_chars(begin, at_, n.integer).ec == std::errc{}) return true;
    } else if (whole) {
      n.what = kind::unsigned_integer;
      if (std::from_chars(begin, at_, n.unsigned_integer).ec == std::errc{}) return true;
    }
    n.what = kind::real;
    return std::from_chars(begin, at_, n.real).ec == std::errc{};
  }

  static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  }

  bool hex(std::uint32_t& code) {
    if (end_ - at_ < 4) return false;
    code = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_digit(*at_++);
      if (digit < 0) return false;
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  /// Behind "\\u".
  bool unicode(char*& out) {
    std::uint32_t code = 0, low = 0;
    if (!hex(code)) return false;
    if (code >= 0xdc00 && code < 0xe000) return false;
    if (code >= 0xd800 && code < 0xdc00) {
      if (!take("\\u") || !hex(low) || low < 0xdc00 || low >= 0xe000) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto put = [&](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | (code >> 6));
      put(0x80 | (code & 0x3f));
    } else {
      if (code < 0x10000) {
        put(0xe0 | (code >> 12));
      } else {
        put(0xf0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3f));
      }
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    }
    return true;
  }

  bool escape(char*& out) {
    if (at_ == end_) return false;
    const char c = *at_++;
    if (c == 'u') return unicode(out);
    constexpr std::string_view names = "\"\\/bfnrt", means = "\"\\/\b\f\n\r\t";
    const auto at = names.find(c);
    if (at == std::string_view::npos) return false;
    *out++ = means[at];
    return true;
  }

  /// Copies a character of several bytes; only well-formed UTF-8.
  bool character(char*& out) {
    const auto byte = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(at_[i]); };
    const unsigned first = byte(0);
    const std::ptrdiff_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (size == 0 || end_ - at_ < size) return false;
    const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < least || byte(1) > most) return false;
    for (std::ptrdiff_t i = 2; i < size; ++i)
      if (byte(i) < 0x80 || byte(i) > 0xbf) return false;
    for (std::ptrdiff_t i = 0; i < size; ++i) *out++ = *at_++;
    return true;
  }

  bool string(std::uint32_t& text_at, std::uint32_t& size) {
    const char* const begin = ++at_;
    const auto is_plain = [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 && c != '"' &&
             c != '\\';
    };
    while (at_ != end_ && is_plain(*at_)) ++at_;
    // What is resolved is never longer than what stands there.
    char* out = document_.text.data() + offset(at_);
    while (at_ != end_ && *at_ != '"') {
      const auto c = static_cast<unsigned char>(*at_);
      if (c < 0x20) return false;
      if (c == '\\') {
        ++at_;
        if (!escape(out)) return false;
      } else if (c >= 0x80) {
        if (!character(out)) return false;
      } else {
        *out++ = *at_++;
      }
    }
    text_at = offset(begin);
    size = static_cast<std::uint32_t>(out - begin);
    return take('"');
  }

  json_document& document_;
  const char* at_;
  const char* end_;
  int line_;
};

/// Appends a tree to a document. All of it is said to be on one line.
void append(json_document& document, const nlohmann::json& value, std::uint32_t parent, int line) {
  using kind = json_document::kind;
  const auto self = static_cast<std::uint32_t>(document.nodes.size());
  document.nodes.push_back({.parent = parent, .line = line, .what = kind::null, .unsigned_integer = 0});
  json_document::node n = document.nodes[self];
  const auto keep = [&](std::string_view text) {
    const auto at = static_cast<std::uint32_t>(document.text.size());
    document.text += text;
    return at;
  };
  if (value.is_boolean()) {
    n.what = kind::boolean;
    n.yes = value.get<bool>();
  } else if (value.is_number_unsigned()) {
    n.what = kind::unsigned_integer;
    n.unsigned_integer = value.get<std::uint64_t>();
  } else if (value.is_number_integer()) {
    n.what = kind::integer;
    n.integer = value.get<std::int64_t>();
  } else if (value.is_number()) {
    n.what = kind::real;
    n.real = value.get<double>();
  } else if (value.is_string()) {
    n.what = kind::string;
    n.size = static_cast<std::uint32_t>(value.get_ref<const std::string&>().size());
    n.text_at = keep(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    n.what = value.is_array() ? kind::array : kind::object;
    n.size = static_cast<std::uint32_t>(value.size());
    std::uint32_t before = 0;
    for (const auto& item : value.items()) {
      const auto child = static_cast<std::uint32_t>(document.nodes.size());
      append(document, item.value(), self, line);
      if (before != 0) document.nodes[before].next = child;
      before = child;
      if (value.is_array()) continue;
      document.nodes[child].key_size = static_cast<std::uint32_t>(item.key().size());
      document.nodes[child].key_at = keep(item.key());
    }
  }
  n.next = document.nodes[self].next;
  document.nodes[self] = n;
}

}  // namespace

std::shared_ptr<const json_document> parse_json(std::string name, std::string_view text, int first_line) {
  if (text.size() > longest_text)
    refuse(name, first_line, fmt::format("longer than {} MiB", longest_text >> 20));
  auto document = std::make_shared<json_document>();
  document->name = std::move(name);
  document->first_line = first_line;
  document->text = text;
  if (tape(*document).read()) return document;
  // Only a reader that is slower says what is wrong; or takes what is rare, as a byte order mark.
  line_counter lines;
  builder handler{document->name, lines, first_line, text.find('\n') == std::string_view::npos};
  nlohmann::json::sax_parse(counting_iterator{text.data(), &lines},
                            counting_iterator{text.data() + text.size(), &lines}, &handler);
  document->nodes.clear();
  document->text.clear();
  append(*document, handler.root, 0, first_line);
  return document;
}

input_error cannot_be_read(const std::filesystem::path& path, const std::error_code& why) {
  return input_error(fmt::format("{}: cannot be read: {}", one_line(path.string()), why.message()));
}

std::string read_text(const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in{std::fopen(file.c_str(), "rbe"), &std::fclose};
  const auto refuse = [&] { throw cannot_be_read(file, {errno, std::generic_category()}); };
  if (!in) refuse();
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (const auto got = std::fread(block.data(), 1, block.size(), in.get())) {
    text.append(block, 0, got);
    if (text.size() > longest_text)
      throw input_error(fmt::format("{}: longer than {} MiB", file.string(), longest_text >> 20));
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
  std::sort(list.begin(), list.end());
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
  const auto is_known = [&](std::string_view key) {
    return std::find(known.begin(), known.end(), key) != known.end();
  };
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
