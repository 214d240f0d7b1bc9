// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Probes of libraries: what the loader would take, pairs that do not match, code for the GPU, what a process has loaded.
#include "harness/doctor/loader.hpp"
#include "harness/doctor/probe.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/known_issues.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::array<const char*, 5> stems{"libcublas", "libcublasLt", "libcudart", "libcuda",
                                           "libnvidia-ml"};
constexpr const char* install_again = "Install the package that this file belongs to again.";
constexpr std::size_t most_asked = 6;  // of a stem: each is loaded for its version

/// "libcublas.so.13" of "libcublas.so.13.1.0.3"; by its SONAME where it has one.
std::string name_asked_for(const machine& m, const fs::path& file) {
  try {
    if (std::string soname = read_elf(file, open_readable(m.at(file))).soname; !soname.empty()) return soname;
  } catch (const input_error&) {
    return file.filename();
  }
  return file.filename();
}

std::string version_text(const std::string& stem, const library_answers& said) {
  if (said.version == 0) return {};
  return stem.starts_with("libcublas") ? cublas_version_text(said.version)
                                       : runtime_version_text(said.version);
}

bool has_version(const std::string& stem) {
  return stem.starts_with("libcublas") || stem == "libcudart";
}

fs::path real_of(const machine& m, const fs::path& file) {
  std::error_code failed;
  const fs::path real = fs::canonical(m.at(file), failed);
  return failed ? file : real;
}

/// Of each name one file: what the search order gives, else what lies on disk.
std::vector<fs::path> chosen(const machine& m, const std::string& stem) {
  std::vector<fs::path> files;
  std::set<std::string> names;
  for (const fs::path& file : libraries_on_disk(m, stem)) {
    const std::string name = name_asked_for(m, file);
    if (!names.insert(name).second) continue;
    const auto found = find_library(m, name);
    files.push_back(found ? found->file : file);
  }
  return files;
}

/// Whether this cuBLAS would get the cuBLASLt that belongs to it.
void look_at_pair(const machine& m, const fs::path& cublas, probe_report& report) {
  elf_facts elf;
  try {
    elf = read_elf(cublas, open_readable(m.at(cublas)));
  } catch (const input_error& error) {
    report.findings.push_back(
        {.level = finding_level::warning, .text = error.what(), .advice = install_again});
    return;
  }
  const auto needed = std::find_if(elf.needed.begin(), elf.needed.end(),
                                   [](const std::string& n) { return n.starts_with("libcublasLt.so"); });
  if (needed == elf.needed.end()) return;
  const auto found = find_library(m, *needed, {&elf, cublas.parent_path()});
  const fs::path beside = cublas.parent_path() / *needed;
  std::error_code ignored;
  const bool has_own = fs::exists(m.at(beside), ignored);
  const std::string preload = fmt::format("export LD_PRELOAD={}", shell_word(beside.string()));
  const std::string own_first = fmt::format("Load {} before cuBLAS, by LD_PRELOAD.", beside.string());
  if (!found) {
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format("{} asks for {}, which the loader would not find", cublas.string(), *needed),
         .advice = has_own ? own_first : fmt::format("Install the {} of the same version.", *needed),
         .case_name = "environment.mixed_libraries",
         .remedy = "preload_right",
         .command = has_own ? preload : ""});
    return;
  }
  if (!has_own || real_of(m, beside) == real_of(m, found->file)) return;
  const library_answers own = m.ask(m.at(beside)), foreign = m.ask(m.at(found->file));
  if (own.version != 0 && own.version == foreign.version) return;
  const bool known = own.version != 0 && foreign.version != 0;
  const bool older = known && foreign.version < own.version;
  const bool by_variable = found->by == "LD_LIBRARY_PATH";
  const std::string folder = found->file.parent_path();
  report.findings.push_back(
      {.level = older ? finding_level::failure : finding_level::warning,
       .text = fmt::format("{} would get {} by {}{}, not {}{}: a mixed pair{}", cublas.string(),
                           found->file.string(), found->by,
                           known ? " (" + cublas_version_text(foreign.version) + ")" : "", beside.string(),
                           known ? " (" + cublas_version_text(own.version) + ")" : "",
                           older   ? "; recorded: with an older cuBLASLt the first product ends the process"
                           : known ? "; recorded: cuBLAS 13.1.0 with the newer cuBLASLt 13.10.0 works"
                                   : ""),
       .advice = by_variable ? fmt::format("Take {} out of LD_LIBRARY_PATH.", folder) : own_first,
       .case_name = "environment.mixed_libraries",
       .remedy = by_variable ? "drop_folder" : "preload_right",
       .command = by_variable ? search_path_without(m, folder) : preload});
}

}  // namespace

std::vector<library_here> libraries_here(const machine& m, const std::string& stem) {
  std::vector<library_here> all;
  for (const fs::path& file : libraries_on_disk(m, stem)) {
    if (all.size() == most_asked) break;
    const std::string name = name_asked_for(m, file);
    const auto found = find_library(m, name);
    const bool by_name = found && real_of(m, found->file) == real_of(m, file);
    all.push_back({name, version_text(stem, m.ask(m.at(file))), by_name ? found->file : file,
                   by_name ? found->by : by_no_path});
  }
  std::stable_partition(all.begin(), all.end(), [](const library_here& l) { return l.by != by_no_path; });
  return all;
}

probe_report look_at_libraries(const machine& m) {
  probe_report report;
  bool any = false;
  for (const char* stem : stems) {
    std::map<std::string, library_row> rows;
    std::size_t asked = 0;
    for (const fs::path& file : libraries_on_disk(m, stem)) {
      any = true;
      std::string text = file;
      if (has_version(stem) && asked++ < most_asked)
        if (const std::string version = version_text(stem, m.ask(m.at(file))); !version.empty())
          text += " (" + version + ")";
      rows[name_asked_for(m, file)].on_disk.push_back(text);
    }
    if (rows.empty()) {
      const std::string name = std::string(stem) + (has_version(stem) ? ".so" : ".so.1");
      rows[name];
    }
    for (auto& [name, row] : rows) {
      row.name = name;
      if (const auto found = find_library(m, name)) {
        row.found = found->file;
        row.found_by = found->by;
      }
      report.libraries.push_back(row);
    }
  }
  for (const fs::path& cublas : chosen(m, "libcublas")) look_at_pair(m, cublas, report);
  if (!any) report.not_asked = "no CUDA library was found";
  return report;
}

probe_report look_at_gpu_code(const machine& m) {
  probe_report report;
  const driver_answers driver = m.driver();
  std::size_t libraries = 0;
  for (const char* stem : {"libcublas", "libcublasLt"})
    for (const fs::path& file : chosen(m, stem)) {
      library_facts facts;
      try {
        facts = read_library(m.at(file));
      } catch (const input_error& error) {
        report.findings.push_back(
            {.level = finding_level::warning, .text = error.what(), .advice = install_again});
        continue;
      }
      if (facts.code.count.empty()) continue;
      ++libraries;
      for (const driver_answers::device& device : driver.devices) {
        if (has_machine_code_for(facts.code, device.capability)) continue;
        const bool ptx = has_ptx_for(facts.code, device.capability);
        report.findings.push_back(
            {.level = ptx ? finding_level::warning : finding_level::failure,
             .text = fmt::format("{} has no machine code for {} (compute capability {}.{}){}", file.string(),
                                 device.name, device.capability / 10, device.capability % 10,
                                 ptx ? ", only PTX, which the driver compiles at first use"
                                     : " and no PTX that fits: no kernel of it can run"),
             .advice = ptx ? "Expect a slow first use, or install a cuBLAS with machine code for this GPU."
                           : "Install a cuBLAS with machine code or PTX for this GPU.",
             .case_name = "environment.wrong_code",
             .remedy = ptx ? "" : "add_ptx",
             .command = fmt::format("cufault stack {}", file.string())});
      }
    }
  if (libraries == 0) report.not_asked = "no cuBLAS with code for GPUs was found";
  return report;
}

probe_report look_at_known_issues(const machine& m) {
  probe_report report;
  if (!m.known) {
    report.not_asked = "there is no list of known issues";
    return report;
  }
  std::set<std::string> architectures;
  std::set<std::pair<std::string, std::string>> versions{m.packages.begin(), m.packages.end()};
  for (const driver_answers::device& device : m.driver().devices)
    architectures.insert(fmt::format("{}.{}", device.capability / 10, device.capability % 10));
  for (const fs::path& file : chosen(m, "libcublas")) {
    const auto found = find_library(m, name_asked_for(m, file));
    if (!found) continue;
    if (const library_answers said = m.ask(m.at(found->file)); said.version != 0)
      versions.emplace("cublas", cublas_version_text(said.version));
  }
  if (versions.empty()) report.not_asked = "the loader finds no cuBLAS";
  for (const auto& [library, version] : versions)
    for (const std::string& architecture : architectures) {
      const bool cublas = library == "cublas";
      const std::string where =
          fmt::format("{} {} on {}", cublas ? "cuBLAS" : library, version, architecture);
      const std::string list =
          fmt::format("cufault known {}{} --gpu {}",
                      cublas ? "--cublas " : "--package " + library + "==", version, architecture);
      std::size_t more = 0, reported = 0;
      for (const known_match& f : m.known(version, architecture, library)) {
        if (f.level > known_level::likely_affected || !is_met_by_any_call(*f.issue) ||
            rank_of_harm(f.issue->harm) > rank_of_harm("hang")) {
          ++more;
          if (f.level == known_level::reported) ++reported;
          continue;
        }
        report.findings.push_back(
            {.level = finding_level::warning,
             .text = fmt::format("{}, {}: {} ({})", where, f.issue->id, f.issue->what, f.because),
             .advice = std::string(first_workaround(*f.issue)),
             .command = list,
             .harm = std::string(f.issue->harm)});
      }
      if (more > 0)
        report.seen.push_back(fmt::format("{}: {} more known{}: {}", where, more,
                                          reported > 0 ? fmt::format(", {} reported by users", reported) : "",
                                          list));
    }
  return report;
}

probe_report look_at_loaded_libraries(const machine& m) {
  constexpr const char* one_folder = "Take all folders but one out of LD_LIBRARY_PATH and of search paths.";
  probe_report report;
  if (!m.loaded) {
    report.not_asked = "this cufault was built without CUDA";
    return report;
  }
  std::vector<fs::path> files;
  try {
    files = m.loaded();
  } catch (const std::exception& error) {
    report.not_asked = error.what();
    return report;
  }
  std::map<std::string, std::set<fs::path>> by_stem;
  for (const fs::path& file : files)
    for (const char* stem : stems)
      if (const std::string name = file.filename(); name.starts_with(std::string(stem) + ".so")) {
        report.libraries.push_back({.name = name_asked_for(m, file), .loaded = file});
        by_stem[stem].insert(file.parent_path());
      }
  for (const auto& [stem, folders] : by_stem)
    if (folders.size() > 1)
      report.findings.push_back(
          {.level = finding_level::warning,
           .text = fmt::format("{} is loaded from {} folders: {}", stem, folders.size(),
                               fmt::join(std::vector<std::string>(folders.begin(), folders.end()), " ")),
           .advice = one_folder,
           .case_name = "environment.mixed_libraries",
           .remedy = "drop_folder"});
  if (by_stem.contains("libcublas") && by_stem.contains("libcublasLt") &&
      by_stem["libcublas"] != by_stem["libcublasLt"])
    report.findings.push_back({.level = finding_level::warning,
                               .text = "libcublas and libcublasLt are loaded from different folders",
                               .advice = one_folder,
                               .case_name = "environment.mixed_libraries",
                               .remedy = "drop_folder"});
  return report;
}

}  // namespace cufault
