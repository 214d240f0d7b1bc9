// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   By two source documents: a program on a machine without the toolkit that it was built for
//              (S1-13), or with driver, runtime and cuBLAS of versions that differ at all (S1-1), which an
//              older toolkit clears (S0-3).
// Why          A framework brings runtime, cuBLAS and cuBLASLt along; of the machine it uses the driver
//              alone.
// Documented   CUDA Compatibility: a newer driver runs older runtimes and libraries, and within a major
//              version an older driver newer ones.
// What helps   There is nothing to clear unless the arms show a failure. The driver's half of S1-13 is in
//              environment/driver_missing and environment/wrong_code.
#include "cases/environment/other_driver.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

namespace cufault {
namespace {

namespace fs = std::filesystem;

/// A search path without the folders that hold any of these files.
std::string folders_without(const std::vector<std::string>& files, const std::string& search_path) {
  std::string kept;
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto here = [&](const std::string& file) {
      std::error_code unreadable;
      return fs::exists(fs::path(folder) / file, unreadable);
    };
    if (std::ranges::none_of(files, here)) kept += (kept.empty() ? "" : ":") + folder;
  }
  return kept;
}

/// File names of all CUDA libraries in this process.
std::set<std::string> cuda_libraries_mapped() {
  std::set<std::string> names;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.rfind('/');
    if (slash == std::string::npos) continue;
    std::string name = line.substr(slash + 1);
    if (name.starts_with("libcu") || name.starts_with("libnv")) names.insert(std::move(name));
  }
  return names;
}

bool of_the_pair_or_driver(const std::string& name) {
  const auto begins_name = [&](const char* beginning) { return name.starts_with(beginning); };
  return std::ranges::any_of(
      std::array{"libcublas.so", "libcublasLt.so", "libcuda.so", "libcudadebugger.so", "libnvidia-"},
      begins_name);
}

product_result multiply() {
  cublasHandle_t handle = nullptr;
  observe(cublasCreate(&handle));
  const product_result result = observe(product(handle));
  observe(cublasDestroy(handle));
  return result;
}

/// Of what is in this process.
struct versions {
  int driver = 0, cublas = 0;
  std::string words;
  versions() {
    int major = 0, minor = 0, patch = 0;
    require(cudaDriverGetVersion(&driver));
    require(cublasGetProperty(MAJOR_VERSION, &major));
    require(cublasGetProperty(MINOR_VERSION, &minor));
    require(cublasGetProperty(PATCH_LEVEL, &patch));
    cublas = major * 10000 + minor * 100 + patch;
    words = fmt::format("driver of CUDA {}, runtime {}, cuBLAS {}.{}.{} where it was built with {}.{}.{}",
                        cuda_version(driver), cuda_version(CUDART_VERSION), major, minor, patch,
                        CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);
  }
  [[nodiscard]] bool differ() const { return driver != CUDART_VERSION || cublas != CUBLAS_VERSION; }
};

// ---- controls ----

void control(trial& t) {
  t.open_context();
  observe(load_cublas(t.libraries()));
  multiply();
}

// ---- faults ----

void pair_alone(trial& t) {
  t.open_context();
  observe(load_cublas(t.libraries()));
  const product_result result = multiply();
  const auto mapped = cuda_libraries_mapped();
  t.conclude("S1-13", !result.ok() || !std::ranges::all_of(mapped, of_the_pair_or_driver),
             fmt::format("{} with {}", record_of(result).name, fmt::join(mapped, ", ")));
}

void versions_as_they_are(trial& t) {
  t.open_context();
  observe(load_cublas(t.libraries()));
  const versions found;
  if (!found.differ()) throw not_provoked("no versions differ: " + found.words);
  const product_result result = multiply();
  t.conclude("S1-1", !result.ok(), fmt::format("{}: {}", found.words, record_of(result).name));
}

void other_pair(trial& t) {
  t.open_context();
  observe(load_cublas(trial::other_libraries()));
  const versions found;
  if (!found.differ()) throw not_provoked("the second cuBLAS is no other: " + found.words);
  const product_result result = multiply();
  const std::string why = fmt::format("{}: {}", found.words, record_of(result).name);
  t.conclude("S1-1", !result.ok(), why);
  if (found.cublas / 10000 < found.driver / 1000) t.conclude("S0-3", result.ok(), "an older pair; " + why);
}

// ---- the case ----

failure_case without_toolkit() {
  failure_case c;
  c.name = "environment.without_toolkit";
  c.summary = "a driver and one pair of libraries, of whatever versions, and no toolkit";

  c.add("control", arm_kind::control, "the toolkit stays where it was found", control);

  arm& alone = c.add("pair_alone", arm_kind::fault, "no toolkit on any search path", pair_alone, {"S1-13"});
  constexpr int major = CUDART_VERSION / 1000;
  alone.environment["LD_LIBRARY_PATH"] =
      folders_without({"libcudart.so", fmt::format("libcudart.so.{}", major), "libcublas.so",
                       fmt::format("libcublas.so.{}", major)},
                      environment_variable("LD_LIBRARY_PATH"));
  alone.environment["PATH"] = folders_without({"nvcc"}, environment_variable("PATH"));
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) alone.environment[name] = "";

  c.add("versions_as_they_are", arm_kind::fault, "driver, runtime and cuBLAS of different versions",
        versions_as_they_are, {"S1-1"});
  c.add("other_pair", arm_kind::fault, "another cuBLAS on the same driver and runtime", other_pair,
        {"S0-3", "S1-1"})
      .other_cublas = true;
  for (arm& a : c.arms) a.binds_itself = true;
  return c;
}

const register_case here{without_toolkit()};

}  // namespace
}  // namespace cufault
