// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/library_file.hpp"

#include "harness/system/gpu_code.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

namespace cufault {

nlohmann::json library_file(const std::filesystem::path& file) {
  nlohmann::json facts = nlohmann::json::object();
  try {
    const readable from = open_readable(file);
    const elf_facts elf = read_elf(file.string(), from);
    facts["bytes"] = from.size;
    for (const auto& [name, value] : {std::pair{"soname", &elf.soname}, std::pair{"build_id", &elf.build_id},
                                      std::pair{"rpath", &elf.rpath}, std::pair{"runpath", &elf.runpath}})
      if (!value->empty()) facts[name] = *value;
    if (!elf.needed.empty()) facts["needed"] = elf.needed;
    for (const auto& [code, count] : read_gpu_code(file.string(), from, elf).count)
      facts["gpu_code"].push_back(to_string(code));
  } catch (const input_error& error) {
    return {{"unread", error.what()}};
  }
  return facts;
}

}  // namespace cufault
