// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"
#include "reports/base/words.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/recorded_answers.hpp"
#include "reports/model/failures.hpp"
#include "reports/printers/print_explanation.hpp"
#include "reports/printers/ways.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
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
    for (const char* library : {"cublas", "cuda"})
      if (std::string named{words.by_code(*library_of_status(library), code)}; statuses.contains(named))
        return named;
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

/// Names of pages, by names or statuses with commas between them. Throws usage_error.
std::vector<std::string> pages_called(const std::string& names, const records_to_read& records) {
  const lexicon words = load_lexicon(explain_folder());
  std::set<std::string> statuses;
  std::vector<std::string> found;
  std::istringstream all(names);
  for (std::string name; std::getline(all, name, ',');) {
    const bool is_page = std::ranges::find(words.pages, name, &message_page::name) != words.pages.end();
    if (!is_page && statuses.empty()) statuses = answers_of(records, words).statuses;
    const message_page* const page = page_called(name, statuses, words);
    if (page == nullptr)
      throw usage_error(fmt::format("no page is of {}; cufault causes --pages lists them", name));
    found.push_back(page->name);
  }
  return found;
}

/// What a reader gets in place of what was said.
void answer_instead(CLI::Option* option, const std::string& text) {
  option->clear();
  option->add_result(text);
}

/// `command`: its option STATUS becomes the status in full, and --said what the reader of the tables says, too.
int show_causes(CLI::App& command, const std::string& asked, const std::vector<fs::path>& records, bool all,
                print_form form) {
  const lexicon words = load_lexicon(explain_folder());
  const recorded_answers answers = answers_of(records, words);
  if (records_in(records).empty()) throw usage_error(no_record);
  const std::string status = status_called(asked, answers.statuses, words);
  const message_page* const page = words.page_of(status);
  const bool has_no_name = status == status_wrong_numbers && page != nullptr && !page->texts.empty();
  const explanation e =
      ways_to(answers.seen, words)(has_no_name ? page->texts.front() : status, on_a_terminal);
  if (!form.json && !e.causes.empty()) {
    print_heading(std::cout, "What had happened where a call returned " + status, 2, form.style());
    print_ways(std::cout, e, form.style(), width_of_output(), measured_costs(records));
  }
  const std::string last =
      form.markdown || e.page == nullptr ? "" : "With code and versions: " + e.page->command();
  if (all || form.json || form.markdown || e.causes.empty()) {
    const nlohmann::ordered_json said{{"ways", explanation_json(e, status)["causes"]}, {"last", last}};
    answer_instead(command.get_option("STATUS"), status);
    answer_instead(command.get_option("--said"), said.dump());
    return answer("causes", command);
  }
  std::cout << "`cufault explain` ranks these by your program's output. --all: each recorded way, and each "
               "remedy that was tried.\n";
  if (!last.empty()) std::cout << last << "\n";
  return 0;
}

void add_causes(command_line& line) {
  struct given : to_read {
    std::string status;
    bool all = false, page = false, pages = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* causes = line.command(
      "causes", "What had happened where a call returned a status, how to check it, and what clears it",
      codes_of_reading, [said](CLI::App& asked) {
        if (said->status.empty() != said->pages)
          throw usage_error("say which status, or --pages; see cufault causes --help");
        if (said->page && said->json) throw usage_error("--page is for people: leave --json out");
        if (said->pages && said->json)
          throw usage_error("--pages is no JSON: cases/explain/pages.json has the pages");
        if (said->page) {
          const auto names = pages_called(said->status, said->records);
          answer_instead(asked.get_option("STATUS"), fmt::format("{}", fmt::join(names, ",")));
        }
        if (said->page || said->pages) return answer("causes_pages", asked);
        return show_causes(asked, said->status, said->records, said->all, *said);
      });
  causes->add_flag("--all", said->all, "also every recorded way to make a call return it, and every remedy");
  CLI::Option* page = causes->add_flag(
      "--page", said->page,
      "its page in reports/pages/messages, with code that fails and the same code corrected: text on a "
      "terminal, else Markdown. STATUS may also be the name of a page, or several with commas between them");
  CLI::Option* pages = causes->add_flag("--pages", said->pages, "each message that has a page, and which");
  causes
      ->add_option("STATUS", said->status,
                   "as in CUBLAS_STATUS_INTERNAL_ERROR, INTERNAL_ERROR or 14; WRONG_NUMBERS: success with "
                   "wrong numbers")
      ->check(not_empty);
  page->excludes(pages);
  add_passed_on(causes, "--said", "")->group("");
  add_to_read(causes, said->records);
  add_form(causes, *said, "causes", ", with all tables");
}

const register_command causes_here{"causes", add_causes, also(section::program_failed, 5)};

}  // namespace

void write_pages(row_writer& to, std::span<const record> judged, const lexicon& words,
                 const cost_notes& costs) {
  std::set<std::string> calls;
  for (const record& r : judged)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        for (const observation& o : a.trials)
          for (const call_record& call : o.calls) calls.insert({call.what.name.api, call_in_log(call)});
  to.begin("page_calls", "a call that the page of a call is of", {{"page", "its name"}, {"api", "the call"}});
  for (const message_page& page : words.pages)
    for (const std::string& call : calls)
      if (!page.call.empty() && fit({page.status, page.call}, page.status, call) == 3)
        to.row({page.name, call});
  ways_to ways(evidence_in(judged, words), words);
  begin_ways(to);
  for (const message_page& page : words.pages)
    write_ways(to, page.name, ways(page.texts.empty() ? page.status : page.texts.front(), on_a_page), costs);
}

}  // namespace cufault
