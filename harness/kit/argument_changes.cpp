// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The values that a table tries for an argument instead of the valid one.
#include "harness/kit/argument_table.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace cufault::argument_table {
namespace {

std::uintptr_t address(const std::byte* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

}  // namespace

std::vector<change<int>> changes_of_enumeration(const argument& about) {
  std::vector<change<int>> made;
  const auto add = [&](std::string words, int value, bool wrong) {
    made.push_back({std::move(words), value, wrong});
  };
  if (about.what == role::enumeration) {
    add("of 99", 99, true);
    add("of -1", -1, true);
  }
  if (about.what == role::algorithm) {
    add("of 77", 77, false);
    add("of -2", -2, false);
  }
  return made;
}

std::vector<change<std::int64_t>> changes_of_integer(const argument& about, std::size_t bits,
                                                     depth how_deep) {
  const role what = about.what;
  const std::int64_t least = about.least;
  const bool strided = what == role::stride || what == role::output_stride;
  std::vector<change<std::int64_t>> made;
  const auto add = [&](std::string words, std::int64_t value, bool wrong) {
    made.push_back({std::move(words), value, wrong});
  };
  switch (what) {
    case role::size:
    case role::count:
      add("of -1", -1, true);
      add("of 0", 0, what == role::count);
      break;
    case role::leading_dimension:
      add("one too small", least - 1, true);
      add("of 0", 0, true);
      add("of -1", -1, true);
      break;
    case role::stride:
    case role::output_stride:
      for (const int by : {0, 1, -1}) add(fmt::format("of {}", by), by, what == role::output_stride);
      break;
    case role::increment:
    case role::spacing:
    case role::any_increment:
      add("of 0", 0, what != role::any_increment);
      add("of -1", -1, what == role::spacing);
      break;
    case role::element_size:
      add("of -1", -1, true);
      add("of 0", 0, true);
      add("of 3", 3, false);
      break;
    case role::bytes:
      add("of 0", 0, true);
      add("one too small", least - 1, true);
      add("one too large", least + 1, true);
      break;
    default:
      break;
  }
  if (how_deep == depth::everything) {
    // One more than an int holds, if the type has room. The operands are too small for it.
    const std::int64_t huge = bits > 32 ? std::int64_t{1} << 31 : 0x7fffffff;
    if (what == role::size || strided) add("huge", huge, true);
    if (what == role::count) add("huge", huge, false);
  }
  return made;
}

std::vector<change<std::uintptr_t>> changes_of_pointer(const argument& about, std::uintptr_t valid,
                                                       const buffers& b, depth how_deep,
                                                       const std::vector<argument>& all) {
  const role what = about.what;
  const bool operand = what == role::input || what == role::output, array = what == role::pointer_array;
  const bool deep = how_deep == depth::everything;
  std::vector<change<std::uintptr_t>> made;
  const auto add = [&](std::string words, std::uintptr_t value, bool wrong) {
    made.push_back({std::move(words), value, wrong});
  };
  const auto off_by = [&](const char* words, std::uintptr_t from) {
    for (const unsigned by : {1U, 2U, 4U, 8U}) add(fmt::format(fmt::runtime(words), by), from + by, false);
  };
  const auto pointers = [&](pointing where) { return address(b.pointers(about.operand, where)); };
  // A kernel reads an array of pointers: the host need not check it.
  if (what != role::kept && (!array || deep)) add("null", 0, true);
  if (what == role::scalar) {
    off_by("zero at {} mod 16", address(b.host()));
    if (deep) add("in device memory", address(b.device_scalar()), true);
  }
  if ((operand || array) && deep) {
    off_by("off by {}", valid);
    add("in host memory", array ? address(b.host_pointers(about.operand)) : address(b.host()) + 256, true);
    add("freed", address(b.freed()), true);
    std::set<int> others;
    for (const argument& each : all)
      if (about.operand != argument::none && each.operand != argument::none && each.operand != about.operand)
        others.insert(each.operand);
    for (const int other : others)
      add(fmt::format("that of {}", "ABC"[other]), address(array ? b.pointers(other) : b.device(other)),
          false);
  }
  if (array && deep) {
    add("the matrix itself", address(b.device(about.operand)), true);
    add("of null", pointers(pointing::at_null), true);
    add("of host addresses", pointers(pointing::at_host_memory), true);
    add("of addresses off by 1", pointers(pointing::off_by_1), false);
    add("of addresses off by 2", pointers(pointing::off_by_2), false);
    add("of addresses off by 4", pointers(pointing::off_by_4), false);
    add("of addresses off by 8", pointers(pointing::off_by_8), false);
  }
  if (what == role::host_array && deep) add("in device memory", address(b.device(1)), true);
  return made;
}

}  // namespace cufault::argument_table
