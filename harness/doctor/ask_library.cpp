// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/isolated.hpp"
#include "harness/doctor/library_facts.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include <cstring>
#include <sstream>
#include <stdexcept>

namespace cufault {

library_answers ask_library(const std::filesystem::path& file, std::chrono::milliseconds limit) {
  const isolated_answer said = run_isolated(
      [&] {
        // cuBLAS asks its cuBLASLt for the version: it is to be the one that was delivered with it.
        if (const std::string name = file.filename(); name.starts_with("libcublas.so"))
          dlopen((file.parent_path() / ("libcublasLt" + name.substr(std::strlen("libcublas")))).c_str(),
                 RTLD_LAZY | RTLD_LOCAL);
        void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) throw std::runtime_error(dlerror());
        const auto function = [&](const char* name) { return dlsym(library, name); };
        int version = 0;
        std::size_t runtime = 0;
        using property = int (*)(int, int*);
        using number = std::size_t (*)();
        for (const char* name : {"cublasLtGetProperty", "cublasGetProperty"}) {
          const auto ask = reinterpret_cast<property>(function(name));  // NOLINT: what dlsym is for
          int major = 0, minor = 0, patch = 0;
          if (ask == nullptr || ask(0, &major) != 0 || ask(1, &minor) != 0 || ask(2, &patch) != 0) continue;
          version = major * 10000 + minor * 100 + patch;
          break;
        }
        for (const char* name : {"cublasLtGetCudartVersion", "cublasGetCudartVersion"})
          if (const auto ask = reinterpret_cast<number>(function(name));  // NOLINT: as above
              ask != nullptr && runtime == 0)
            runtime = ask();
        const auto ask =
            reinterpret_cast<int (*)(int*)>(function("cudaRuntimeGetVersion"));  // NOLINT: as above
        if (version == 0 && ask != nullptr) ask(&version);
        return fmt::format("{} {}", version, runtime);
      },
      limit);
  library_answers answers;
  if (!said.answered)
    answers.why = said.why;
  else if (std::istringstream in(said.text); !(in >> answers.version >> answers.runtime))
    answers.why = "it gave no numbers";
  else if (answers.version == 0)
    answers.why = "it has none of the functions that say a version";
  return answers;
}

}  // namespace cufault
