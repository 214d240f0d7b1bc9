// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands that read records and print: claims, show, causes, atlas, compare-injected.
#include "harness/cli/cli.hpp"
#include "harness/cli/commit.hpp"
#include "harness/model/case.hpp"
#include "reports/base/files.hpp"
#include "reports/base/words.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/recorded_answers.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/atlas.hpp"
#include "reports/printers/causes.hpp"
#include "reports/printers/cost.hpp"
#include "reports/printers/message_page.hpp"
#include "reports/printers/messages.hpp"
#include "reports/printers/print_explanation.hpp"
#include "reports/printers/render.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// The member of `statuses` that the user names: in full, without its library (INTERNAL_ERROR, LaunchFailure), or by number, of cuBLAS
/// before CUDA (14, 700). WRONG_NUMBERS stands for wrong numbers behind SUCCESS. Throws usage_error.
std::string status_called(const std::string& asked, const std::set<std::string>& statuses,
                          const lexicon& words) {
  if (in_lower_case(asked) == in_lower_case(status_wrong_numbers)) return status_wrong_numbers;
  if (statuses.contains(asked)) return asked;
  std::int64_t code = 0;
  if (const auto [end, bad] = std::from_chars(asked.data(), asked.data() + asked.size(), code);
      bad == std::errc() && end == asked.data() + asked.size())
    for (const char* library : {"CUBLAS_STATUS_", "CUDA_ERROR_", "cudaError"})
      if (const error_name* named = words.by_code(library, code);
          named != nullptr && statuses.contains(named->name))
        return named->name;
  std::vector<std::string> meant, spelt{statuses.begin(), statuses.end()};
  for (const std::string& status : statuses)
    for (const char* library : {"CUBLAS_STATUS_", "CUDA_ERROR_", "cudaError", "cuda"})
      if (status.starts_with(library)) {
        spelt.push_back(status.substr(std::strlen(library)));
        if (in_lower_case(spelt.back()) == in_lower_case(asked) && (meant.empty() || meant.back() != status))
          meant.push_back(status);
      }
  if (meant.size() == 1) return meant.front();
  if (meant.empty())
    throw usage_error(
        fmt::format("no recorded call returned {}; statuses are spelt as in CUBLAS_STATUS_INTERNAL_ERROR, "
                    "INTERNAL_ERROR or 14{}",
                    asked, did_you_mean(asked, spelt)));
  throw usage_error(fmt::format("{} may be any of {}; say which", asked, fmt::join(meant, ", ")));
}

/// The build makes it beside the program: cufault_answers in CMakeLists.txt.
fs::path answers_file() {
  return own_path().parent_path().parent_path() / "share/cufault/answers.jsonl";
}

/// Empty where the file is missing, damaged or made from other sources.
std::optional<recorded_answers> answers_of_the_build() {
  std::error_code none;
  if (!fs::exists(answers_file(), none)) return {};
  try {
    return read_answers(answers_file(), digest_of_sources());
  } catch (const std::exception&) {  // A source cannot be read. Reading the records reports which one.
    return {};
  }
}

}  // namespace

std::string digest_of_sources() {
  return digest_of({default_recorded(), explain_folder()}, this_build.reports);
}

recorded_answers answers_of(const std::vector<fs::path>& named, const lexicon& words) {
  if (named == records_to_read{default_recorded()})
    if (auto made = answers_of_the_build()) return *std::move(made);
  return answers_in(judged_records(named), words);
}

int make_answers() {
  fs::create_directories(answers_file().parent_path());
  try {
    const std::string digest = digest_of_sources();  // first: a source that changes meanwhile has another one
    const lexicon words = load_lexicon(explain_folder());
    write_answers(answers_file(), answers_in(judged_records({default_recorded()}), words), digest);
  } catch (const std::exception& error) {
    std::cerr << fmt::format("cufault: {}; explain will read the records\n", error.what());
    write_whole(answers_file(), "");
  }
  return 0;
}

std::vector<record> judged_records(const std::vector<fs::path>& named,
                                   const std::set<std::string>& families) {
  return load_records(named, [&families](const fs::path& file) {
    record r = load_families(file, families);
    const baselines none;
    const stack_keys keys = keys_of(r);
    for (case_result& c : r.cases) judge(c, none, keys);
    return r;
  });
}

std::vector<record> load_judged(const std::vector<fs::path>& named, const std::set<std::string>& families) {
  std::vector<record> loaded = judged_records(named, families);
  if (loaded.empty()) throw usage_error(no_record);
  return loaded;
}

cost_notes measured_costs(const std::vector<std::filesystem::path>& records) {
  std::vector<cost_record> all;
  for (const auto& file : cost_records_in(records))
    // A record of trials that was named as a file is none of costs.
    if (file.filename() == cost_file) all.push_back(load_cost_record(file));
  return notes_of(all);
}

std::size_t tell_unread(const baselines& recorded) {
  for (const std::string& bad : recorded.problems())
    std::cerr << fmt::format("cufault: {}; left out\n", cell(bad, table_style::text));
  return recorded.problems().size();
}

int show_claims(const std::vector<fs::path>& records, print_form form) {
  const std::vector<record> loaded = load_judged(records);
  const auto verdicts = judge_claims(load_claims(claims_file()), loaded);
  if (form.json) return print_json(to_json(verdicts));
  print_claims(std::cout, verdicts, form.style(), measured_costs(records));
  return 0;
}

int show_record(const fs::path& file, const std::vector<std::string>& names,
                const std::vector<fs::path>& folders, print_form form) {
  const auto is_of = [](const std::string& name, const std::string& case_name, const std::string& arm) {
    return name == case_name || name == join_key(case_name, arm);
  };
  std::set<std::string> families;
  for (const std::string& name : names) families.insert(family_of_case(name));
  record r = load_families(file, families);
  std::vector<std::string> known;
  for (const case_result& c : r.cases) {
    known.push_back(c.name);
    for (const arm_result& a : c.arms) known.push_back(join_key(c.name, a.name));
  }
  if (!names.empty())
    for (case_result& c : r.cases)
      std::erase_if(c.arms, [&](const arm_result& a) {
        return std::ranges::none_of(names,
                                    [&](const std::string& name) { return is_of(name, c.name, a.name); });
      });
  std::erase_if(r.cases, [](const case_result& c) { return c.arms.empty(); });
  for (const std::string& name : names)
    if (std::ranges::none_of(r.cases, [&](const case_result& c) {
          return std::ranges::any_of(c.arms,
                                     [&](const arm_result& a) { return is_of(name, c.name, a.name); });
        }))
      throw usage_error(fmt::format("{} has no {} {}{}", file.string(),
                                    name.find('/') == name.npos ? "case" : "arm", name,
                                    did_you_mean(name, known.empty() ? names_of_cases() : known)));
  if (form.json) {
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) std::cout << dump_json(arm_json(c.name, a)) << '\n';
    return 0;
  }
  const baselines recorded(folders);
  for (case_result& c : r.cases) judge(c, recorded, keys_of(r));
  print_verdicts(std::cout, r, form.style(), measured_costs({file}),
                 names.empty() && terminal_of(std::cout).width > 0 && !form.markdown);
  tell_unread(recorded);
  return 0;
}

namespace {

constexpr std::size_t on_a_page = 9, on_a_terminal = 5;

/// The causes of statuses and messages.
class ways_to {
 public:
  ways_to(evidence seen, const lexicon& words)
      : words_(words),
        finder_(words),
        evidence_(std::move(seen)),
        reports_(reports_of_causes(load_failures(failures_file()), words)) {}
  [[nodiscard]] explanation operator()(const std::string& text, std::size_t at_most) {
    finder_.add(text);
    constexpr std::size_t of_each_class = 3;
    return explain(finder_.finish(), {words_, evidence_, reports_}, at_most, of_each_class);
  }

 private:
  const lexicon& words_;
  event_finder finder_;  // takes long to make
  evidence evidence_;
  std::vector<std::size_t> reports_;
};

}  // namespace

int show_message_index(print_form form) {
  if (form.json) throw usage_error("--pages is no JSON: cases/explain/pages.json has the pages");
  print_message_index(std::cout, load_lexicon(explain_folder()), form.style(), width_of_output());
  return 0;
}

namespace {

/// By its name, or that of its status; nullptr where the status has none.
const message_page* page_called(const std::string& name, const std::set<std::string>& statuses,
                                const lexicon& words) {
  const auto named = std::ranges::find(words.pages, name, &message_page::name);
  if (named != words.pages.end()) return &*named;
  try {
    return words.page_of(status_called(name, statuses, words));
  } catch (const usage_error&) {
    std::vector<std::string> names;
    for (const message_page& page : words.pages) names.push_back(page.name);
    const std::string meant = did_you_mean(name, names);
    if (meant.empty()) throw;
    throw usage_error(fmt::format("no page is named {}; cufault causes --pages lists them{}", name, meant));
  }
}

}  // namespace

int show_message_pages(const std::string& names, const std::vector<fs::path>& records, print_form form) {
  const std::vector<record> loaded = load_judged(records);
  const lexicon words = load_lexicon(explain_folder());
  const recorded_answers answers = answers_in(loaded, words);
  ways_to ways(answers.seen, words);
  const auto costs = measured_costs(records);
  const message_pages pages(words, loaded, costs, snippet_folders());
  form.markdown = form.markdown || terminal_of(std::cout).width == 0;
  std::istringstream all(names);
  for (std::string name; std::getline(all, name, ',');) {
    const message_page* const page = page_called(name, answers.statuses, words);
    if (page == nullptr)
      throw usage_error(fmt::format("no page is of {}; cufault causes --pages lists them", name));
    if (form.markdown && names.find(',') != names.npos) std::cout << "<!-- page " << name << " -->\n";
    pages.print(std::cout, *page, ways(page->texts.empty() ? page->status : page->texts.front(), on_a_page),
                form.style(), width_of_output());
  }
  return 0;
}

int show_causes(const std::string& asked, const std::vector<fs::path>& records, bool all, print_form form) {
  const lexicon words = load_lexicon(explain_folder());
  std::vector<record> loaded;
  if (all || form.json || form.markdown) loaded = load_judged(records);
  const recorded_answers answers = loaded.empty() ? answers_of(records, words) : answers_in(loaded, words);
  if (records_in(records).empty()) throw usage_error(no_record);
  const std::string status = status_called(asked, answers.statuses, words);
  const message_page* const page = words.page_of(status);
  const bool has_no_name = status == status_wrong_numbers && page != nullptr && !page->texts.empty();
  const explanation e =
      ways_to(answers.seen, words)(has_no_name ? page->texts.front() : status, on_a_terminal);
  const auto costs = measured_costs(records);
  if (form.json) {
    nlohmann::ordered_json json{
        {"schema", 1}, {"status", status}, {"ways", explanation_json(e, status)["causes"]}};
    json.update(to_json(tables_of_causes(status, loaded, costs)));
    return print_json(json);
  }
  if (!e.causes.empty()) {
    print_heading(std::cout, "What had happened where a call returned " + status, 2, form.style());
    print_ways(std::cout, e, form.style(), width_of_output(), costs);
  } else if (loaded.empty()) {
    loaded = load_judged(records);
  }
  if (!loaded.empty())
    print_causes(std::cout, status, loaded, form.style(), costs, width_of_output());
  else
    std::cout << "`cufault explain` ranks these by your program's output. --all: each recorded way, and each "
                 "remedy that was tried.\n";
  if (!form.markdown && e.page != nullptr)
    std::cout << "With code and versions: " << e.page->command() << "\n";
  return 0;
}

int show_atlas(const std::vector<fs::path>& records, bool overview, bool nature, print_form form) {
  const std::vector<record> loaded = load_judged(records);
  if (nature) {
    const auto pairs = nature_and_injection_in(loaded);
    if (form.json) return print_json(to_json(pairs));
    print_nature(std::cout, pairs, form.style());
    return 0;
  }
  const auto atlas = atlas_tables(loaded, overview ? atlas_extent::overview : atlas_extent::all);
  if (atlas.empty()) throw usage_error("no sweep is among these records; `cufault sweep` makes them");
  if (form.json) return print_json(to_json(atlas));
  print_atlas(std::cout, atlas, form.style());
  return 0;
}

int show_counterparts(const std::vector<fs::path>& records, print_form form) {
  std::vector<counterpart_pair> known;
  for (const failure_case& c : all_cases())
    for (const arm& a : c.arms)
      if (!a.counterpart_of.empty()) known.push_back({c.name, a.counterpart_of, a.name});
  const auto compared = compare_counterparts(load_judged(records), known);
  if (form.json) return print_json(to_json(compared));
  print_counterparts(std::cout, compared, form.style());
  return 0;
}

}  // namespace cufault
