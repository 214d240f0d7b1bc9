// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Whatever a file holds, reading it as a library or as the loader's cache must end, in bounds, with facts or one line.
#include "harness/doctor/library_facts.hpp"
#include "harness/doctor/loader.hpp"
#include "reports/base/json_input.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const cufault::library_facts facts = cufault::read_library("input", cufault::readable_text(bytes));
    for (const std::string& name : facts.variables)
      if (!cufault::looks_like_variable(name)) std::abort();
    std::uint64_t entries = 0;
    for (const auto& [code, count] : facts.code.count) entries += count;
    if (entries > size / 48) std::abort();  // each has a header
  } catch (const cufault::input_error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  for (const auto& [name, file] : cufault::cached_libraries(bytes))
    if (name.empty() || file.empty()) std::abort();
  return 0;
}
