// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault rows`, which reports/answers starts: the rows of the table (reports/judge/table.hpp) on standard output.
#include "harness/cli/command_line.hpp"
#include "reports/base/json_input.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/evidence/distance.hpp"
#include "reports/explain/driver_sayings.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/table.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/model/frameworks.hpp"
#include "reports/printers/atlas.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace cufault {
namespace {

struct rows_arguments {
  records_to_read records{default_recorded()};
  std::string only;
  bool digest = false, runs = false, distances = false, conditions = false;
};

/// What each arm of these records came to in each run.
int print_runs(const records_to_read& records) {
  const auto has_none = [](const std::filesystem::path& named) {
    try {
      return records_in({named}).empty();
    } catch (const input_error&) {
      return false;  // each_record() says why
    }
  };
  if (std::ranges::all_of(records, has_none)) throw usage_error(no_record);
  row_writer to(std::cout);
  bool all_read = true;
  each_record(
      records,
      [&to](const std::filesystem::path& file, const record& r) { write_runs(to, file.string(), r); },
      [&all_read](const std::string& why) {
        all_read = false;
        std::cerr << fmt::format("cufault: {}\n", cell(why, table_style::text));
      });
  return all_read ? 0 : exit_unresolved;
}

/// Of stacks on standard input, [{"keys": {}, "gpu": NAME}]: their labels, and how far each is from those before it, null where one says nothing
/// of the other. By family of cases; "": all but those of frameworks.
int print_distances() {
  std::vector<stack_keys> keys;
  nlohmann::json said{{"labels", nlohmann::json::array()}};
  for (const nlohmann::json& stack : nlohmann::json::parse(std::cin)) {
    record labelled;
    *labelled.stack = {{"keys", stack.at("keys")}, {"gpu", {{"name", stack.at("gpu")}}}};
    std::string label = stack_label(labelled);
    const stack_keys& its = keys.emplace_back(keys_of(labelled));
    for (const auto& [key, value] : its) {
      const bool told = key == "cublas" || key == "driver" || key == "compute_capability" ||
                        (key == "cublaslt" && its.contains("cublas") && its.at("cublas") == value);
      if (!told && value != "none") label += fmt::format(", {} {}", key, value);
    }
    said["labels"].push_back(label);
  }
  static const arm_result on_a_gpu{.trials = {observation{}}};
  std::vector<std::string> families{""};
  for (const python_framework& f : python_frameworks) families.emplace_back(f.name);
  for (const std::string& family : families) {
    const auto matter = keys_that_matter(family + ".", on_a_gpu);
    nlohmann::json& all = said["distances"][family] = nlohmann::json::array();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      nlohmann::json& before = all.emplace_back(nlohmann::json::array());
      for (std::size_t j = 0; j < i; ++j) {
        const auto away = distance(keys[j], keys[i], matter);
        before.push_back(away ? nlohmann::json(*away) : nlohmann::json());
      }
    }
  }
  return print_json(said, -1);
}

void write_nature(row_writer& to, const std::vector<nature_and_injection>& pairs) {
  to.begin("nature", "a driver call that the driver failed, inside of a call that sweeps have",
           {{"stack", "the stack in words"},
            {"call", "that failed"},
            {"function", "the driver call"},
            {"code", "what that returned"},
            {"agrees", "1: each status was seen where a sweep made it fail"},
            {"natural", "statuses, as JSON: how many trials"},
            {"injected", "by a sweep with the same code, as JSON: how many driver calls"},
            {"injected_with_other_codes", "likewise"}});
  for (const nature_and_injection& p : pairs)
    to.row({p.stack, p.call, p.function, p.code,
            int{agrees(p.natural, p.injected.empty() ? p.with_other_codes : p.injected)}, p.natural,
            p.injected, p.with_other_codes});
}

int print_rows(const rows_arguments& arguments) {
  if (arguments.distances) return print_distances();
  if (arguments.conditions) {
    answer_conditions(std::cin, std::cout);
    return 0;
  }
  if (arguments.runs) return print_runs(arguments.records);
  if (arguments.digest) {
    std::cout << digest_of_sources() << '\n';
    return 0;
  }
  const auto is_wanted = [&](const char* name) { return arguments.only.empty() || arguments.only == name; };
  row_writer to(std::cout);
  const std::vector<cost_record> measured = cost_records_of(arguments.records, arguments.only == "costs");
  if (is_wanted("costs")) write_costs(to, measured);
  if (arguments.only == "costs") return 0;
  const cost_notes costs = notes_of(measured);
  std::vector<record> records = load_judged(arguments.records);
  if (is_wanted("messages")) {
    const lexicon known = load_lexicon(explain_folder());
    write_sayings(to, driver_sayings_in(records, known), known);
    write_nature(to, nature_and_injection_in(records));
  }
  if (arguments.only.empty()) write_pages(to, records, load_lexicon(explain_folder()), costs);
  if (is_wanted("claims")) write_claims(to, judge_claims(load_claims(claims_file()), records, costs));
  if (!is_wanted("arms")) return 0;
  // The build's table is the same for every user, wherever the records lie.
  const bool own = arguments.records == records_to_read{default_recorded()};
  const std::size_t folder = own ? default_recorded().string().size() + 1 : 0;
  for (record& r : records)
    for (case_result& c : r.cases)
      for (arm_result& a : c.arms) a.source.erase(0, folder);
  write_driver_failures(to, records);
  write_cells(to, records, costs);
  const baselines recorded(own ? std::vector{default_recorded()} : baseline_folders());
  for (record& r : records)
    for (case_result& c : r.cases) judge(c, recorded, keys_of(r));
  write_arms(to, records, costs);
  return 0;
}

void add_rows(command_line& line) {
  const auto said = std::make_shared<rows_arguments>();
  CLI::App* rows = line.command("rows", "", "", [said] { return print_rows(*said); });
  rows->group("");
  add_to_read(rows, said->records);
  rows->add_option("--only", said->only, "tables of costs, messages, claims or arms (default: all)")
      ->check(CLI::IsMember({"costs", "messages", "claims", "arms"}));
  rows->add_flag("--runs", said->runs, "what each arm came to in each run");
  rows->add_flag("--distances", said->distances, "of stacks on standard input");
  rows->add_flag("--conditions", said->conditions, "of cells on standard input");
  rows->add_flag("--digest", said->digest, "only what identifies the program and the records that it has");
}

const register_command rows_here{"rows", add_rows, hidden};

}  // namespace
}  // namespace cufault
