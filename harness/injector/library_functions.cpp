// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/library_functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace cufault::injector {
namespace {

#include "library_functions.inc"  // generated from libraries.json by CMakeLists.txt

}  // namespace

std::span<const known_library> libraries() {
  return all;
}

const known_library* library_named(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(all), std::end(all), [&](const known_library& l) { return l.name == name; });
  return found != std::end(all) ? found : nullptr;
}

std::string library_names() {
  std::vector<std::string_view> names;
  for (const known_library& each : all) names.push_back(each.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const known_library* library_of(std::string_view function) {
  // The beginning of a glob names its library.
  function = function.substr(0, function.find_first_of("*?[\\"));
  if (function_name{function}.is_for_compilers()) function.remove_prefix(2);
  const known_library* longest = nullptr;
  for (const known_library& each : all)
    if (function.starts_with(each.prefix) &&
        (longest == nullptr || longest->prefix.size() < each.prefix.size()))
      longest = &each;
  return longest;
}

const function_name* function_in(const known_library& of, std::string_view name) {
  for (const function_name& each : of.functions)
    if (each.text == name) return &each;
  return nullptr;
}

bool is_file_of(const known_library& of, std::string_view file) {
  return std::any_of(of.files.begin(), of.files.end(), [&](std::string_view begin) {
    return file.size() > begin.size() && file.starts_with(begin) &&
           std::string_view(".-_").find(file[begin.size()]) != std::string_view::npos;
  });
}

bool can_be_dropped(const known_library& of, const function_name& function) {
  const std::string base{function.base()};
  const auto is_like = [&](std::string_view glob) {
    return fnmatch(std::string{glob}.c_str(), base.c_str(), 0) == 0;
  };
  return std::any_of(of.work.begin(), of.work.end(), is_like) &&
         std::none_of(of.no_work.begin(), of.no_work.end(), is_like);
}

std::optional<int> code_in(const known_library* of, std::string_view name) {
  if (of == nullptr) return driver_code(name);
  for (const auto& [full, number] : of->codes)
    if (name == full || (full.starts_with(of->code_prefix) && name == full.substr(of->code_prefix.size())))
      return number;
  return std::nullopt;
}

std::string code_name(const known_library* of, int code) {
  if (of == nullptr) return driver_code_name(code);
  for (const library_code& each : of->codes)
    if (each.number == code) return std::string{each.name};
  return fmt::format("{} status {}", of->name, code);
}

}  // namespace cufault::injector
