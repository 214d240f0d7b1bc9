// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/counts_reader.hpp"

#include "harness/injector/counts.hpp"

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace cufault::injector {
namespace {

template <class Value>
bool read(std::ifstream& from, Value* values, std::size_t count) {
  return static_cast<bool>(
      from.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * sizeof(Value))));
}

bool read_names(std::ifstream& in, counts_header& header, std::vector<counts_name>& names) {
  if (!read(in, &header, 1) || header.magic != counts_header::expected_magic) return false;
  const std::uint32_t slots = header.slots;
  if (slots > CUFAULT_SLOTS) return false;
  names.resize(slots);
  in.seekg(counts_names_at);
  if (!read(in, names.data(), names.size())) return false;
  for (counts_name& name : names) name.library.back() = name.function.back() = '\0';
  return true;
}

bool add(counted& all, const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  counts_header header{};
  std::vector<counts_name> names;
  if (!read_names(in, header, names)) return false;
  const auto slots = static_cast<std::uint32_t>(names.size());
  const std::uint32_t blocks = header.blocks;
  std::vector<std::uint64_t> sums(slots);
  const auto block = std::make_unique<counts_block>();
  for (std::uint32_t i = 0; i < blocks; ++i) {
    in.seekg(static_cast<std::streamoff>(counts_blocks_at + i * sizeof(counts_block)));
    if (!read(in, block.get(), 1)) return false;
    for (std::uint32_t slot = 0; slot < slots; ++slot) sums[slot] += block->calls[slot];
  }
  ++all.programs;
  all.injections += header.injections;
  all.preload_removed |= header.preload_removed;
  all.acted.resize(header.acted.size());
  for (std::size_t rule = 0; rule < header.acted.size(); ++rule) all.acted[rule] += header.acted[rule];
  auto& of_program = all.by_program.emplace_back();
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const counts_name& name = names[slot];
    if (sums[slot] == 0) continue;
    all.calls[name.library.data()][name.function.data()] += sums[slot];
    of_program[name.function.data()] += sums[slot];
  }
  return true;
}

/// True if the process still maps the file. The maps decide, since another program or process may have the same pid now.
bool has_mapped(std::uint32_t pid, const std::filesystem::path& file) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  if (!maps) return kill(static_cast<pid_t>(pid), 0) == 0;
  // Compares only the end of the path: a container may see another beginning.
  const std::string name = "/" + (file.parent_path().filename() / file.filename()).string();
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(name)) return true;
  return false;
}

}  // namespace

counted counted_in(const std::filesystem::path& folder) {
  counted all;
  std::error_code none;  // the command may have removed the file
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.is_regular_file(none) && !add(all, entry.path())) ++all.unread;
  return all;
}

std::vector<watched_thread> threads_in(const std::filesystem::path& folder, bool with_names) {
  std::vector<watched_thread> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    std::ifstream in(entry.path(), std::ios::binary);
    counts_header header{};
    std::vector<counts_name> names;
    if (with_names ? !read_names(in, header, names)
                   : !read(in, &header, 1) || header.magic != counts_header::expected_magic)
      continue;
    const auto name_of = [&](std::uint32_t slot) {
      return std::string(slot < names.size() ? names[slot].function.data() : "");
    };
    const bool is_there = with_names && has_mapped(header.pid, entry.path());
    for (std::uint32_t i = 0; i < header.blocks; ++i) {
      thread_calls now{};
      in.seekg(static_cast<std::streamoff>(counts_blocks_at + i * sizeof(counts_block) +
                                           offsetof(counts_block, now)));
      if (!read(in, &now, 1)) break;
      if (now.thread == 0) continue;
      watched_thread& one = all.emplace_back();
      one.pid = header.pid;
      one.thread = now.thread;
      one.is_there = is_there;
      one.begun = now.begun;
      for (std::uint32_t d = 0; d < std::min<std::size_t>(now.depth, now.slot.size()); ++d)
        one.waits_in.push_back(name_of(now.slot[d]));
      for (std::uint32_t n = now.begun - std::min(now.begun, 8U); n != now.begun; ++n)
        one.last.push_back(name_of(now.last[n % now.last.size()]));
    }
  }
  return all;
}

}  // namespace cufault::injector
