// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/loader.hpp"

#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";
constexpr std::size_t cache_header = 48, cache_entry = 24, longest_path = 4096, most_cached = 200'000;
constexpr std::size_t most_on_disk = 64;
constexpr const char* hwcaps_folder = "glibc-hwcaps";

#if defined(__aarch64__)
constexpr std::uint32_t own_flags = 0x0a03;
constexpr std::array<const char*, 4> default_folders{"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                                     "/lib", "/usr/lib"};
#else
constexpr std::uint32_t own_flags = 0x0303;
constexpr std::array<const char*, 6> default_folders{
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
#endif

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string string_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(at, longest_path);
  return std::string(rest.substr(0, rest.find('\0')));
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

/// The loader passes over libraries of another machine, and stops at a file that is no library.
bool of_another_machine(const fs::path& file) {
  try {
    const readable from = open_readable(file);
    const std::string head = bytes_of(from, file, 0, 20, "the header");
    if (head.compare(0, 4, "\177ELF") != 0) return false;
    const int machine = static_cast<unsigned char>(head[18]) + 256 * static_cast<unsigned char>(head[19]);
    constexpr int x86_64 = 62, aarch64 = 183;
    return head[4] != 2 || machine != (own_machine() == "aarch64" ? aarch64 : x86_64);
  } catch (const input_error&) {
    return false;
  }
}

std::string with_origin(std::string folder, const fs::path& origin) {
  for (const std::string_view name : {"${ORIGIN}", "$ORIGIN"})
    for (std::size_t at = 0; (at = folder.find(name)) != folder.npos;)
      folder.replace(at, name.size(), origin.string());
  return folder;
}

/// Folders that match, as paths on the machine. `literal` is not a pattern.
std::vector<fs::path> matching(const machine& m, const std::string& literal, const std::string& pattern) {
  const std::string below = m.root == "/" ? "" : m.root.string();
  std::string escaped;
  for (const char c : below + literal) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  glob_t found{};
  std::vector<fs::path> paths;
  if (glob((escaped + pattern).c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      paths.emplace_back(std::string(found.gl_pathv[i]).substr(below.size()));
  globfree(&found);
  return paths;
}

/// Files of a folder named STEM.so or STEM.so.*, sorted.
std::vector<fs::path> files_in(const fs::path& folder, const std::string& stem) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    if (name == stem + ".so" || name.starts_with(stem + ".so.")) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string cache_of(const machine& m) {
  try {
    return read_text(m.at("/etc/ld.so.cache"));
  } catch (const input_error&) {
    return {};
  }
}

/// Of the files of that name the one for the best level of the processor; those for levels that it lacks are passed over.
std::optional<fs::path> in_cache(const machine& m, const std::string& name) {
  std::optional<fs::path> best;
  std::size_t best_rank = m.hwcaps.size() + 1;
  for (const auto& [cached, file] : cached_libraries(cache_of(m))) {
    if (cached != name || !is_file(m.at(file))) continue;
    std::size_t rank = m.hwcaps.size();
    if (const fs::path folder = file.parent_path(); folder.parent_path().filename() == hwcaps_folder) {
      const auto level = std::find(m.hwcaps.begin(), m.hwcaps.end(), folder.filename().string());
      if (level == m.hwcaps.end()) continue;
      rank = static_cast<std::size_t>(level - m.hwcaps.begin());
    }
    if (rank >= best_rank) continue;
    best = file;
    best_rank = rank;
  }
  return best;
}

/// "/usr/bin/env" and "python3" of "#! /usr/bin/env python3"; empty where it is no script.
std::vector<std::string> interpreter_of(const machine& m, const fs::path& file) {
  std::string line;
  try {
    const readable from = open_readable(m.at(file));
    line = bytes_of(from, file, 0, std::min<std::uint64_t>(from.size, longest_path), "the first line");
  } catch (const input_error&) {
    return {};
  }
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  return {std::istream_iterator<std::string>(words), {}};
}

/// Links of a machine that lies in a folder are those of that folder.
fs::path resolved(const machine& m, const fs::path& file) {
  std::error_code failed;
  const fs::path root = fs::canonical(m.root, failed), real = fs::canonical(m.at(file), failed);
  return failed ? file : "/" / real.lexically_relative(root);
}

}  // namespace

std::vector<std::string> folders_of(const std::string& search_path) {
  std::vector<std::string> folders;
  if (search_path.empty()) return folders;
  std::string one;
  for (const char c : search_path + ":") {
    if (c == ':' || c == ';')
      folders.push_back(std::exchange(one, {}));
    else
      one += c;
  }
  return folders;
}

found_library library_named(const machine& m, const std::string& name) {
  if (auto found = find_library(m, name)) return *found;
  for (const fs::path& file : libraries_on_disk(m, name.substr(0, name.find(".so")))) {
    std::error_code ignored;
    if (const fs::path link = file.parent_path() / name; fs::exists(m.at(link), ignored))
      return {name, link, by_no_path};
  }
  const std::string search_path = m.variable("LD_LIBRARY_PATH");
  throw input_error(fmt::format(
      "{}: not found; looked in {}{}/etc/ld.so.cache, {}, and folders of CUDA toolkits and Python "
      "environments; give a path",
      name, m.program ? fmt::format("RPATH and RUNPATH of {}, ", m.program->file.filename().string()) : "",
      search_path.empty() ? "" : fmt::format("LD_LIBRARY_PATH ({}), ", search_path),
      fmt::join(default_folders, ", ")));
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string search_path_without(const machine& m, const std::string& folder) {
  std::vector<std::string> folders = folders_of(m.variable("LD_LIBRARY_PATH"));
  const auto normal = [](const fs::path& path) { return (path / "").lexically_normal().string(); };
  const std::string from = normal(folder);
  std::erase_if(folders, [&](const std::string& f) {
    return normal(f) == from || from.starts_with(normal(f) + hwcaps_folder);
  });
  return folders.empty() ? "unset LD_LIBRARY_PATH"
                         : "export LD_LIBRARY_PATH=" + shell_word(fmt::format("{}", fmt::join(folders, ":")));
}

std::vector<std::pair<std::string, fs::path>> cached_libraries(std::string_view cache) {
  const auto begin = cache.find(cache_magic);
  if (begin == cache.npos) return {};
  cache.remove_prefix(begin);
  if (cache.size() < cache_header) return {};
  const std::size_t count = number_at(cache, cache_magic.size());
  if (count > most_cached || count * cache_entry > cache.size() - cache_header) return {};
  std::vector<std::pair<std::string, fs::path>> found;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = cache_header + i * cache_entry;
    if (number_at(cache, at) != own_flags) continue;
    std::string name = string_at(cache, number_at(cache, at + 4)),
                file = string_at(cache, number_at(cache, at + 8));
    if (!name.empty() && !file.empty()) found.emplace_back(std::move(name), std::move(file));
  }
  return found;
}

std::optional<found_library> find_library(const machine& m, const std::string& name,
                                          const asking_library& asks) {
  const auto in = [&](const std::string& folder) -> std::optional<fs::path> {
    const fs::path plain = folder.empty() ? "." : folder;
    std::vector<fs::path> folders;
    for (const std::string& level : m.hwcaps) folders.push_back(plain / hwcaps_folder / level);
    folders.push_back(plain);
    for (const fs::path& one : folders) {
      const fs::path file = one / name, here = file.is_absolute() ? m.at(file) : file;
      if (is_file(here) && !of_another_machine(here)) return file;
    }
    return std::nullopt;
  };
  const auto in_any = [&](const std::string& folders, const fs::path& origin,
                          const char* by) -> std::optional<found_library> {
    for (const std::string& folder : folders_of(folders))
      if (const auto file = in(with_origin(folder, origin))) return found_library{name, *file, by};
    return std::nullopt;
  };
  const elf_facts nothing;
  const elf_facts& library = asks.elf != nullptr ? *asks.elf : nothing;
  const elf_facts& program = m.program ? m.program->elf : nothing;
  const fs::path beside_program = m.program ? m.program->file.parent_path() : fs::path();
  if (library.runpath.empty()) {
    if (auto found = in_any(library.rpath, asks.folder, "RPATH")) return found;
    if (program.runpath.empty())
      if (auto found = in_any(program.rpath, beside_program, "RPATH of the program")) return found;
  }
  if (auto found = in_any(m.variable("LD_LIBRARY_PATH"), beside_program, "LD_LIBRARY_PATH")) return found;
  if (auto found = in_any(library.runpath, asks.folder, "RUNPATH")) return found;
  if (asks.elf == nullptr)
    if (auto found = in_any(program.runpath, beside_program, "RUNPATH of the program")) return found;
  if (auto file = in_cache(m, name)) return found_library{name, *file, "ld.so.cache"};
  for (const char* folder : default_folders)
    if (const auto file = in(folder)) return found_library{name, *file, "default folder"};
  return std::nullopt;
}

std::optional<searching_program> program_of(const machine& m, const std::string& command) {
  std::string name = command;
  for (int scripts = 0; scripts < 4; ++scripts) {
    std::vector<fs::path> files;
    if (name.find('/') != name.npos)
      files.push_back(fs::absolute(name));
    else
      for (const std::string& folder : folders_of(m.variable("PATH")))
        files.push_back(fs::absolute(fs::path(folder.empty() ? "." : folder) / name));
    const auto file = std::find_if(files.begin(), files.end(), [&](const fs::path& f) {
      return is_file(m.at(f)) && access(m.at(f).c_str(), X_OK) == 0;
    });
    if (file == files.end()) return std::nullopt;
    const std::vector<std::string> script = interpreter_of(m, *file);
    if (script.empty()) {
      try {
        const fs::path real = resolved(m, *file);
        return searching_program{real, read_elf(real, open_readable(m.at(real)))};
      } catch (const input_error&) {
        return std::nullopt;
      }
    }
    const bool by_env = fs::path(script[0]).filename() == "env" && script.size() > 1;
    name = by_env ? script[1] : script[0];
  }
  return std::nullopt;
}

std::vector<fs::path> libraries_on_disk(const machine& m, const std::string& stem) {
  std::vector<std::string> folders = folders_of(m.variable("LD_LIBRARY_PATH"));
  for (const auto& [name, file] : cached_libraries(cache_of(m)))
    if (name.starts_with(stem + ".so")) folders.push_back(file.parent_path());
  folders.insert(folders.end(), default_folders.begin(), default_folders.end());
  for (const char* pattern :
       {"/usr/local/cuda*/lib64", "/usr/local/cuda*/lib64/stubs", "/usr/local/cuda*/compat",
        "/usr/local/cuda*/targets/*/lib", "/usr/local/nvidia/lib64", "/opt/cuda/lib64"})
    for (const fs::path& folder : matching(m, "", pattern)) folders.push_back(folder);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (!m.variable(variable).empty()) folders.push_back(m.variable(variable) + "/lib64");
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (m.variable(variable).empty()) continue;
    folders.push_back(m.variable(variable) + "/lib");
    for (const fs::path& folder :
         matching(m, m.variable(variable), "/lib/python*/site-packages/nvidia/*/lib"))
      folders.push_back(folder);
  }
  std::vector<fs::path> found;
  std::set<fs::path> seen;
  std::error_code failed;
  const fs::path root = fs::canonical(m.root, failed);
  for (const std::string& folder : folders) {
    if (folder.empty() || folder.front() != '/') continue;
    for (const fs::path& file : files_in(m.at(folder), stem)) {
      const fs::path real = fs::canonical(file, failed);
      if (failed || !is_file(real) || !seen.insert(real).second) continue;
      if (found.size() < most_on_disk) found.push_back("/" / real.lexically_relative(root));
    }
  }
  return found;
}

}  // namespace cufault
