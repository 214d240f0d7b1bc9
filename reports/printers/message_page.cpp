// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/message_page.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/evidence/distance.hpp"
#include "reports/explain/driver_sayings.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/printers/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {

/// Prints a page as Markdown, or as text whose lines keep to a width.
struct page_writer {
  std::ostream& out;
  table_style style;
  std::size_t width;  ///< columns of text

  [[nodiscard]] bool markdown() const { return style == table_style::markdown; }
  /// In Markdown marked as code.
  [[nodiscard]] std::string code(const std::string& text) const {
    if (!markdown()) return text;
    return text.find('`') == text.npos ? "`" + text + "`" : "`` " + text + " ``";
  }
  void heading(std::string_view text) const { print_heading(out, text, 2, style); }
  /// Wrapped text stands beside the label.
  void line(std::string label, const std::string& text) const {
    for (const std::string& part : markdown() ? std::vector{text} : wrapped(text, width - label.size())) {
      out << (part.empty() ? part : label + part) << '\n';
      label.assign(label.size(), ' ');
    }
  }
  void paragraph(const std::string& text) const {
    line("", text);
    out << '\n';
  }
};

namespace {

constexpr std::size_t most_calls = 8, most_differences = 8, most_sayings = 5, most_tried = 2;

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& all) {
  if (all.size() < 2) return all.empty() ? "" : all.front();
  return fmt::format("{} and {}", fmt::join(all.begin(), all.end() - 1, ", "), all.back());
}

/// "12.0.1 to 13.10.0"
std::string range_of(const std::vector<std::string>& versions) {
  return versions.size() < 3 ? listed(versions) : versions.front() + " to " + versions.back();
}

constexpr std::string_view not_measured = "not measured yet";
/// What records say of an arm, or how to record it.
std::string measured(const page_writer& to, const std::string& arm, std::span<const record> records) {
  std::map<std::string, std::set<std::string>> seen;
  for (const record& r : records)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        if (join_key(c.name, a.name) == arm && !a.trials.empty()) seen[seen_by(a)].insert(stack_label(r));
  if (seen.empty()) return fmt::format("{}: {}", not_measured, to.code("cufault run " + arm));
  std::vector<std::string> parts;
  for (const auto& [what, stacks] : seen)
    parts.push_back(fmt::format("measured on {}: {}", plural(stacks.size(), "stack"), to.code(what)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Whether a page about one call is about this one: by its name or its family.
bool is_of_call(const message_page& page, const std::string& call) {
  return page.call.empty() || fit({page.status, page.call}, page.status, call) == 3;
}

/// What is loaded or looked at before a program calls anything.
bool is_no_call(const std::string& api) {
  return api.starts_with("load.") || api.starts_with("check.");
}

/// What to look at, and what it shows if this is the cause; empty where nothing is known.
std::string check_text(const ranked_cause& c) {
  if (!c.next) return {};
  const std::string time =
      c.next->seconds > 60 ? fmt::format(" (takes {:.0f} min)", c.next->seconds / 60) : std::string();
  return fmt::format("{} If it is this: {}{}", c.next->text, c.next->says, time);
}

/// The trials that show it, whose they are, and what repeats one.
std::string trials_seen_text(const ranked_cause& c, const std::string& framework) {
  if (c.natural_trials == 0) return "by documents and reports";
  std::string text =
      fmt::format("{} on {}", plural(c.natural_trials, "recorded trial"), plural(c.stacks.size(), "stack"));
  if (!framework.empty()) text += fmt::format(", {} in {}", c.framework_trials, framework);
  if (const auto alone = c.natural_trials - c.returned_trials; alone > 0)
    text += fmt::format(", {} in the driver's words alone", alone);
  return c.reproduce.empty() ? text : text + "; " + c.reproduce;
}

/// Remedies that were tried in this framework or in none. Without a framework, those of any, each with its name. Costs are of these stacks.
std::string remedies_text(const std::vector<tried_remedy>& all, const std::string& framework,
                          const std::set<std::string>& stacks, const cost_notes& costs) {
  std::vector<std::string> parts;
  for (const tried_remedy& t : all) {
    const std::string own = framework_of(t.arm);
    const bool elsewhere = !own.empty() && own != framework;
    if (parts.size() == most_tried || (elsewhere && !framework.empty())) continue;
    std::string cost;
    for (const std::string& stack : stacks)
      if (const std::string note = note_of(costs, stack, remedy_of_arm(t.arm)); cost.empty() && !note.empty())
        cost = fmt::format("; {} on {}", note, stack.substr(0, stack.find(", driver")));
    parts.push_back(t.words + (elsewhere ? ", in " + own : ""));
    if (t.cleared > 0 && t.failed > 0)
      parts.back() += fmt::format(" (cleared it on {}, not on {})", plural(t.cleared, "stack"), t.failed);
    else if (t.cleared > 0)
      parts.back() += fmt::format(" ({}{})", plural(t.cleared, "stack"), cost);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// GPUs, drivers and versions of cuBLAS of these stacks.
std::string stacks_text(std::span<const record> records, const std::set<std::string>& stacks) {
  std::set<std::string> gpus, drivers;
  std::set<std::string, message_pages::by_version> versions;
  for (const record& r : records) {
    if (!stacks.contains(stack_label(r))) continue;
    const stack_keys keys = keys_of(r);
    gpus.insert(gpu_name(*r.stack));
    if (const auto driver = keys.find("driver"); driver != keys.end()) drivers.insert(driver->second);
    if (const auto cublas = keys.find("cublas"); cublas != keys.end()) versions.insert(cublas->second);
  }
  std::vector<std::string> parts{listed({gpus.begin(), gpus.end()})};
  if (!drivers.empty()) parts.push_back("driver " + listed({drivers.begin(), drivers.end()}));
  if (!versions.empty()) parts.push_back("cuBLAS " + range_of({versions.begin(), versions.end()}));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Which failures the causes are of, and the stacks of their trials.
void print_scope(const page_writer& to, const message_page& page, const explanation& e,
                 std::span<const record> records) {
  std::set<std::string> stacks;
  for (const ranked_cause& c : e.causes) stacks.insert(c.stacks.begin(), c.stacks.end());
  const std::string call = e.failure ? e.failure->call : "";
  const std::string from = call.empty() ? "" : fmt::format(" from {} or a call of its family", to.code(call));
  // Records have names of their own for what no library returns.
  const bool of_library = page.status.starts_with("CUBLAS_") || page.status.starts_with("cuda");
  to.line("", fmt::format("Causes of {}{}: the frequent ones, by documents and reports, come first.{}",
                          of_library ? to.code(page.status) : "this message", from,
                          stacks.empty() ? " No record shows it." : ""));
  if (!stacks.empty())
    to.line("",
            fmt::format("Trials are of cases, without cells of the matrix, on {}: {}. A remedy was tried on "
                        "stacks of its cause.",
                        plural(stacks.size(), "stack"), stacks_text(records, stacks)));
  to.out << '\n';
}

}  // namespace

marked_code code_between_marks(const std::vector<fs::path>& folders, const std::string& name,
                               const std::string& which) {
  const std::string mark = fmt::format("[{} {}]", name, which);
  for (const fs::path& folder : folders) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      marked_code code{file.extension() == ".py" ? "python" : "cpp", {}};
      bool inside = false, ended = false;
      std::size_t indent = 0;  // of the marks
      each_line(read_text(file), [&](std::string_view line, int, bool) {
        const bool marked = line.ends_with(" " + mark);
        ended = ended || (inside && line.ends_with(" [end]"));
        if (marked) indent = line.find_first_not_of(' ');
        if (inside && !ended) code.text.append(line.substr(std::min(indent, line.size()))).append("\n");
        inside = inside || marked;
      });
      if (ended) return code;
      if (inside) throw input_error(fmt::format("{}: no [end] behind {}", file.string(), mark));
    }
  }
  std::vector<std::string> names;
  for (const fs::path& folder : folders) names.push_back(folder.string());
  throw input_error(fmt::format("{}: no source has the mark {}", fmt::join(names, ", "), mark));
}

bool message_pages::by_version::operator()(const std::string& a, const std::string& b) const {
  return version_from(a) < version_from(b);
}

message_pages::message_pages(const lexicon& words, std::span<const record> records, const cost_notes& costs,
                             std::vector<fs::path> sources)
    : words_(words),
      records_(records),
      costs_(costs),
      sources_(std::move(sources)),
      said_(driver_sayings_in(records, words)) {
  for (const error_name& e : words.errors)
    for (const std::string& name : e.also) names_[name] = e.name;
  for (const record& r : records) {
    const std::string version = key_of(*r.stack, "cublas"), gpu = gpu_name(*r.stack);
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) {
        if (a.kind != arm_kind::fault || !a.counterpart_of.empty() || is_made_up(a) || !a.races.empty())
          continue;
        const std::string arm = join_key(c.name, a.name);
        for (const observation& o : a.trials)
          for (const call_record& call : o.calls) {
            if (call.swept || !comparable(o)) continue;
            const bool wrong =
                is_success_status(call.what.status) && call.what.numbers == numbers_found::wrong;
            const std::string raw = wrong ? status_wrong_numbers : call.what.status;
            const std::string status = name_of(raw);
            spelt_[status].insert(raw);
            steps_[{arm, o.level, call.what.name.api, call_in_log(call), call.what.name.variant, gpu}]
                  [version]
                      .insert(status);
          }
      }
  }
}

std::string message_pages::name_of(const std::string& status) const {
  const auto found = names_.find(status);
  return found == names_.end() ? status : found->second;
}

message_pages::of_page message_pages::steps_of(const message_page& page) const {
  of_page found;
  for (const auto& [step, versions] : steps_)
    if (is_of_call(page, step.named) &&
        std::ranges::any_of(versions, [&](const auto& v) { return v.second.contains(page.status); }))
      found.emplace_back(&step, &versions);
  return found;
}

void message_pages::print_seen(const page_writer& to, const message_page& page, const of_page& steps) const {
  std::vector<std::string> shown;
  const auto show = [&](std::string text) {
    for (auto at = text.find('*'); at != std::string::npos; at = text.find('*')) text.replace(at, 1, "...");
    if (std::ranges::find(shown, to.code(text)) == shown.end()) shown.push_back(to.code(text));
  };
  for (const std::string& text : page.texts) show(text);
  if (page.framework.empty())
    for (const error_name& e : words_.errors)
      if (e.name == page.status) {
        show(e.name);
        for (const auto* list : {&e.also, &e.texts, &e.common_texts, &e.short_texts})
          for (const std::string& text : *list) show(text);
        if (e.code != 0) shown.push_back("its number: " + std::to_string(e.code));
      }
  for (const std::string& text : shown) to.line("- ", text);
  to.out << '\n';
  std::map<std::string, std::set<std::string>> arms_of_call;
  for (const auto& [step, versions] : steps)
    if (!is_no_call(step->api)) arms_of_call[step->api].insert(step->arm);
  if (arms_of_call.empty() || (!page.framework.empty() && page.call.empty())) return;
  std::vector<std::pair<std::size_t, std::string>> calls;
  for (const auto& [call, arms] : arms_of_call) calls.emplace_back(arms.size(), to.code(call));
  std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (const auto& [arms, name] : calls)
    if (names.size() < most_calls) names.push_back(name);
  to.paragraph(fmt::format(
      "Recorded from {}{}{}.", fmt::join(names, ", "),
      calls.size() > most_calls ? fmt::format(" and {} more calls", calls.size() - most_calls) : "",
      calls.size() > 1 ? "; those of most arms come first" : ""));
}

/// Calls that return the status with one version of cuBLAS and something else with another, where the same arm ran with both. Nothing where no
/// arm did.
void message_pages::print_differences(const page_writer& to, const of_page& steps) {
  // call, what it returned with which versions -> arms
  std::map<std::pair<std::string, std::string>, std::set<std::string>> found;
  std::set<std::string> alike;
  for (const auto& [step, all_versions] : steps) {
    const by_versions& versions = *all_versions;
    if (versions.size() < 2) continue;
    if (std::ranges::all_of(versions, [&](const auto& v) { return v.second == versions.begin()->second; })) {
      alike.insert(step->arm);
      continue;
    }
    std::vector<std::pair<std::string, std::vector<std::string>>> by_statuses;  // in the order of versions
    for (const auto& [version, returned] : versions) {
      std::vector<std::string> names;
      for (const std::string& s : returned)
        names.emplace_back(s.empty() ? "did not return" : short_status(s));
      const std::string text = fmt::format("{}", fmt::join(names, " or "));
      if (by_statuses.empty() || by_statuses.back().first != text) by_statuses.push_back({text, {}});
      by_statuses.back().second.push_back(version);
    }
    std::vector<std::string> parts;
    for (const auto& [text, of] : by_statuses) parts.push_back(fmt::format("{}: {}", range_of(of), text));
    found[{step->api, fmt::format("{}", fmt::join(parts, "; "))}].insert(
        step->arm + (step->level ? fmt::format(" at level {}", *step->level) : std::string()));
  }
  if (found.empty() && alike.empty()) return;
  to.heading("Versions in which it differs");
  if (found.empty()) {
    to.paragraph(fmt::format("None: {} with several versions of cuBLAS, each with one result.",
                             alike.size() == 1 ? "one arm that shows it ran"
                                               : fmt::format("{} arms that show it ran", alike.size())));
    return;
  }
  std::vector<table_row> rows;
  for (const auto& [what, arms] : found)
    rows.push_back({what.first, what.second, std::to_string(arms.size()), *arms.begin()});
  std::ranges::stable_sort(
      rows, [](const table_row& a, const table_row& b) { return std::stoi(a[2]) > std::stoi(b[2]); });
  const std::size_t all = rows.size();
  rows.resize(std::min(all, most_differences));
  print_table(to.out, {"call", "what it returns, by recorded version of cuBLAS", "arms", "for example"}, rows,
              to.style, to.width);
  if (all > rows.size())
    to.paragraph(fmt::format("And {} more: {}.", all - rows.size(), to.code("cufault history matrix")));
}

void message_pages::print_driver(const page_writer& to, const message_page& page) const {
  std::vector<std::pair<std::uint64_t, table_row>> rows;
  for (const driver_saying& s : said_.all) {
    // A message without a call of the driver is no reason of a failure.
    if (s.said.function.empty() || s.said.code.empty()) continue;
    std::vector<std::pair<std::uint64_t, std::string>> calls;
    std::uint64_t failed = 0;
    for (const auto& [behind, times] : s.behind) {
      const std::string call = behind.substr(0, behind.find(':'));
      if (name_of(behind.substr(behind.find(' ') + 1)) != page.status || !is_of_call(page, call)) continue;
      calls.emplace_back(times, call);
      failed += times;
    }
    if (calls.empty()) continue;
    const std::string most =
        std::ranges::max_element(calls, {}, [](const auto& c) { return c.first; })->second;
    rows.push_back(
        {failed,
         {describe(s.said), calls.size() == 1 ? most : fmt::format("{} and {} more", most, calls.size() - 1),
          std::to_string(failed)}});
  }
  if (rows.empty()) return;
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<table_row> shown;
  for (auto& row : rows)
    if (shown.size() < most_sayings) shown.push_back(std::move(row.second));
  to.heading("The driver's words");
  print_table(to.out, {"the driver said", "behind", "failed calls"}, shown, to.style, to.width);
}

void print_ways(std::ostream& out, const explanation& e, table_style style, std::size_t width,
                const cost_notes& costs) {
  const page_writer to{out, style, width};
  const std::string framework = e.page == nullptr ? std::string() : e.page->framework;
  for (std::size_t i = 0; i < e.causes.size(); ++i) {
    const ranked_cause& c = e.causes[i];
    const std::string bold = to.markdown() ? "**" : "";
    to.line(fmt::format("{}. ", i + 1), bold + cell(c.text, style) + bold);
    const std::vector<std::pair<std::string_view, std::string>> lines{
        {"check", check_text(c)},
        {"clears", c.cures.empty() ? "" : c.cures.front()},
        {"measured", remedies_text(c.clears, framework, c.stacks, costs)},
        {"does not clear", remedies_text(c.does_not_clear, framework, c.stacks, costs)},
        {"seen", trials_seen_text(c, framework)}};
    for (const auto& [head, text] : lines)
      if (!text.empty())
        to.line(to.markdown() ? fmt::format("   - *{}:* ", head) : fmt::format("   {:<16}", head),
                cell(text, style));
  }
  out << '\n';
}

void message_pages::print(std::ostream& out, const message_page& page, const explanation& e,
                          table_style style, std::size_t width) const {
  const page_writer to{out, style, width};
  const of_page steps = steps_of(page);
  if (!to.markdown()) to.paragraph(page.texts.empty() ? page.status : page.texts.front());
  to.paragraph(page.says);
  to.heading("What you see");
  print_seen(to, page, steps);
  to.heading("What had happened before");
  if (e.causes.empty()) {
    to.paragraph("No cause of it is known.");
  } else {
    print_scope(to, page, e, records_);
    print_ways(out, e, style, width, costs_);
  }
  if (!page.snippet.empty()) {
    const std::string name = page.snippet.substr(page.snippet.find('/') + 1);
    for (const auto& [title, which, arm] :
         {std::tuple{"Code that fails", "fails", page.snippet},
          std::tuple{"The same code, corrected", "corrected", page.snippet + "_corrected"}}) {
      const marked_code code = code_between_marks(sources_, name, which);
      const std::string seen = measured(to, arm, records_);
      if (!seen.starts_with(not_measured) && arm == page.snippet && page.framework.empty() &&
          std::ranges::none_of(steps, [&page](const auto& of) { return of.first->arm == page.snippet; }))
        throw input_error(
            fmt::format("{}: its records do not show {}, of which its page is", arm, page.status));
      to.heading(seen.starts_with(not_measured) ? title + std::string(", not measured yet") : title);
      if (to.markdown())
        out << fmt::format("```{}\n{}```\n", code.language, code.text);
      else
        each_line(code.text, [&](std::string_view one, int, bool) { to.line("  ", std::string(one)); });
      out << '\n';
      to.paragraph(fmt::format("{}: {}.", to.code(arm), seen));
    }
  }
  // A page of a framework about no call would repeat that of its status.
  const message_page* const status = words_.page_of(page.status);
  const bool repeats = !page.framework.empty() && page.call.empty();
  if (!repeats) {
    print_differences(to, steps);
    print_driver(to, page);
  }
  to.heading("More");
  if (repeats && status != nullptr && status->framework.empty())
    to.line("", fmt::format("Its status, with the driver's words, versions and code where there are: {}.",
                            to.markdown() ? fmt::format("[{}]({}.md)", to.code(page.status), status->name)
                                          : status->command()));
  if (!page.texts.empty())
    to.line("", to.code("cufault explain") + " with your program's output ranks these causes by it.");
  if (!page.framework.empty()) return;
  if (const auto spelt = spelt_.find(page.status); spelt != spelt_.end())
    to.line("", fmt::format("{}: each recorded way, and each remedy that was tried.",
                            to.code(fmt::format("cufault causes {} --all", spelt->second.contains(page.status)
                                                                               ? page.status
                                                                               : *spelt->second.begin()))));
  else if (std::ranges::all_of(e.causes, [](const ranked_cause& c) { return c.returned_trials == 0; }))
    to.line("", "No record has a call that returned it.");
}

void print_message_index(std::ostream& out, const lexicon& words, table_style style, std::size_t width) {
  const page_writer to{out, style, width};
  std::vector<table_row> rows;
  for (const message_page& p : words.pages)
    rows.push_back({to.markdown() ? fmt::format("[{0}](messages/{0}.md)", p.name) : p.name,
                    to.code(p.texts.empty() ? p.status : p.texts.front())});
  print_table(out, {"page", "what is printed"}, rows, style, width);
}

}  // namespace cufault
