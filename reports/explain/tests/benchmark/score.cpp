// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How often `explain` names the right class of cause: of public reports whose cause is confirmed, and of programs that were run on a GPU
// with a known mistake; and how often it names one where nothing of a GPU library failed. Prints the score by class, how often the first
// cause was right by how sure it is said to be, and the misses. Half of the texts, by a hash of their names, is held out: who changes the
// tables looks at the misses of the other half alone, and those of this half are not printed.
// Exit code 1: lower than before, or a false answer; 2: bad input.
#include "reports/base/json_fields.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/logs.hpp"
#include "reports/judge/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct text_with_cause {
  std::string name, cause, text;  ///< cause: its id, or its class alone
  [[nodiscard]] std::string cause_class() const { return cause.substr(0, cause.find('.')); }
};

/// FNV-1a. A bit of its upper half: the lower ones of similar names are similar.
bool is_held_out(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return (hash >> 32 & 1) != 0;
}

/// What the reporter pasted, or the status and call where nothing was pasted, and what is known of the machine. Not the cause, the fix or
/// the address.
std::vector<text_with_cause> public_reports(const fs::path& file) {
  std::vector<text_with_cause> all;
  for (const json_cursor& r : json_cursor{read_json(file)}.at("reports").items()) {
    text_with_cause one{r.at("id").string(), r.at("cause_class").string(), ""};
    if (r.has("message")) one.text += r.at("message").string() + "\n";
    one.text += r.at("call").string() + ": " + r.at("status").string() + "\n";
    const json_cursor environment = r.at("environment");
    for (const std::string& key : environment.keys())
      one.text += key + ": " + environment.at(key).string() + "\n";
    all.push_back(std::move(one));
  }
  return all;
}

/// What programs of sources printed on a GPU. Without a cause: nothing of a GPU library failed.
struct program_logs {
  std::vector<text_with_cause> plain, with_driver_log;
};

/// NAME.txt, and NAME.logged.txt with NAME.driver.txt below it.
program_logs logs_of_programs(const fs::path& programs, const fs::path& folder, const lexicon& known) {
  program_logs all;
  for (const json_cursor& p : json_cursor{read_json(programs)}.at("programs").items()) {
    const std::string name = p.at("name").string(), cause = p.has("cause") ? p.at("cause").string() : "";
    const auto file = [&](const char* kind) { return folder / (name + kind + ".txt"); };
    if (!fs::exists(file(""))) continue;
    if (!cause.empty() &&
        std::ranges::none_of(known.causes, [&](const known_cause& c) { return c.id == cause; }))
      throw std::runtime_error(fmt::format("{}: {}: no cause {}", programs.string(), name, cause));
    all.plain.push_back({name, cause, read_text(file(""))});
    if (!fs::exists(file(".logged"))) continue;
    std::string text = read_text(file(".logged"));
    if (fs::exists(file(".driver"))) text += read_text(file(".driver"));
    all.with_driver_log.push_back({name, cause, std::move(text)});
  }
  return all;
}

/// Logs in which nothing of a GPU library failed.
std::vector<text_with_cause> healthy_logs(const fs::path& folder) {
  std::vector<text_with_cause> all;
  for (told_log& log : logs_in(folder)) all.push_back({log.where, "", std::move(log.text)});
  return all;
}

/// "supported by N recorded trials": what how_sure() says, without its numbers.
std::string level_of(const ranked_cause& c) {
  std::string level;
  for (const char letter : how_sure(c)) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit)
      level += letter;
    else if (!level.ends_with('N'))
      level += 'N';
  }
  return level.ends_with("trial") ? level + "s" : level;
}

struct score {
  int all = 0, first = 0, three = 0;
  void add(int place) {
    ++all;
    first += place == 1 ? 1 : 0;
    three += place >= 1 ? 1 : 0;
  }
  [[nodiscard]] std::string text() const {
    const auto part = [&](int count) { return all == 0 ? 0.0 : 100.0 * count / all; };
    return fmt::format("{:>4}   first {:>4} ({:.0f} %)   among three {:>4} ({:.0f} %)", all, first,
                       part(first), three, part(three));
  }
};

/// Of each set of texts that was measured: for `--markdown`.
struct measured_set {
  std::string title;
  score total, told;  ///< told: of texts of which the answer does not say that the log does not tell
  std::map<std::string, std::pair<int, int>> by_level{};  ///< first causes: right, all
};

std::string percent(int part, int all) {
  return fmt::format("{:.0f} %", all == 0 ? 0.0 : 100.0 * part / all);
}

void print_markdown(const std::vector<measured_set>& sets) {
  fmt::print(
      "| texts | of | right class first | among the first three | the log tells, of | first | among three |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const measured_set& s : sets) {
    std::string row = fmt::format("| {} |", s.title);
    for (const score& of : {s.total, s.told})
      row += fmt::format(" {} | {} ({}) | {} ({}) |", of.all, of.first, percent(of.first, of.all), of.three,
                         percent(of.three, of.all));
    fmt::print("{}\n", row);
  }
  std::set<std::string> levels;
  std::string head = "\n| the first cause is right, where it is |", rule = "| --- |";
  for (const measured_set& s : sets) {
    head += " " + s.title + " |";
    rule += " --- |";
    for (const auto& [level, count] : s.by_level) levels.insert(level);
  }
  fmt::print("{}\n{}\n", head, rule);
  for (const std::string& level : levels) {
    std::string row = "| " + level + " |";
    for (const measured_set& s : sets) {
      const auto at = s.by_level.find(level);
      row += at == s.by_level.end() ? " - |"
                                    : fmt::format(" {} of {} |", percent(at->second.first, at->second.second),
                                                  at->second.second);
    }
    fmt::print("{}\n", row);
  }
}

measured_set measure(const std::string& title, const std::vector<text_with_cause>& texts, bool held_out,
                     const knowledge& known, bool verbose, bool quiet) {
  measured_set result{title, {}, {}};
  auto& [name_of_set, total, told, by_level] = result;
  std::map<std::string, score> by_class;
  std::vector<std::string> misses, others;
  event_finder finder(known.words);
  for (const text_with_cause& t : texts) {
    if (t.cause.empty() || is_held_out(t.name) != held_out) continue;
    finder.add(t.text);
    const explanation e = explain(finder.finish(), known);
    std::vector<std::string> said;
    int place = 0;
    for (const ranked_cause& c : e.causes) {
      said.push_back(c.what->cause_class());
      if (said.back() == t.cause_class()) place = static_cast<int>(said.size());
    }
    total.add(place);
    if (e.tell_apart.empty()) told.add(place);
    by_class[t.cause_class()].add(place);
    if (!e.causes.empty()) {
      auto& [right, of] = by_level[level_of(e.causes.front())];
      right += place == 1 ? 1 : 0;
      ++of;
    }
    if (place == 1 && t.cause != t.cause_class() && t.cause != e.causes.front().what->id)
      others.push_back(fmt::format("{}: {}, and it said {}", t.name, t.cause, e.causes.front().what->id));
    if (place != 1)
      misses.push_back(fmt::format("{}: {}, and it said {}", t.name, t.cause,
                                   said.empty() ? "nothing" : fmt::format("{}", fmt::join(said, ", "))));
    if (place != 1 && e.tell_apart.empty()) misses.back() += "; the log tells";
    if (verbose && place != 1) {
      misses.back() += fmt::format("\n--- {}", t.text);
      for (const log_event& event : e.log.events)
        misses.back() += fmt::format("    {} {} [{}] {} {}\n", event.line, event.id, event.words, event.call,
                                     event.status);
      for (const ranked_cause& c : e.causes) {
        misses.back() += fmt::format("    > {} {} often {} fits {} natural {} reports {}:", c.what->id,
                                     to_string(c.sure), c.often, c.fits, c.natural_trials, c.reports);
        for (const log_event& w : c.words) misses.back() += " " + w.id;
        misses.back() += "\n";
      }
    }
  }
  if (quiet) return result;
  fmt::print("{}\n  {:<30} {}\n", title, "all", total.text());
  for (const auto& [name, s] : by_class) fmt::print("  {:<30} {}\n", name, s.text());
  for (const auto& [level, count] : by_level)
    fmt::print("  first cause {}: {} of {} right\n", level, percent(count.first, count.second), count.second);
  fmt::print("  {:<30} {}\n", "where the log tells", told.text());
  if (held_out) return result;
  if (!misses.empty()) fmt::print("  not first:\n    {}\n", fmt::join(misses, "\n    "));
  if (!others.empty())
    fmt::print("  another cause of the class first:\n    {}\n", fmt::join(others, "\n    "));
  return result;
}

/// How many texts in which nothing of a GPU library failed get a failure.
int false_answers(const std::string& title, const std::vector<text_with_cause>& texts,
                  const knowledge& known) {
  int all = 0, wrong = 0;
  event_finder finder(known.words);
  for (const text_with_cause& t : texts) {
    if (!t.cause.empty()) continue;
    finder.add(t.text);
    const explanation e = explain(finder.finish(), known);
    ++all;
    const auto& said = e.failure ? e.failure : e.not_understood;
    if (!said) continue;
    ++wrong;
    fmt::print("false answer: {}: line {}: {}\n", t.name, said->line, said->words);
  }
  fmt::print("{}: {}, false answers: {}\n", title, all, wrong);
  return wrong;
}

int run(std::vector<std::string> words) {
  const bool verbose = words.back() == "-v", markdown = words.back() == "--markdown";
  if (verbose || markdown) words.pop_back();
  const fs::path benchmark = words.at(0), explain_folder = words.at(1), recorded = words.at(2),
                 failures = words.at(3);
  const lexicon known = load_lexicon(explain_folder);
  std::vector<record> records;
  for (const fs::path& path : records_in({recorded})) {
    records.push_back(load_record(path));
    for (case_result& c : records.back().cases) judge(c, {}, keys_of(records.back()));
  }
  const evidence seen = evidence_in(records, known);
  const auto counts = reports_of_causes(load_failures(failures), known);
  const knowledge all{known, seen, counts};
  const program_logs programs =
      logs_of_programs(benchmark / "sources/programs.json", benchmark / "programs", known);
  if (programs.plain.empty())
    fmt::print("no logs of programs are in {}\n", (benchmark / "programs").string());

  std::vector<int> reached;
  std::vector<measured_set> sets;
  const auto measured = [&](const std::string& title, const std::vector<text_with_cause>& texts) {
    for (const bool held_out : {false, true}) {
      sets.push_back(
          measure(title + (held_out ? ", held out" : ""), texts, held_out, all, verbose, markdown));
      reached.insert(reached.end(), {sets.back().total.first, sets.back().total.three});
    }
  };
  measured("public reports", public_reports(benchmark / "reports.json"));
  measured("programs", programs.plain);
  measured("programs, with the driver's log", programs.with_driver_log);
  if (markdown) {
    print_markdown(sets);
    return 0;
  }
  for (const std::string& arm : seen.unassigned) fmt::print("of no cause: {}\n", arm);
  int wrong = false_answers("healthy and foreign logs", healthy_logs(benchmark / "healthy"), all);
  wrong += false_answers("healthy and foreign programs", programs.plain, all);
  wrong +=
      false_answers("healthy and foreign programs, with the driver's log", programs.with_driver_log, all);
  bool lower = false;
  for (std::size_t i = 0; i < reached.size() && i + 4 < words.size(); ++i)
    if (const int before = std::stoi(words[i + 4]); reached[i] < before) {
      fmt::print("{} of the texts of benchmark {} are right {}, and {} were before\n", reached[i], i / 2 + 1,
                 i % 2 == 0 ? "first" : "among three", before);
      lower = true;
    }
  return lower || wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  try {
    if (argc < 5)
      throw std::runtime_error(
          "usage: explain_score BENCHMARK EXPLAIN RECORDED FAILURES [FIRST THREE]... [-v | --markdown]\n"
          "FIRST and THREE: of each benchmark, how many were right first and among three before");
    return cufault::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "explain_score: {}\n", e.what());
    return 2;
  }
}
