// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/counts_reader.hpp"

#include "harness/injector/counts.hpp"

#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

namespace cufault::injector {
namespace {

template <class Value>
bool read(std::ifstream& from, Value* values, std::size_t count) {
  return static_cast<bool>(
      from.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * sizeof(Value))));
}

bool add(counted& all, const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  counts_header header{};
  if (!read(in, &header, 1) || header.magic != counts_header::expected_magic) return false;
  const std::uint32_t slots = header.slots, blocks = header.blocks;
  if (slots > CUFAULT_SLOTS) return false;
  std::vector<counts_name> names(slots);
  in.seekg(counts_names_at);
  if (!read(in, names.data(), names.size())) return false;
  std::vector<std::uint64_t> sums(slots);
  const auto block = std::make_unique<counts_block>();
  for (std::uint32_t i = 0; i < blocks; ++i) {
    in.seekg(static_cast<std::streamoff>(counts_blocks_at + i * sizeof(counts_block)));
    if (!read(in, block.get(), 1)) return false;
    for (std::uint32_t slot = 0; slot < slots; ++slot) sums[slot] += (*block)[slot];
  }
  ++all.programs;
  all.injections += header.injections;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    counts_name& name = names[slot];
    name.library.back() = name.function.back() = '\0';
    if (sums[slot] != 0) all.calls[name.library.data()][name.function.data()] += sums[slot];
  }
  return true;
}

}  // namespace

counted counted_in(const std::filesystem::path& folder) {
  counted all;
  std::error_code none;  // the command may have removed it
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.is_regular_file(none) && !add(all, entry.path())) ++all.unread;
  return all;
}

}  // namespace cufault::injector
