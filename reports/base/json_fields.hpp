// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/enum_names.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// One list of a struct's members serves writing and reading. A type `T` has
///
///   template <class Fields> void describe_fields(T& value, Fields& f) { f("name", value.name); f.required("id", value.id); }
///
/// A member that is equal to its default is left out when written, and has its default when it is absent. Keys that are not in the list
/// are refused. An enumeration has names (enum_names.hpp).
namespace cufault {

template <class T>
nlohmann::ordered_json write_json(const T& value);
template <class T>
T read_json_value(const json_cursor& at);

/// Writes members to an object, in the order of the list.
class field_writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value, const T& otherwise = T{}) {
    if (!(value == otherwise)) required(name, value);
  }
  template <class T>
  void required(const char* name, const T& value) {
    json[name] = write_json(value);
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
};

/// Reads members from an object, each name once. Throws input_error. A record has a million objects: this allocates nothing for them.
class field_reader {
 public:
  explicit field_reader(json_cursor from) : at(std::move(from)) {}
  template <class T>
  void operator()(std::string_view name, T& value, const T& otherwise = T{}) {
    const auto member = asked_for(name);
    value = member ? read_json_value<T>(*member) : otherwise;
  }
  template <class T>
  void required(std::string_view name, T& value) {
    const auto member = asked_for(name);
    value = read_json_value<T>(member ? *member : at.at(name));
  }
  /// A member that its owner reads by itself.
  void other(std::string_view name) { static_cast<void>(asked_for(name)); }
  /// Refuses keys that were not asked for.
  void finish() const {
    if (found_ != at.size()) at.only(std::span(names_).first(asked_));
  }
  const json_cursor at;

 private:
  [[nodiscard]] std::optional<json_cursor> asked_for(std::string_view name) {
    names_.at(asked_++) = name;
    auto member = at.find(name);
    found_ += member ? 1 : 0;
    return member;
  }
  std::array<std::string_view, 32> names_;
  std::size_t asked_ = 0, found_ = 0;
};

namespace json_detail {
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace json_detail

/// JSON has no infinity and no NaN: these are the strings "inf", "-inf" and "nan".
template <class T>
nlohmann::ordered_json write_json(const T& value) {
  if constexpr (json_detail::is_vector<T>::value) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& item : value) list.push_back(write_json(item));
    return list;
  } else if constexpr (json_detail::is_optional<T>::value) {
    return write_json(*value);  // an empty one is the default, which is not written
  } else if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    constexpr double exact = 9007199254740992;  // all integers up to it are doubles
    if (std::trunc(value) == value && std::abs(value) <= exact && (value != 0 || !std::signbit(value)))
      return static_cast<std::int64_t>(value);  // 3 in place of 3.0
    return value;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, nlohmann::json>) {
    return value;
  } else {
    field_writer writer;
    describe_fields(const_cast<T&>(value),
                    writer);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    return std::move(writer.json);
  }
}

template <class T>
T read_json_value(const json_cursor& at) {
  if constexpr (json_detail::is_vector<T>::value) {
    T list;
    for (const auto& item : at.items()) list.push_back(read_json_value<typename T::value_type>(item));
    return list;
  } else if constexpr (json_detail::is_optional<T>::value) {
    return read_json_value<typename T::value_type>(at);
  } else if constexpr (std::is_enum_v<T>) {
    const auto text = at.text();
    for (const auto& known : names_of(T{}))
      if (text == known.name) return known.value;
    std::string all;
    for (const auto& known : names_of(T{})) all += (all.empty() ? "" : ", ") + std::string(known.name);
    at.fail("expected one of " + all);
  } else if constexpr (std::is_same_v<T, bool>) {
    return at.boolean();
  } else if constexpr (std::is_same_v<T, double>) {
    if (!at.is_string()) return at.number();
    const auto text = at.text();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    at.fail(R"(expected a number, "nan", "inf" or "-inf")");
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return at.unsigned_integer();
  } else if constexpr (std::is_integral_v<T>) {
    const auto wide = at.integer();
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max())
      at.fail(std::to_string(wide) + " does not fit");
    return static_cast<T>(wide);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return at.string();
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    return at.value();
  } else {
    T value{};
    field_reader reader{at};
    describe_fields(value, reader);
    reader.finish();
    return value;
  }
}

}  // namespace cufault
