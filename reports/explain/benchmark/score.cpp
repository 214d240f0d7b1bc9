// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How often `explain` names the right class of cause: of public reports whose cause is confirmed, and of cufault's own records; and how
// often it names one where nothing of a GPU library failed. Prints the score by class and the misses. Exit code 1: lower than the
// floors, or a false answer; 2: bad input.
#include "reports/base/json_fields.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/judge/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct text_with_cause {
  std::string name, cause_class, text;
};

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

/// What a plain program that prints each status and the last error would have printed of a trial. Without frames and names: of an assertion's line only what
/// every program prints.
bool is_printed(const failure_seen& f) {
  return !f.call.starts_with("check.") ||
         f.status == "LOADER_ERROR";  // no program makes cufault's own checks
}

/// Names of the framework's functions have a dot in them.
bool is_of_framework(const std::string& call) {
  return call.find('.') != std::string::npos;
}

std::string printed_by(const observation& o, const std::vector<failure_seen>& failures) {
  std::string text;
  std::size_t begin = 0;
  while (begin < o.stderr_text.size()) {
    const std::size_t end = std::min(o.stderr_text.find('\n', begin), o.stderr_text.size());
    const std::string line = o.stderr_text.substr(begin, end - begin);
    if (const auto block = line.find("block: ["); block != std::string::npos)
      text += line.substr(block) + "\n";
    if (const auto symbol = line.find("symbol lookup error: "); symbol != std::string::npos)
      text += line.substr(symbol) + "\n";
    if (line.starts_with("terminate called") || line.starts_with("free(): ")) text += line + "\n";
    begin = end + 1;
  }
  // Of a framework the text of the exception is what its user sees; a note has it, called by the step.
  for (const note& n : o.notes)
    if (n.name == "words" || is_of_framework(n.name)) text += n.text + "\n";
  for (const failure_seen& f : failures) {
    if (is_of_framework(f.call)) continue;
    const std::string status = f.status == status_wrong_numbers ? "wrong numbers"
                               : f.status == status_hang        ? "hangs"
                                                                : f.status;
    const bool also = !f.last_error.empty() && f.last_error != status;
    text += f.call + ": " + status + (also ? ", last error " + f.last_error : "") + "\n";
  }
  for (const std::string& line : o.library_log) text += line + "\n";
  if (o.ended == outcome::crashed) text += o.why + "\n";
  return text;
}

failure_seen most_frequent(const std::vector<failure_seen>& failures) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const failure_seen& f : failures) ++counts[{f.status, f.call}];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return {most->first.first, most->first.second};
}

std::vector<text_with_cause> own_records(std::span<const record> records, const lexicon& known,
                                         const evidence& seen) {
  std::map<std::string, std::string> class_of;
  for (const recorded_failure& f : seen.failures)
    if (f.natural)
      for (const std::string& arm : f.arms) class_of[arm] = known.causes[f.cause].cause_class();
  std::vector<text_with_cause> all;
  std::set<std::pair<std::string, std::string>> counted;  // arms with their texts
  for (const record& r : records)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) {
        const auto of = class_of.find(c.name + "/" + a.name);
        if (a.kind != arm_kind::fault || is_made_up(a) || of == class_of.end()) continue;
        for (const observation& o : a.trials) {
          if (!comparable(o)) continue;
          std::vector<failure_seen> failures = failures_in(o, known);
          std::erase_if(failures, [](const failure_seen& f) { return !is_printed(f); });
          if (failures.empty()) continue;
          if (c.name.starts_with("arguments."))
            failures = {most_frequent(failures)};  // a table: each row is a failure of its own
          std::string text = printed_by(o, failures);
          if (counted.emplace(of->first, text).second)
            all.push_back({fmt::format("{}: {}", stack_label(r), of->first), of->second, std::move(text)});
          break;
        }
      }
  return all;
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

score measure(const std::string& title, const std::vector<text_with_cause>& texts, const knowledge& known,
              bool verbose) {
  score total;
  std::map<std::string, score> by_class;
  std::vector<std::string> misses;
  event_finder finder(known.words);
  for (const text_with_cause& t : texts) {
    finder.add(t.text);
    const explanation e = explain(finder.finish(), known);
    std::vector<std::string> said;
    int place = 0;
    for (const ranked_cause& c : e.causes) {
      said.push_back(c.what->cause_class());
      if (said.back() == t.cause_class) place = static_cast<int>(said.size());
    }
    total.add(place);
    by_class[t.cause_class].add(place);
    if (place != 1)
      misses.push_back(fmt::format("{}: {}, and it said {}", t.name, t.cause_class,
                                   said.empty() ? "nothing" : fmt::format("{}", fmt::join(said, ", "))));
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
  fmt::print("{}\n  {:<30} {}\n", title, "all", total.text());
  for (const auto& [name, s] : by_class) fmt::print("  {:<30} {}\n", name, s.text());
  fmt::print("  not first:\n");
  for (const std::string& miss : misses) fmt::print("    {}\n", miss);
  return total;
}

/// How many logs of programs in which nothing of a GPU library failed get a failure.
int false_answers(const fs::path& folder, const knowledge& known) {
  int all = 0, wrong = 0;
  event_finder finder(known.words);
  for (const auto& entry : fs::directory_iterator(folder)) {
    finder.add(read_text(entry.path()));
    const explanation e = explain(finder.finish(), known);
    ++all;
    if (!e.failure) continue;
    ++wrong;
    fmt::print("false answer: {}: line {}: {}\n", entry.path().filename().string(), e.failure->line,
               e.failure->words);
  }
  if (all == 0) throw std::runtime_error(folder.string() + ": no logs");
  fmt::print("healthy and foreign logs: {}, false answers: {}\n", all, wrong);
  return wrong;
}

int run(const std::vector<std::string>& words) {
  const fs::path reports = words.at(0), lexicon_folder = words.at(1), recorded = words.at(2),
                 failures = words.at(3), healthy = words.at(4);
  const bool verbose = words.back() == "-v";
  const lexicon known = load_lexicon(lexicon_folder);
  std::vector<record> records;
  for (const fs::path& path : records_in({recorded})) {
    records.push_back(load_record(path));
    for (case_result& c : records.back().cases) judge(c, {}, keys_of(records.back()));
  }
  const evidence seen = evidence_in(records, known);
  const auto counts = reports_of_causes(load_failures(failures), known);
  const knowledge all{known, seen, counts};
  const score of_reports = measure("public reports", public_reports(reports), all, verbose);
  const score of_records = measure("own records", own_records(records, known, seen), all, verbose);
  for (const std::string& arm : seen.unassigned) fmt::print("of no cause: {}\n", arm);
  const int wrong = false_answers(healthy, all);
  if (words.size() < 8) return wrong > 0 ? 1 : 0;
  const auto low = [](const char* what, int is, const std::string& floor) {
    if (is >= std::stoi(floor)) return false;
    fmt::print("{}: {}, and it was {} before\n", what, is, floor);
    return true;
  };
  const bool any = static_cast<int>(low("public reports, first", of_reports.first, words[5])) +
                       static_cast<int>(low("public reports, among three", of_reports.three, words[6])) +
                       static_cast<int>(low("own records, first", of_records.first, words[7])) >
                   0;
  return any || wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  try {
    if (argc < 6)
      throw std::runtime_error(
          "usage: explain_score REPORTS LEXICON RECORDED FAILURES HEALTHY [FIRST THREE OWN] [-v]");
    return cufault::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "explain_score: {}\n", e.what());
    return 2;
  }
}
