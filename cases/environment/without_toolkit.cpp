// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   By two source documents: a program on a machine without the toolkit that it was built for
//              (S1-13), or with driver, runtime and cuBLAS of versions that differ at all (S1-1).
// Why          A framework brings runtime, cuBLAS and cuBLASLt along; of the machine it uses the driver
//              alone.
// Documented   CUDA Compatibility: a newer driver runs older runtimes and libraries, and within a major
//              version an older driver newer ones.
// What helps   There is nothing to clear unless the arms show a failure. The driver's half of S1-13 is in
//              environment/driver_missing and environment/wrong_code.
// No arm has an injected counterpart: the driver does not decide which library is found.
#include "cases/environment/other_driver.hpp"
#include "harness/kit/products.hpp"

#include <fmt/ranges.h>

#include <link.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

namespace cufault {
namespace {

namespace fs = std::filesystem;

/// The search path without folders that hold any of these files.
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

/// All CUDA libraries in this process, by the loader's paths, links not resolved.
std::set<fs::path> cuda_libraries_loaded() {
  std::set<fs::path> loaded;
  const auto add = [](dl_phdr_info* object, std::size_t, void* to) {
    const fs::path path = object->dlpi_name;
    const std::string name = path.filename();
    if (name.starts_with("libcu") || name.starts_with("libnv"))
      static_cast<std::set<fs::path>*>(to)->insert(path);
    return 0;
  };
  dl_iterate_phdr(add, &loaded);
  return loaded;
}

bool is_of_the_driver(const fs::path& library) {
  const std::string name = library.filename();
  const auto begins_name = [&](const char* beginning) { return name.starts_with(beginning); };
  return std::ranges::any_of(std::array{"libcuda.so", "libcudadebugger.so", "libnvidia-"}, begins_name);
}

void multiply() {
  const cublasHandle_t handle = observed_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

/// Versions in this process.
struct versions {
  int driver = 0, cublas = 0;
  std::string words;
  versions() {
    int major = 0, minor = 0, patch = 0;
    CUFAULT_REQUIRE(cudaDriverGetVersion(&driver));
    CUFAULT_REQUIRE(cublasGetProperty(MAJOR_VERSION, &major));
    CUFAULT_REQUIRE(cublasGetProperty(MINOR_VERSION, &minor));
    CUFAULT_REQUIRE(cublasGetProperty(PATCH_LEVEL, &patch));
    cublas = major * 10000 + minor * 100 + patch;
    words = fmt::format("driver of CUDA {}, runtime {}, cuBLAS {}.{}.{}, built with {}.{}.{}",
                        cuda_version(driver), cuda_version(CUDART_VERSION), major, minor, patch,
                        CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);
  }
  [[nodiscard]] bool differ() const { return driver != CUDART_VERSION || cublas != CUBLAS_VERSION; }
};

// ---- controls ----

void control(trial& t) {
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(t.libraries()));
  multiply();
}

// ---- faults ----

/// The pair, as links in an otherwise empty folder, without the toolkit's variables. Only a process that has loaded the pair knows its
/// files, so the next process uses the links.
void pair_alone(trial& t) {
  const fs::path folder = t.scratch() / "pair";
  if (t.stage() == 0) {
    CUFAULT_REQUIRE(load_cublas(t.libraries()));
    int major = 0;
    CUFAULT_REQUIRE(cublasGetProperty(MAJOR_VERSION, &major));
    fs::create_directory(folder);
    fs::create_symlink(bound_cublas().cublas, folder / fmt::format("libcublas.so.{}", major));
    fs::create_symlink(bound_cublas().cublaslt, folder / fmt::format("libcublasLt.so.{}", major));
    constexpr int runtime = CUDART_VERSION / 1000;
    t.continue_in_new_process(
        {{"LD_LIBRARY_PATH", folders_without({"libcudart.so", fmt::format("libcudart.so.{}", runtime),
                                              "libcublas.so", fmt::format("libcublas.so.{}", major)},
                                             variable("LD_LIBRARY_PATH"))},
         {"PATH", folders_without({"nvcc"}, variable("PATH"))},
         {"CUDA_HOME", ""},
         {"CUDA_PATH", ""}});
    return;
  }
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas({folder, folder}));
  multiply();
  std::vector<std::string> names;
  int others = 0;
  for (const fs::path& library : cuda_libraries_loaded()) {
    const bool linked = library.parent_path() == folder;
    if (!linked && !is_of_the_driver(library)) ++others;
    names.push_back(linked ? "PAIR/" + library.filename().string() : library.string());
  }
  t.measure("CUDA libraries that are neither the pair's nor the driver's", others);
  t.note("CUDA libraries in the process", fmt::format("{}", fmt::join(names, ", ")));
}

void versions_as_they_are(trial& t) {
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(t.libraries()));
  const versions found;
  if (!found.differ()) throw not_provoked("no versions differ: " + found.words);
  t.note("versions", found.words);
  multiply();
}

void other_pair(trial& t) {
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(trial::other_libraries()));
  const versions found;
  if (!found.differ()) throw not_provoked("the second cuBLAS is no other: " + found.words);
  t.note("versions", found.words);
  multiply();
}

// ---- the case ----

void without_toolkit(failure_case& c) {
  c.control("the toolkit stays where it was found", control);

  c.fault("pair_alone",
          "the pair in a folder of its own, and no toolkit in LD_LIBRARY_PATH, PATH, CUDA_HOME and CUDA_PATH",
          pair_alone, {"S1-13"});
  c.fault("versions_as_they_are", "driver, runtime and cuBLAS of different versions", versions_as_they_are,
          {"S1-1"});
  c.fault("other_pair", "another cuBLAS on the same driver and runtime", other_pair, {"S1-1"}).other_cublas =
      true;
  for (arm& a : c.arms) a.binds_itself = true;
}

const register_case here("environment.without_toolkit",
                         "a driver and one pair of libraries, of whatever versions, and no toolkit", {},
                         without_toolkit);

}  // namespace
}  // namespace cufault
