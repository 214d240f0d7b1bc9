// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/cli/selection.hpp"
#include "harness/model/case.hpp"
#include "harness/model/properties.hpp"
#include "reports/base/words.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/failures.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {

bool names_case(const std::string& name, const failure_case& c) {
  return name == c.name || c.name.starts_with(name + ".");
}

std::vector<std::string> names_of_cases() {
  std::set<std::string> names;
  for (const failure_case& c : all_cases()) {
    names.insert(c.name.substr(0, c.name.find('.')));
    names.insert(c.name);
    for (const arm& a : c.arms) names.insert(c.name + "/" + a.name);
  }
  return {names.begin(), names.end()};
}

namespace {

/// Throws usage_error for a name of nothing. `names`: empty for all.
int list_cases(const std::vector<std::string>& names, bool json) {
  for (const std::string& name : names)
    if (std::ranges::none_of(all_cases(), [&](const failure_case& c) { return names_case(name, c); }))
      throw usage_error(fmt::format("no case or family is called {}; `cufault list` names them{}", name,
                                    did_you_mean(name, names_of_cases())));
  const auto legend = load_failures(failures_file());
  nlohmann::json all = nlohmann::json::array();
  for (const failure_case& c : all_cases()) {
    if (!names.empty() && std::ranges::none_of(names, [&](const std::string& n) { return names_case(n, c); }))
      continue;
    const case_properties& p = properties_of(c);
    nlohmann::json failures = nlohmann::json::array();
    for (const std::string& id : c.failures) {
      const auto known = std::ranges::find_if(legend, [&](const field_failure& f) { return f.id == id; });
      // No text: a case that is wrong must not keep the others from being listed. The self-tests refuse it.
      failures.push_back({{"id", id}, {"text", known != legend.end() ? known->text : ""}});
    }
    nlohmann::json arms = nlohmann::json::array();
    const bool of_matrix = c.name.starts_with(matrix_family) && names.empty();
    for (const arm& a : c.arms) {
      if (of_matrix && cell_named(a.name)) continue;  // thousands
      arms.push_back({{"name", a.name},
                      {"kind", to_string(a.kind)},
                      {"summary", a.summary},
                      {"claims", a.claims},
                      {"tier", to_string(tier_of(c, a))},
                      {"races", a.races},
                      {"counterpart_of", a.counterpart_of},
                      {"other_cublas", a.other_cublas},
                      {"needs", a.needs == need::gpu ? "gpu" : "host"}});
    }
    all.push_back({{"name", c.name},
                   {"summary", c.summary},
                   {"failures", failures},
                   {"tier", p.tier},
                   {"needs", p.needs},
                   {"memory", p.memory == memory_class::exclusive ? "exclusive" : "shared"},
                   {"cells", std::ranges::count_if(
                                 c.arms, [](const arm& a) { return cell_named(a.name).has_value(); })},
                   {"arms", arms}});
  }
  if (json) return print_json({{"schema", 1}, {"cases", all}});
  if (all.empty()) std::cerr << fmt::format("cufault: {}\n", build_it_with_cuda);
  for (const auto& c : all) {
    print_entry(std::cout, c["name"].get<std::string>() + "  ",
                fmt::format("[{}, {}, {}]", c["tier"].get<std::string>(), c["needs"].get<std::string>(),
                            c["memory"].get<std::string>()));
    print_entry(std::cout, "  ", c["summary"].get<std::string>());
    for (const auto& f : c["failures"]) {
      const auto text = f["text"].get<std::string>();
      print_entry(std::cout, fmt::format("    {:<9} ", f["id"].get<std::string>()),
                  text.empty() ? "unknown: not in cases/failures.json" : "reported: " + text);
    }
    const std::string case_name = c["name"].get<std::string>();
    if (names.empty() && case_name.starts_with(matrix_family)) {
      print_entry(std::cout, "    ",
                  fmt::format("a control and {} cells: `cufault list {}` lists them",
                              c["cells"].get<std::size_t>(), case_name));
      continue;
    }
    for (const auto& a : c["arms"]) {
      std::string claims;
      for (const auto& id : a["claims"]) claims += " " + id.get<std::string>();
      std::string marks;
      if (const auto tier = a["tier"].get<std::string>(); tier == "named")
        marks += " (only when named)";
      else if (tier != "quick")
        marks += " (" + tier + " tier)";
      if (!a["races"].get<std::string>().empty()) marks += " (races)";
      if (a["other_cublas"].get<bool>()) marks += " (second cuBLAS)";
      print_entry(
          std::cout,
          fmt::format("    {:<9} {:<34} ", a["kind"].get<std::string>(), a["name"].get<std::string>()),
          fmt::format("{}{}{}{}", a["summary"].get<std::string>(), marks, claims.empty() ? "" : "  --",
                      claims));
    }
  }
  return 0;
}

void add_list(command_line& line) {
  const auto json = std::make_shared<bool>(false);
  const auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* list =
      line.command("list", "Cases, their arms, and the claims and field failures that they cover",
                   codes_of_reading, [json, names] { return list_cases(*names, *json); });
  list->add_option(
      "NAMES", *names,
      "only these cases (CASE) and families (FAMILY); cells of the matrix are listed only by name");
  add_json(list, *json, "cases");
}

const register_command list_here{"list", add_list, also(section::what_changed, 3)};

}  // namespace
}  // namespace cufault
