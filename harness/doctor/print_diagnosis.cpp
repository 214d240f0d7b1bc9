// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/diagnosis.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace cufault {
namespace {

std::string state_of(const probe_result& p) {
  if (!p.unanswered.empty()) return "no answer";
  if (!p.report.not_asked.empty()) return "not asked";
  finding_level worst = finding_level::note;
  for (const finding& f : p.report.findings) worst = std::max(worst, f.level);
  return worst == finding_level::note ? "ok" : name_of(worst);
}

void line(std::ostream& out, std::string_view head, const std::string& text) {
  if (!text.empty()) out << fmt::format("      {:<9} {}\n", head, one_line(text));
}

/// Whole, for it is to be copied; in a terminal a shell takes its lines as one.
void print_command(std::ostream& out, std::string text) {
  if (text.empty()) return;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  text.insert(0, fmt::format("      {:<9} ", "run"));
  if (const std::size_t width = terminal_of(out).width; width > 0)
    for (std::size_t end = width - 1; end + 1 < text.size(); end += width + 1) text.insert(end, "\\\n");
  out << text << '\n';
}

void print_finding(std::ostream& out, const finding& f) {
  out << fmt::format("    {}: {}\n", name_of(f.level), one_line(f.text));
  line(out, "to do", f.advice);
  print_command(out, f.command);
  if (!f.case_name.empty())
    line(out, "evidence",
         fmt::format("{}: {}", f.remedy.empty() ? f.case_name : join_key(f.case_name, f.remedy), f.measured));
}

/// Rows of all probes, those of one name together.
std::vector<library_row> rows_of(const diagnosis& d) {
  std::vector<library_row> rows;
  for (const probe_result& p : d.probes)
    for (const library_row& row : p.report.libraries) {
      const auto same =
          std::find_if(rows.begin(), rows.end(), [&](const library_row& r) { return r.name == row.name; });
      if (same == rows.end()) {
        rows.push_back(row);
        continue;
      }
      if (same->loaded.empty()) same->loaded = row.loaded;
      if (same->found.empty()) {
        same->found = row.found;
        same->found_by = row.found_by;
      }
      if (same->on_disk.empty()) same->on_disk = row.on_disk;
    }
  return rows;
}

void print_libraries(std::ostream& out, const diagnosis& d) {
  const std::vector<library_row> rows = rows_of(d);
  if (rows.empty()) return;
  const auto loaded =
      std::find_if(d.probes.begin(), d.probes.end(), [](const auto& p) { return p.name == "loaded"; });
  const bool unknown = loaded == d.probes.end() || !loaded->asked();
  out << "\nlibraries: loaded by a process after a product, found by the search order, on disk\n";
  for (const library_row& row : rows) {
    out << fmt::format("  {}\n", one_line(row.name));
    out << fmt::format("    {:<9} {}\n", "loaded",
                       !row.loaded.empty() ? one_line(row.loaded)
                       : unknown           ? "not asked"
                                           : "no");
    out << fmt::format("    {:<9} {}\n", "found",
                       row.found.empty() ? "no" : fmt::format("{} ({})", one_line(row.found), row.found_by));
    for (std::size_t i = 0; i < row.on_disk.size(); ++i)
      out << fmt::format("    {:<9} {}\n", i == 0 ? "on disk" : "", one_line(row.on_disk[i]));
    if (row.on_disk.empty()) out << fmt::format("    {:<9} no\n", "on disk");
  }
}

std::string version_line(const library_facts& facts, const library_answers& answers) {
  if (answers.version == 0) return answers.why.empty() ? "not asked" : "not known: " + answers.why;
  return facts.elf.soname.starts_with("libcublas") ? cublas_version_text(answers.version)
                                                   : runtime_version_text(answers.version);
}

std::string code_text(const gpu_code_facts& code, bool ptx) {
  std::vector<std::string> parts;
  for (const auto& [one, count] : code.count)
    if (one.ptx == ptx) parts.push_back(fmt::format("{} ({})", to_string(one), count));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

void print_findings(std::ostream& out, const diagnosis& d) {
  for (const probe_result& p : d.probes) {
    out << fmt::format("{:<11} {:<17} {}", "[" + state_of(p) + "]", p.name, p.what);
    if (!p.unanswered.empty())
      out << fmt::format(": {}\n", one_line(p.unanswered));
    else if (!p.report.not_asked.empty())
      out << fmt::format(": {}\n", one_line(p.report.not_asked));
    else
      out << fmt::format(" ({:.0f} ms)\n", p.milliseconds);
    for (const finding& f : p.report.findings) print_finding(out, f);
    for (const std::string& text : p.report.seen) out << fmt::format("    {}\n", one_line(text));
  }
  print_libraries(out, d);
  out << '\n';
}

nlohmann::ordered_json diagnosis_json(const diagnosis& d, bool strict) {
  auto probes = nlohmann::ordered_json::array();
  for (const probe_result& p : d.probes) {
    nlohmann::ordered_json one{{"name", p.name}, {"what", p.what}, {"state", state_of(p)}};
    if (const std::string& why = p.unanswered.empty() ? p.report.not_asked : p.unanswered; !why.empty())
      one["why"] = why;
    one["ms"] = p.milliseconds;
    one["findings"] = write_json(p.report.findings);
    one["seen"] = p.report.seen;
    probes.push_back(std::move(one));
  }
  nlohmann::ordered_json json{{"schema", 2},
                              {"probes", std::move(probes)},
                              {"libraries", write_json(rows_of(d))},
                              {"verdict", verdict_of(d)},
                              {"line", line_of(d)},
                              {"exit_code", exit_code(d, strict)}};
  if (!d.command.empty()) json["command"] = {{"words", d.command}, {"exit_code", d.command_exit_code}};
  return json;
}

void print_library(std::ostream& out, const library_facts& facts, const library_answers& answers) {
  const auto print = [&](std::string_view head, const std::string& text) {
    out << fmt::format("{:<14} {}\n", head, text);
  };
  const auto or_none = [](const std::string& text) {
    return text.empty() ? std::string("none") : one_line(text);
  };
  print("file",
        fmt::format("{} ({} bytes, {})", one_line(facts.file.string()), facts.size, facts.elf.machine));
  if (!facts.found_by.empty()) print("found by", facts.found_by);
  print("version", one_line(version_line(facts, answers)));
  print("CUDA runtime",
        answers.runtime == 0 ? "not known" : runtime_version_text(answers.runtime) + ", inside");
  print("SONAME", or_none(facts.elf.soname));
  print("RPATH", or_none(facts.elf.rpath));
  print("RUNPATH", or_none(facts.elf.runpath));
  print("build id", or_none(facts.elf.build_id));
  for (std::size_t i = 0; i < facts.elf.needed.size(); ++i)
    print(i == 0 ? "NEEDED" : "", one_line(facts.elf.needed[i]));
  print("machine code", code_text(facts.code, false));
  print("PTX", code_text(facts.code, true));
  if (facts.code.unread_bytes > 0)
    print("", fmt::format("{} bytes of .nv_fatbin are of a form that is not known", facts.code.unread_bytes));
  std::size_t i = 0;
  for (const std::string& name : facts.variables) print(i++ == 0 ? "variables" : "", name);
  if (facts.variables.empty()) print("variables", "none by their names in the file");
  if (facts.unsearched_bytes > 0)
    print("", fmt::format("{} bytes were not searched for names", facts.unsearched_bytes));
}

nlohmann::ordered_json library_json(const library_facts& facts, const library_answers& answers) {
  auto code = nlohmann::ordered_json::array();
  for (const auto& [one, count] : facts.code.count)
    code.push_back(
        {{"kind", one.ptx ? "ptx" : "machine_code"}, {"architecture", to_string(one)}, {"count", count}});
  nlohmann::ordered_json json{{"schema", 1},
                              {"file", facts.file.string()},
                              {"bytes", facts.size},
                              {"machine", facts.elf.machine},
                              {"soname", facts.elf.soname},
                              {"rpath", facts.elf.rpath},
                              {"runpath", facts.elf.runpath},
                              {"build_id", facts.elf.build_id},
                              {"needed", facts.elf.needed},
                              {"code", std::move(code)},
                              {"unread_code_bytes", facts.code.unread_bytes},
                              {"variables", facts.variables},
                              {"unsearched_bytes", facts.unsearched_bytes}};
  if (!facts.found_by.empty()) json["found_by"] = facts.found_by;
  if (answers.version != 0) json["version"] = version_line(facts, answers);
  if (answers.runtime != 0) json["runtime"] = runtime_version_text(answers.runtime);
  if (!answers.why.empty()) json["version_unknown"] = answers.why;
  return json;
}

}  // namespace cufault
