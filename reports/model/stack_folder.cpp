// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/stack_folder.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/cost.hpp"
#include "reports/model/frameworks.hpp"
#include "reports/model/record_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct stack_and_runs {
  nlohmann::json stack;
  std::vector<run_of_trials> runs;
};

stack_and_runs read_stack(const fs::path& folder) {
  const json_cursor top{read_json(folder / stack_file)};
  check_schema(top);
  top.only({"schema", "stack", "runs"});
  stack_and_runs read{stack_from(top.at("stack")), {}};
  for (const json_cursor& run : top.at("runs").items()) read.runs.push_back(run_from(run));
  return read;
}

void write_stack(const fs::path& folder, const stack_and_runs& all) {
  // A line for each run: one more run is one more line.
  std::string runs;
  for (const run_of_trials& run : all.runs)
    runs += fmt::format("{}\n  {}", runs.empty() ? "" : ",", dump_json(run_json(run)));
  const std::string stack =
      nlohmann::ordered_json(all.stack).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string indented;
  for (const char c : stack) indented += c == '\n' ? std::string("\n ") : std::string(1, c);
  write_whole(folder / stack_file,
              fmt::format("{{\n \"schema\": {},\n \"stack\": {},\n \"runs\": [{}\n ]\n}}\n", record_schema,
                          indented, runs));
}

std::vector<fs::path> families_in(const fs::path& folder) {
  std::vector<fs::path> families;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl" && entry.path().filename() != cost_file)
      families.push_back(entry.path());
  std::ranges::sort(families);
  return families;
}

std::vector<fs::path> files_of(const fs::path& folder, const std::set<std::string>& families) {
  std::vector<fs::path> files;
  for (const std::string& family : families)
    if (fs::path file = folder / (family + ".jsonl"); fs::exists(file)) files.push_back(std::move(file));
  return files;
}

record load(const fs::path& folder, const std::vector<fs::path>& files, const bad_line& bad) {
  // Lines first: a writer adds runs to stack.json before it writes lines that name them.
  std::vector<std::pair<std::string, std::string>> texts;
  for (const fs::path& file : files) {
    try {
      texts.emplace_back(file.string(), read_text(file));
    } catch (const input_error& wrong) {
      if (!bad) throw;
      bad(wrong.what());
    }
  }
  record r;
  stack_and_runs of = read_stack(folder);
  r.stack = std::move(of.stack);
  r.complete = true;
  r.exit_code = 0;
  std::shared_ptr<const json_document> parsed;
  for (const auto& text_of_file : texts) {
    const std::string& name = text_of_file.first;
    each_line(text_of_file.second, [&](std::string_view line, int number, bool /*whole*/) {
      try {
        parsed = parse_json(name, line, number, std::move(parsed));
        const json_cursor at{parsed};
        case_result c = filed_arm_from(at, of.runs);
        check_case_name(at.at("case"));
        take_arm(r, c.name, std::move(c.arms[0]), at.at("arm"));
      } catch (const input_error& wrong) {
        if (!bad) throw;
        bad(wrong.what());
      }
    });
  }
  for (const case_result& c : r.cases)
    for (const arm_result& a : c.arms) r.started = std::max(r.started, latest_run(a));
  return r;
}

using arm_key = std::pair<std::string, std::string>;  // its case and its name

/// As they stand. A line that was cut, or an arm that stands twice, is refused: writing the file again would hide it.
std::map<arm_key, std::string> lines_in(const fs::path& file) {
  std::map<arm_key, std::string> lines;
  std::error_code none;
  if (!fs::exists(file, none)) return lines;
  each_line(read_text(file), [&](std::string_view line, int number, bool /*whole*/) {
    const json_cursor at{parse_json(file.string(), line, number)};
    arm_key key{at.at("case").string(), at.at("arm").string()};
    if (lines.contains(key)) fail_twice(at.at("arm"), key.first, key.second);
    lines.emplace(std::move(key), line);
  });
  return lines;
}

void write_lines(const fs::path& file, const std::map<arm_key, std::string>& lines) {
  std::string text;
  for (const auto& [key, line] : lines) text += line + "\n";
  write_whole(file, text);
}

}  // namespace

std::string family_of_case(const std::string& case_name) {
  return case_name.substr(0, case_name.find('.'));
}

std::string stack_folder_name(const nlohmann::json& stack) {
  const auto cublas = key_of(stack, "cublas"), driver = key_of(stack, "driver"),
             other = key_of(stack, "other_cublas");
  std::string gpu = gpu_name(stack);
  gpu.erase(0, gpu.starts_with("NVIDIA ") ? 7 : 0);
  std::vector<std::string> parts{gpu, driver, cublas.empty() ? "" : "cublas-" + cublas,
                                 other.empty() || other == "none" ? "" : "other-" + other};
  for (const python_framework& f : python_frameworks)
    if (const std::string version = key_of(stack, std::string(f.name).c_str()); !version.empty())
      parts.push_back(fmt::format("{}-{}", f.name, version));
  std::string folder;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    folder += folder.empty() ? "" : "-";
    for (const char c : part) {
      const auto byte = static_cast<unsigned char>(c);
      folder += std::isalnum(byte) != 0 || c == '.' || c == '-' ? static_cast<char>(std::tolower(byte)) : '-';
    }
  }
  if (cublas.empty() || !is_folder_name(folder))
    throw input_error("the record does not say which cuBLAS it was made on");
  return folder;
}

bool is_stack_folder(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path / stack_file, unreadable) || unreadable;  // who reads it says why it cannot be read
}

std::vector<fs::path> stacks_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_stack_folder(entry.path())) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

record load_family(const fs::path& folder, const std::string& family, const bad_line& bad) {
  return load(folder, files_of(folder, {family}), bad);
}

record load_families(const fs::path& file, const std::set<std::string>& families) {
  if (families.empty() || !is_stack_folder(file)) return load_record(file);
  return load(file, files_of(file, families), {});
}

record load_stack(const fs::path& folder, const bad_line& bad) {
  return load(folder, families_in(folder), bad);
}

fs::path file_in_stack(const fs::path& recorded, const record& r) {
  fs::path folder = recorded / stack_folder_name(*r.stack);
  make_directories(folder);
  const folder_lock lock(folder, "this stack");
  stack_and_runs of = is_stack_folder(folder) ? read_stack(folder) : stack_and_runs{*r.stack, {}};
  for (const char* key : {"compute_capability", "cublaslt", "module_loading"})
    if (const std::string there = key_of(of.stack, key), here = key_of(*r.stack, key); there != here)
      throw input_error(fmt::format("{}: is of {} {}, and the record of {}: another stack", folder.string(),
                                    key, there.empty() ? "none" : there, here.empty() ? "none" : here));
  // Stacks that were filed before cufault read the libraries' files get what it says now.
  if (r.stack->contains("files")) of.stack["files"] = (*r.stack)["files"];
  if (of.stack.contains("gpu") && of.stack["gpu"].is_object())
    of.stack["gpu"].erase("uuid_hashes");  // runs name them
  std::map<std::string, std::map<arm_key, std::string>> by_family;
  for (const case_result& c : r.cases) {
    const std::string family = family_of_case(c.name);
    if (!by_family.contains(family)) by_family[family] = lines_in(folder / (family + ".jsonl"));
    for (arm_result arm : c.arms) {
      for (observation& o : arm.trials) shorten(o);
      by_family[family][{c.name, arm.name}] = dump_json(filed_arm_json(c.name, arm, of.runs));
    }
  }
  write_stack(folder, of);  // first: lines name its runs
  for (const auto& [family, lines] : by_family) write_lines(folder / (family + ".jsonl"), lines);
  return folder;
}

std::size_t remove_arms(
    const fs::path& folder,
    const std::function<bool(const std::string& case_name, const std::string& arm)>& which) {
  const folder_lock lock(folder, "this stack");
  std::map<fs::path, std::map<arm_key, std::string>> by_file;
  for (const fs::path& file : families_in(folder)) by_file[file] = lines_in(file);
  std::size_t removed = 0;
  for (auto& [file, lines] : by_file) {  // all of them were read
    const std::size_t gone =
        std::erase_if(lines, [&](const auto& line) { return which(line.first.first, line.first.second); });
    removed += gone;
    if (lines.empty())
      fs::remove(file);
    else if (gone > 0)
      write_lines(file, lines);
  }
  return removed;
}

}  // namespace cufault
