// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Cases of Python frameworks: how users see failures of other families. framework_trials/FRAMEWORK.json lists the arms for this file and
// for Python, which implements them. The program contains the tables, so that it lists arms without an interpreter.
#include "reports/model/frameworks.hpp"

#include "harness/injection/preloaded.hpp"
#include "harness/model/case.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using json = nlohmann::ordered_json;
using texts = std::vector<std::string>;

json table_of(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> tables[]{
#include "framework_tables.inc"
  };
  return json::parse(
      std::ranges::find(tables, name, &std::pair<std::string_view, std::string_view>::first)->second);
}

/// Empty if there is no such member.
const json& object_in(const json& of, const char* member) {
  static const json none = json::object();
  return of.contains(member) ? of.at(member) : none;
}

void set_variables(arm& a, const json& of) {
  for (const auto& [variable, value] : object_in(of, "environment").items()) a.environment[variable] = value;
}

/// In words, or by its variable: VARIABLE=VALUE.
std::string words_of(const json& of, const char* member) {
  if (of.contains(member)) return of.at(member);
  const auto variable = of.at("environment").items().begin();
  return variable.key() + "=" + variable.value().get<std::string>();
}

/// The arms of a row without remedies, with their words: one or more operations, and a word for each rule if driver or library calls fail.
std::vector<std::pair<std::string, std::string>> faults_of(const json& row, const json& injection) {
  const json& named = row.at("arm");
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& operation :
       named.is_array() ? named.get<texts>() : texts{named.get<std::string>()}) {
    if (!row.contains("rules")) all.emplace_back(operation, words_of(row, "summary"));
    for (const std::string& group : row.value("rules", texts()))
      for (const auto& [rule, what] : injection.at(group).items())
        all.emplace_back(operation + "." + rule, what.at("summary"));
  }
  return all;
}

void add_remedies(failure_case& c, const std::string& fault, const json& row, const json& remedies) {
  for (const auto& [member, kind] :
       {std::pair{"dead_ends", arm_kind::dead_end}, {"remedies", arm_kind::remedy}})
    for (const auto& [name, claims] : object_in(row, member).items()) {
      const json& what = remedies.at(name);
      arm& a =
          c.add_framework(fault + "+" + name, what.value("diagnosis", false) ? arm_kind::diagnosis : kind,
                          words_of(what, "words"), claims.get<texts>());
      if (what.value("in_place", false)) a.against = fault;
      set_variables(a, row);
      set_variables(a, what);
    }
}

/// A library of the second cuBLAS; empty without one: arms that use it then do not run.
std::string of_other_cublas(const std::string& stem) {
  const char* folder = std::getenv("CUFAULT_OTHER_CUBLAS");
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder != nullptr ? folder : "/nonexistent", none))
    if (entry.path().filename().string().starts_with(stem) &&
        entry.path().string().find_first_of(": ") == std::string::npos)  // LD_PRELOAD cannot name such paths
      return entry.path();
  return {};
}

/// Puts the second cuBLASLt before the interpreter's; from the start its cuBLAS too, if the arm says so.
void put_second_cublas_in_front(arm& a) {
  a.other_cublas = true;
  a.preload = {of_other_cublas("libcublasLt.so")};
  if (!a.against.empty()) a.preload.insert(a.preload.begin(), of_other_cublas("libcublas.so"));
  std::erase(a.preload, "");
}

failure_case case_from(const std::string& name, const json& of, const json& remedies, const json& injection) {
  failure_case c{.name = name,
                 .summary = of.at("summary"),
                 .failures = of.value("failures", texts()),
                 .made_up = of.contains("injected")};
  const json& control = of.at("control");
  arm& without_fault =
      c.add_framework("control", arm_kind::control, control.is_string() ? control : control.at("summary"));
  if (control.is_object()) set_variables(without_fault, control);
  for (const json& row : of.at("arms"))
    for (const auto& [fault, summary] : faults_of(row, injection)) {
      arm& a = c.add_framework(fault, arm_kind::fault, summary, row.value("claims", texts()));
      set_variables(a, row);
      if (row.value("tier", of.value("tier", "")) == "full") a.tier = test_tier::full;
      add_remedies(c, fault, row, remedies);
      if (row.contains("corrected"))
        c.add_framework(fault + "_corrected", arm_kind::remedy, row.at("corrected")).against = fault;
    }
  for (arm& a : c.arms) {
    set_variables(a, of);
    if (of.contains("injected")) under_injector(a, {}, of.at("injected").get<texts>());
    if (of.contains("second_cublaslt") && a.kind != arm_kind::control) put_second_cublas_in_front(a);
    if (of.contains("timeout")) a.timeout = std::chrono::seconds(of.at("timeout").get<int>());
    if (of.value("needs", "gpu") == std::string_view("host")) a.needs = need::host;
  }
  c.fail_on_any_architecture(of.value("any_architecture", texts()));
  c.run_beside_others(of.value("beside_others", texts()));
  const json& races = object_in(of, "races");
  const texts racing = races.value("arms", texts());
  for (arm& a : c.arms)
    if (std::ranges::count(racing, a.name) > 0) {
      a.races = races.at("why");
      a.repeats = 5;
      a.rate_depends_on_load = races.at("depends_on_load");
    }
  // They fork from an interpreter that has imported the framework without using CUDA; not in cases with another cuBLAS before the
  // interpreter's.
  for (arm& a : c.arms) a.shares_process = !of.contains("second_cublaslt");
  return c;
}

}  // namespace

std::vector<failure_case> framework_cases(const std::string& family, std::string_view only) {
  const json table = table_of(family), injection = table_of("injection");
  std::vector<failure_case> made;
  for (const auto& [name, of] : table.at("cases").items())
    if (only.empty() || only == family + "." + name)
      made.push_back(case_from(family + "." + name, of, table.at("remedies"), injection));
  return made;
}

}  // namespace cufault
