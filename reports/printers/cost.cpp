// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/cost.hpp"

#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <ostream>

namespace cufault {
namespace {

std::string label_of(const cost_record& r) {
  record of_stack;
  of_stack.stack = r.stack;
  return stack_label(of_stack);
}

std::string exact_time_text(double milliseconds) {
  if (milliseconds >= 1000) return fmt::format("{:.2f} s", milliseconds / 1000);
  if (milliseconds >= 1) return fmt::format("{:.2f} ms", milliseconds);
  return fmt::format("{:.1f} us", milliseconds * 1000);
}

/// "+3.1 % (+2.8 % to +3.4 %)"
std::string estimate_text(const median_estimate& e) {
  return fmt::format("{} ({} to {})", ratio_text(e.median), ratio_text(e.low), ratio_text(e.high));
}

std::string result_text(const judged_cost& j) {
  switch (j.verdict) {
    case cost_verdict::measured:
      return estimate_text(j.ratio);
    case cost_verdict::failed:
      return "not measured: " + j.why;
    case cost_verdict::wrong_numbers:
      return to_string(j.verdict);
    default:
      return fmt::format("{}: {}", to_string(j.verdict), estimate_text(j.ratio));
  }
}

/// `shown`: makes text of one of them.
std::string range_text(const auto& low, const auto& high, const auto& shown) {
  if (!high) return {};
  const std::string a = shown(*low), b = shown(*high);
  return a == b ? b : fmt::format("{} to {}", a, b);
}

void print_summary(std::ostream& out, const std::vector<judged_cost>& all, const cost_layout& layout) {
  std::vector<table_row> rows;
  for (const remedy_cost_summary& s : summed_up(all)) {
    std::string rest;
    const auto add = [&](std::size_t n, const char* what) {
      if (n > 0) rest += fmt::format("{}{} {}", rest.empty() ? "" : ", ", n, what);
    };
    add(s.wrong, "with wrong numbers");
    add(s.failed, "not measured");
    rows.push_back({s.remedy, s.words, fmt::format("{}", s.works), range_text(s.least, s.most, ratio_text),
                    fmt::format("{}", s.inside_noise), range_text(s.least_bytes, s.most_bytes, bytes_text),
                    rest});
  }
  print_table(out,
              {"remedy", "what is done", "kinds of work", "time, outside the noise", "inside the noise",
               "device memory", "others"},
              rows, layout.style, layout.width);
}

void print_work(std::ostream& out, const std::vector<judged_cost>& all, const std::string& gpu,
                const cost_layout& layout) {
  std::vector<table_row> rows;
  for (const judged_cost& j : all) {
    const auto peak = at_peak(*j.where, gpu);
    rows.push_back({j.where->name, j.what->remedy,
                    fmt::format("{}, {}", exact_time_text(j.without.median), j.where->clock), result_text(j),
                    estimate_text(j.control) + (is_unsteady(j.control) ? ", unsteady" : ""),
                    j.more_bytes ? bytes_text(*j.more_bytes) : "",
                    peak ? fmt::format("{:.0f} %{}", peak->part * 100, peak->slow ? ", slow" : "") : ""});
  }
  print_table(out, {"work", "remedy", "without it", "time with it", "control", "device memory", "of peak"},
              rows, layout.style, layout.width);
}

void print_cost_lines(std::ostream& out, const char* title, const std::vector<std::string>& lines,
                      table_style style) {
  if (lines.empty()) return;
  const bool markdown = style == table_style::markdown;
  out << title << (markdown ? ":\n\n" : ":\n");
  for (const std::string& line : lines) out << (markdown ? "- " : "  ") << cell(line, style) << '\n';
  out << '\n';
}

void print_one(std::ostream& out, const cost_record& r, const cost_layout& layout) {
  const auto all = judged(r);
  const std::string gpu = gpu_of(r);
  print_heading(out, label_of(r), 3, layout.style);
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("{}, commit {}{}, seed {}", r.started, r.commit, r.dirty ? " (modified)" : "", r.seed));
  if (r.size == "tiny") notes.emplace_back("made with --tiny: shapes of a test; its figures mean nothing");
  if (!r.complete) notes.emplace_back("the run did not come to its end: what it measured before is here");
  if (const gpu_peaks* const peaks = peaks_of(gpu); peaks != nullptr)
    notes.push_back(fmt::format("of peak: arithmetic and memory bandwidth by the {}", peaks->source));
  else
    notes.push_back(fmt::format("no peak is known of {}", gpu.empty() ? "this GPU" : gpu));
  print_cost_lines(out, "The run", notes, layout.style);
  if (!all.empty()) print_summary(out, all, layout);
  if (layout.all_work && !all.empty()) print_work(out, all, gpu, layout);

  std::vector<std::string> slow, unsteady, failed;
  for (const cost_comparison& c : r.comparisons) {
    if (!c.failed.empty()) {
      failed.push_back(fmt::format("{}: {}", c.name, c.failed));
      continue;
    }
    const auto peak = at_peak(c, gpu);
    if (peak && peak->slow)
      slow.push_back(fmt::format("{}: {:.0f} % of the peak, {} and not {}", c.name, peak->part * 100,
                                 exact_time_text(median_of(c.without.milliseconds).median),
                                 exact_time_text(peak->milliseconds)));
    const auto control = median_of(ratios(c.again, c.without.milliseconds));
    if (is_unsteady(control)) unsteady.push_back(fmt::format("{}: {}", c.name, estimate_text(control)));
  }
  print_cost_lines(out, "Slow without any remedy, so that what a remedy adds looks small", slow,
                   layout.style);
  print_cost_lines(out, "Unsteady: the work differs from itself, which the noise of the table takes in",
                   unsteady, layout.style);
  print_cost_lines(out, "Not measured", failed, layout.style);
}

nlohmann::ordered_json estimate_json(const median_estimate& e) {
  return {{"median", e.median}, {"low", e.low}, {"high", e.high}, {"coverage", e.coverage}};
}

}  // namespace

const char* const costs_not_measured =
    "Not measured yet: no record of what remedies cost is here.\n"
    "To measure on a GPU, in about two minutes: build/bin/remedy_cost --out cost.jsonl; then: cufault cost "
    "cost.jsonl\n"
    "reports/recorded/STACK/cost.jsonl is what tables and pages read.\n";

cost_record filtered(const cost_record& r, const std::string& remedy) {
  if (remedy.empty()) return r;
  cost_record some = r;
  for (cost_comparison& c : some.comparisons)
    std::erase_if(c.with,
                  [&](const cost_side& s) { return fnmatch(remedy.c_str(), s.remedy.c_str(), 0) != 0; });
  std::erase_if(some.comparisons, [](const cost_comparison& c) { return c.with.empty(); });
  return some;
}

void print_costs(std::ostream& out, std::span<const cost_record> records, const cost_layout& layout) {
  for (const cost_record& r : records) print_one(out, r, layout);
}

void print_costs_csv(std::ostream& out, std::span<const cost_record> records) {
  out << "stack,started,work,remedy,clock,rounds,without_ms,with_ms,ratio,low,high,coverage,control,control_"
         "low,control_high,verdict,more_bytes,part_of_peak,words,why,complete\n";
  for (const cost_record& r : records)
    for (const judged_cost& j : judged(r)) {
      const auto peak = at_peak(*j.where, gpu_of(r));
      const bool timed = j.verdict != cost_verdict::failed;
      const auto number = [&](double value) { return timed ? fmt::format("{:.6g}", value) : std::string(); };
      const std::string verdict = j.verdict == cost_verdict::measured ? "measured" : to_string(j.verdict);
      out << fmt::format("{},{},{},{},{},{},{:.6g},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{},{},{},{}\n",
                         csv_field(label_of(r)), csv_field(r.started), csv_field(j.where->name),
                         j.what->remedy, j.where->clock, j.what->milliseconds.size(), j.without.median,
                         number(j.milliseconds.median), number(j.ratio.median), number(j.ratio.low),
                         number(j.ratio.high), number(j.ratio.coverage), j.control.median, j.control.low,
                         j.control.high, verdict, j.more_bytes ? fmt::format("{}", *j.more_bytes) : "",
                         peak ? fmt::format("{:.3f}", peak->part) : "", csv_field(j.what->words),
                         csv_field(j.why), r.complete ? "yes" : "no");
    }
}

nlohmann::ordered_json costs_json(std::span<const cost_record> records) {
  auto stacks = nlohmann::ordered_json::array();
  for (const cost_record& r : records) {
    const std::string gpu = gpu_of(r);
    auto costs = nlohmann::ordered_json::array(), failed = nlohmann::ordered_json::array();
    for (const cost_comparison& c : r.comparisons)
      if (!c.failed.empty()) failed.push_back({{"work", c.name}, {"why", c.failed}});
    for (const judged_cost& j : judged(r)) {
      nlohmann::ordered_json one{
          {"work", j.where->name},
          {"work_words", j.where->work},
          {"remedy", j.what->remedy},
          {"words", j.what->words},
          {"clock", j.where->clock},
          {"verdict", j.verdict == cost_verdict::measured ? "measured" : to_string(j.verdict)},
          {"without_ms", estimate_json(j.without)},
          {"control", estimate_json(j.control)}};
      if (is_unsteady(j.control)) one["unsteady"] = true;
      if (j.verdict != cost_verdict::failed) {
        one["with_ms"] = estimate_json(j.milliseconds);
        one["ratio"] = estimate_json(j.ratio);
        one["rounds"] = j.what->milliseconds.size();
      } else {
        one["why"] = j.why;
      }
      if (j.more_bytes) one["more_bytes"] = *j.more_bytes;
      if (const auto peak = at_peak(*j.where, gpu)) {
        one["peak_ms"] = peak->milliseconds;
        one["part_of_peak"] = peak->part;
        if (peak->slow) one["slow"] = true;
      }
      costs.push_back(std::move(one));
    }
    nlohmann::ordered_json stack{{"stack", label_of(r)}, {"started", r.started}, {"commit", r.commit},
                                 {"seed", r.seed},       {"size", r.size},       {"complete", r.complete}};
    if (const gpu_peaks* const peaks = peaks_of(gpu); peaks != nullptr) stack["peaks"] = peaks->source;
    stack["costs"] = std::move(costs);
    stack["not_measured"] = std::move(failed);
    stacks.push_back(std::move(stack));
  }
  return {{"schema", cost_output_schema}, {"stacks", std::move(stacks)}};
}

}  // namespace cufault
