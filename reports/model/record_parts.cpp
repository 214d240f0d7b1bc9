// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/record_parts.hpp"

#include "reports/model/api_functions.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

/// `others`: characters that it may have beside letters, digits, '_' and '-'.
bool is_name(std::string_view name, std::string_view others = ".") {
  const auto usual = [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || others.find(static_cast<char>(c)) != others.npos;
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, usual);
}

/// A text of a stack; empty where it has none there.
std::string text_in(const nlohmann::json& stack, const std::string& pointer) {
  const nlohmann::json::json_pointer at(pointer);
  return stack.contains(at) && stack.at(at).is_string() ? stack.at(at).get<std::string>() : std::string();
}

}  // namespace

void check_schema(const json_cursor& top) {
  if (top.has("line") && top.at("line").is_string() && top.at("line").string() == "sweep")
    top.fail(
        "the record of a sweep of a command: cufault sweep --resume FILE -- COMMAND goes on with it, and "
        "prints it");
  if (!top.has("schema")) top.fail("\"schema\" is missing: the first line of a record has it");
  const auto at = top.at("schema");
  const auto schema = at.integer();
  if (schema > record_schema)
    at.fail(fmt::format("made by a newer cufault: schema {}, and this one reads {}; update cufault", schema,
                        record_schema));
  if (schema < record_schema)
    at.fail(fmt::format("made by an older cufault: schema {}, and this one reads {}; run it again", schema,
                        record_schema));
}

namespace {
/// A framework: texts, lists of texts, and libraries with a path and a build id.
void check_imported(const json_cursor& at) {
  for (const auto& [name, is] : at.members())
    if (name == "libraries")
      for (const auto& library : is.members())
        for (const char* member : {"path", "build_id"}) static_cast<void>(library.second.at(member).text());
    else if (name == "shadowed" || name == "unmet" || name == "refused")
      for (const json_cursor& one : is.items()) static_cast<void>(one.text());
    else
      static_cast<void>(is.text());
}
}  // namespace

nlohmann::json stack_from(const json_cursor& at) {
  if (const auto python = at.find("python"); python && python->has("frameworks"))
    for (const auto& each : python->at("frameworks").members()) check_imported(each.second);
  if (at.has("keys"))
    for (const auto& key : at.at("keys").keys()) static_cast<void>(at.at("keys").at(key).string());
  return at.value();
}

void check_case_name(const json_cursor& at) {
  if (!is_name(at.text())) at.fail("a name is of letters, digits, '.', '_' and '-'");
}

void fail_twice(const json_cursor& named, const std::string& case_name, const std::string& arm) {
  named.fail(fmt::format("{}/{} stands twice; leave one of them", case_name, arm));
}

void take_arm(record& r, const std::string& case_name, arm_result arm, const json_cursor& named) {
  if (!is_name(arm.name, ".+")) named.fail("a name is of letters, digits, '.', '_', '-' and '+'");
  case_result& c = case_in(r.cases, case_name);
  if (std::ranges::any_of(c.arms, [&](const arm_result& a) { return a.name == arm.name; }))
    fail_twice(named, case_name, arm.name);
  c.arms.push_back(std::move(arm));
}

bool is_folder_name(std::string_view name) {
  return is_name(name);
}

std::string key_of(const nlohmann::json& stack, const char* name) {
  return text_in(stack, fmt::format("/keys/{}", name));
}

std::string gpu_name(const nlohmann::json& stack) {
  return text_in(stack, "/gpu/name");
}

std::string library_options(const record& r) {
  std::string all;
  const auto add = [&](std::string_view option, std::string_view value) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+:@%,=-";
    std::string quoted;
    for (const char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    all += value.find_first_not_of(plain) == value.npos ? fmt::format(" {} {}", option, value)
                                                        : fmt::format(" {} '{}'", option, quoted);
  };
  for (std::size_t i = 1; i < r.argv.size(); ++i)
    for (const step_library& each : step_libraries) {
      if (each.binding == library_binding::linked) continue;
      const std::string option = fmt::format("--{}", each.key);
      const std::string_view word = r.argv[i];
      if (word == option && i + 1 < r.argv.size()) add(option, r.argv[i + 1]);
      if (word.starts_with(option) && word.substr(option.size()).starts_with('='))
        add(option, word.substr(option.size() + 1));
    }
  const std::string path = text_in(*r.stack, "/cublas/path");
  if (!r.argv.empty() || path.empty()) return all;
  // A kept stack has the path of the machine that recorded it, which other machines have not.
  const bool of_a_toolkit = path.find("/targets/") != path.npos || path.find("/lib64/") != path.npos;
  if (!of_a_toolkit) add("--cublas", "FOLDER OF cuBLAS " + key_of(*r.stack, "cublas"));
  return all;
}

void make_directories(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw std::system_error(error, fmt::format("{}: cannot create", folder.string()));
}

}  // namespace cufault
