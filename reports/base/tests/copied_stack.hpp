// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Copies of recorded stacks under other names: stacks that nobody recorded, with arms that somebody did.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace cufault {

/// A merge patch for copied_stack(): this GPU, its compute capability as "8.0".
inline nlohmann::json stack_with_gpu(const std::string& name, const std::string& compute_capability,
                                     std::uint64_t memory_bytes, int multiprocessors) {
  return {{"gpu",
           {{"name", name},
            {"compute_capability", compute_capability},
            {"memory_bytes", memory_bytes},
            {"multiprocessors", multiprocessors}}},
          {"keys",
           {{"compute_capability", compute_capability}, {"memory_gib", std::to_string(memory_bytes >> 30)}}}};
}

/// The same for the version of cuBLAS and of its cuBLASLt.
inline nlohmann::json stack_with_cublas(const std::string& version) {
  return {{"cublas", {{"version", version}}},
          {"cublaslt", {{"version", version}}},
          {"keys", {{"cublas", version}, {"cublaslt", version}}}};
}

/// Copies the folder of a stack to `to`, which must not exist. Of the copies, only the member "stack" of stack.json differs: by `patch`,
/// an RFC 7396 merge patch. Throws std::filesystem::filesystem_error, and nlohmann::json::exception where stack.json is none.
inline void copied_stack(const std::filesystem::path& from, const std::filesystem::path& to,
                         const nlohmann::json& patch) {
  std::filesystem::create_directory(to);
  for (const auto& file : std::filesystem::directory_iterator(from))
    std::filesystem::copy_file(file, to / file.path().filename());
  nlohmann::json said = nlohmann::json::parse(std::ifstream(from / "stack.json"));
  said.at("stack").merge_patch(patch);
  std::ofstream(to / "stack.json", std::ios::trunc) << said.dump(1) << '\n';
}

}  // namespace cufault
