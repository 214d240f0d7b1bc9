// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Probes of the environment: values of variables, variables that nobody reads, folders of LD_LIBRARY_PATH.
#include "harness/doctor/loader.hpp"
#include "harness/doctor/probe.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == text.npos;
}

// ---- values ----

/// Variables that take one of a few words, by NVIDIA's documentation.
struct known_words {
  const char* variable;
  std::vector<std::string_view> words;
};
const std::vector<known_words>& variables_of_words() {
  static const std::vector<known_words> all{{"CUDA_MODULE_LOADING", {"LAZY", "EAGER", "DEFAULT"}},
                                            {"CUDA_MODULE_DATA_LOADING", {"LAZY", "EAGER", "DEFAULT"}},
                                            {"CUDA_DEVICE_ORDER", {"FASTEST_FIRST", "PCI_BUS_ID"}},
                                            {"CUDA_LAUNCH_BLOCKING", {"0", "1"}},
                                            {"CUDA_FORCE_PTX_JIT", {"0", "1"}},
                                            {"CUDA_DISABLE_PTX_JIT", {"0", "1"}},
                                            {"CUDA_CACHE_DISABLE", {"0", "1"}},
                                            {"NVIDIA_TF32_OVERRIDE", {"0", "1"}}};
  return all;
}

/// Variables that take a number.
struct known_range {
  const char* variable;
  std::uint64_t least, most;
};
constexpr std::array<known_range, 2> variables_of_numbers{
    {{"CUDA_CACHE_MAXSIZE", 0, 4ULL << 30}, {"CUDA_DEVICE_MAX_CONNECTIONS", 1, 32}}};

void look_at_values(const machine& m, probe_report& report) {
  const auto impossible = [&](const char* variable, const std::string& possible) {
    report.findings.push_back(
        {.level = finding_level::warning,
         .text = fmt::format("{}={}: documented are {}; what is done with another value is not measured",
                             variable, one_line(m.variable(variable)), possible),
         .advice = fmt::format("Set {} to a documented value, or unset it.", variable),
         .command = fmt::format("unset {}", variable)});
  };
  for (const known_words& known : variables_of_words())
    if (m.has(known.variable) &&
        std::find(known.words.begin(), known.words.end(), m.variable(known.variable)) == known.words.end())
      impossible(known.variable, fmt::format("{}", fmt::join(known.words, ", ")));
  for (const known_range& known : variables_of_numbers) {
    const std::string value = m.variable(known.variable);
    if (!m.has(known.variable)) continue;
    if (!is_number(value) || std::stoull(value) < known.least || std::stoull(value) > known.most)
      impossible(known.variable, fmt::format("numbers from {} to {}", known.least, known.most));
  }
}

/// ":4096:2:16:8": pairs of a size in KiB and a count. Their sum in KiB; none where it is something else.
std::optional<std::uint64_t> workspace_of(const std::string& text) {
  if (text.empty() || text.front() != ':') return std::nullopt;
  std::vector<std::string> parts = folders_of(text.substr(1));
  if (parts.size() % 2 != 0) return std::nullopt;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    if (!is_number(parts[i]) || !is_number(parts[i + 1]) || parts[i].size() > 9 || parts[i + 1].size() > 9)
      return std::nullopt;
    sum += std::stoull(parts[i]) * std::stoull(parts[i + 1]);
  }
  return sum;
}

void look_at_workspace(const machine& m, probe_report& report) {
  if (!m.has("CUBLAS_WORKSPACE_CONFIG")) return;
  const std::string value = m.variable("CUBLAS_WORKSPACE_CONFIG");
  const auto kib = workspace_of(value);
  if (kib)
    report.seen.push_back(fmt::format("CUBLAS_WORKSPACE_CONFIG={}: {} KiB a handle", one_line(value), *kib));
  else
    report.findings.push_back(
        {.level = finding_level::warning,
         .text = fmt::format("CUBLAS_WORKSPACE_CONFIG={}: the form is :SIZE:COUNT, once or more, SIZE in "
                             "KiB; what is done with another is not measured",
                             one_line(value)),
         .advice = "Write pairs of a size in KiB and a count.",
         .command = "export CUBLAS_WORKSPACE_CONFIG=:4096:8"});
}

/// Why no device is left; empty where one can be.
std::string hides_all(const std::string& value) {
  if (value.empty()) return "it is set, to nothing";
  const std::string first = value.substr(0, value.find(','));
  if (first == "-1" || first == "NoDevFiles") return "it hides all devices";
  if (is_number(first) || first.starts_with("GPU-") || first.starts_with("MIG-")) return {};
  return "its first entry names no device, and the driver stops there";
}

void look_at_visible_devices(const machine& m, probe_report& report) {
  if (!m.has("CUDA_VISIBLE_DEVICES")) return;
  const std::string value = m.variable("CUDA_VISIBLE_DEVICES");
  if (const std::string why = hides_all(value); !why.empty()) {
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format("CUDA_VISIBLE_DEVICES={}: {}; cublasCreate fails", one_line(value), why),
         .advice = "Unset CUDA_VISIBLE_DEVICES, or name a device in it, and start the program again.",
         .case_name = "environment.hidden_devices",
         .remedy = "show_in_new_process",
         .command = "unset CUDA_VISIBLE_DEVICES",
         .decides = "environment_other.no_device"});
    return;
  }
  std::vector<std::string> entries;
  std::string left = value + ",";
  for (std::size_t at = 0; (at = left.find(',')) != left.npos; left.erase(0, at + 1))
    entries.push_back(left.substr(0, at));
  if (std::set<std::string>(entries.begin(), entries.end()).size() < entries.size())
    report.findings.push_back(
        {.level = finding_level::warning,
         .text = fmt::format("CUDA_VISIBLE_DEVICES={}: a device is there twice; what follows is not measured",
                             one_line(value)),
         .advice = "Name each device once."});
}

void look_at_jit(const machine& m, probe_report& report) {
  if (m.variable("CUDA_FORCE_PTX_JIT") == "1")
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = "CUDA_FORCE_PTX_JIT=1: machine code is ignored; recorded on one H200, driver 580.159.04: "
                 "cublasCreate returns CUBLAS_STATUS_INTERNAL_ERROR with cuBLAS 13.1.0, "
                 "CUBLAS_STATUS_NOT_INITIALIZED with 13.10.0, and succeeds with 12.0.1",
         .advice = "Unset CUDA_FORCE_PTX_JIT and start the program again.",
         .case_name = "environment.wrong_code",
         .remedy = "force_no_longer",
         .command = "unset CUDA_FORCE_PTX_JIT"});
  if (m.variable("CUDA_DISABLE_PTX_JIT") == "1")
    report.findings.push_back({.level = finding_level::warning,
                               .text = "CUDA_DISABLE_PTX_JIT=1: code that is there as PTX alone does not run",
                               .advice = "Unset CUDA_DISABLE_PTX_JIT and start the program again.",
                               .case_name = "environment.wrong_code",
                               .remedy = "",
                               .command = "unset CUDA_DISABLE_PTX_JIT"});
  if (m.variable("CUDA_LAUNCH_BLOCKING") == "1")
    report.findings.push_back({.text = "CUDA_LAUNCH_BLOCKING=1: every launch waits for its kernel",
                               .advice = "Unset CUDA_LAUNCH_BLOCKING once the kernel that fails is found.",
                               .command = "unset CUDA_LAUNCH_BLOCKING"});
}

void look_at_cache(const machine& m, probe_report& report) {
  if (!m.has("CUDA_CACHE_PATH") || m.variable("CUDA_CACHE_DISABLE") == "1") return;
  const std::string folder = m.variable("CUDA_CACHE_PATH");
  std::error_code ignored;
  const fs::path here = m.at(folder);
  if (!fs::exists(here, ignored) ||
      (fs::is_directory(here, ignored) && access(here.c_str(), R_OK | W_OK | X_OK) == 0))
    return;
  report.findings.push_back({.text = fmt::format("CUDA_CACHE_PATH={}: no folder that can be written; what "
                                                 "the driver compiles from PTX is compiled in each process",
                                                 one_line(folder)),
                             .advice = "Name a folder that can be written in CUDA_CACHE_PATH, or unset it.",
                             .case_name = "environment.cache_unreadable",
                             .command = "unset CUDA_CACHE_PATH"});
}

// ---- who reads them ----

constexpr std::size_t shortest_misspelt = 12;  // shorter names are alike by chance

}  // namespace

probe_report look_at_variables(const machine& m) {
  probe_report report;
  look_at_values(m, report);
  look_at_workspace(m, report);
  look_at_visible_devices(m, report);
  look_at_jit(m, report);
  look_at_cache(m, report);
  return report;
}

probe_report look_at_unread_variables(const machine& m) {
  probe_report report;
  std::set<std::string> read;
  std::size_t libraries = 0;
  for (const char* stem : {"libcuda", "libcudart", "libcublas", "libcublasLt", "libnvidia-ml"})
    for (const fs::path& file : libraries_on_disk(m, stem)) try {
        const library_facts facts = read_library(m.at(file));
        read.insert(facts.variables.begin(), facts.variables.end());
        ++libraries;
      } catch (const input_error&) {
        continue;  // the probe of libraries says that it cannot be read
      }
  for (const auto& [name, by] : m.measured.asked) read.insert(name);
  if (libraries == 0) {
    report.not_asked = "no CUDA library was found";
    return report;
  }
  std::vector<std::string> unread;
  for (const auto& [name, value] : m.environment) {
    if (!looks_like_variable(name) || read.contains(name)) continue;
    const auto meant = std::find_if(read.begin(), read.end(), [&set = name](const std::string& r) {
      return set.size() >= shortest_misspelt && r.size() >= shortest_misspelt && edit_distance(set, r) <= 2;
    });
    if (meant == read.end()) {
      unread.push_back(name);
      continue;
    }
    report.findings.push_back(
        {.level = finding_level::warning,
         .text = fmt::format("{}: no library reads it; is {} meant?", one_line(name), *meant),
         .advice = fmt::format("Set {} in place of {}.", *meant, one_line(name)),
         .command = fmt::format("unset {}; export {}={}", name, *meant, shell_word(value))});
  }
  if (!unread.empty())
    report.seen.push_back(
        fmt::format("set, and read by no library that was found or recorded (tools may read them): {}",
                    fmt::join(unread, " ")));
  return report;
}

probe_report look_at_search_path(const machine& m) {
  probe_report report;
  const std::vector<std::string> folders = folders_of(m.variable("LD_LIBRARY_PATH"));
  const auto holds = [&](const std::string& folder, const char* file) {
    std::error_code ignored;
    return fs::exists(m.at(fs::path(folder) / file), ignored);
  };
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder).lexically_normal();
    const std::string last = (path.has_filename() ? path : path.parent_path()).filename();
    const bool driver = holds(folder, "libcuda.so.1");
    if (last == "stubs" && (driver || holds(folder, "libcuda.so")))
      report.findings.push_back(
          {.level = driver ? finding_level::failure : finding_level::warning,
           .text = fmt::format(
               "LD_LIBRARY_PATH has {}: the libcuda in it is for the linker, every call fails with "
               "cudaErrorStubLibrary{}",
               one_line(folder),
               driver ? "" : "; it has no libcuda.so.1, so that only what opens libcuda.so meets it"),
           .advice = "Take this folder out of LD_LIBRARY_PATH and start the program again.",
           .case_name = "environment.driver_missing",
           .remedy = "drop_the_stub",
           .command = search_path_without(m, folder)});
    else if (last == "compat" && driver)
      report.findings.push_back(
          {.level = finding_level::warning,
           .text = fmt::format("LD_LIBRARY_PATH has {}: the driver's library for older kernel modules; where "
                               "it does not match, every call fails with cudaErrorSystemDriverMismatch",
                               one_line(folder)),
           .advice = "Take this folder out of LD_LIBRARY_PATH where calls fail, and start the program again.",
           .case_name = "environment.driver_mismatch",
           .remedy = "drop_compat",
           .command = search_path_without(m, folder)});
  }
  if (folders.empty()) report.seen.emplace_back("LD_LIBRARY_PATH is not set");
  return report;
}

}  // namespace cufault
