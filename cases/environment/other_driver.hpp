// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/counterparts.hpp"
#include "harness/kit/products.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/trial/observe.hpp"
#include "reports/base/words.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

/// Shared by the cases about drivers: another libcuda.so.1 found before the machine's own, and the first calls of a program.
namespace cufault {

/// "13.1" for 13010.
inline std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// A folder of lib/cufault with another libcuda.so.1 (cases/environment/fixtures/fake_driver): "fake", "none" or "stub".
inline std::filesystem::path driver_folder(const std::string& name) {
  const std::filesystem::path folder = bundled_file(name);
  return !folder.empty() && exists(folder / "libcuda.so.1") ? folder : std::filesystem::path{};
}

/// For an arm's environment: puts the folder before the loader's search path, so that everything else is still found.
inline std::map<std::string, std::string> with_folder_in_front(
    const std::filesystem::path& folder, std::map<std::string, std::string> and_set = {}) {
  if (folder.empty()) return and_set;
  const std::string rest = variable("LD_LIBRARY_PATH");
  and_set["LD_LIBRARY_PATH"] = folder.string() + (rest.empty() ? "" : ":" + rest);
  and_set["CUFAULT_LIBRARY_PATH"] = rest;  // for the remedy that restores it
  return and_set;
}

inline std::map<std::string, std::string> with_driver(const std::string& name,
                                                      std::map<std::string, std::string> and_set = {}) {
  and_set["CUFAULT_DRIVER"] = name;
  return with_folder_in_front(driver_folder(name), std::move(and_set));
}

/// Files of cufault in place of the driver's library. The toolkit's stub is NVIDIA's, and so natural.
inline bool is_stand_in(const arm& a) {
  const auto driver = a.environment.find("CUFAULT_DRIVER");
  return driver != a.environment.end() && (driver->second == "fake" || driver->second == "none");
}

inline std::string original_library_path() {
  return variable("CUFAULT_LIBRARY_PATH");
}

/// Without the folder the loader would find the machine's own driver, and the arm would test that.
inline void need_the_driver_of_this_arm() {
  const std::string name = variable("CUFAULT_DRIVER");
  if (name.empty() || !driver_folder(name).empty()) return;
  throw not_provoked(name == "stub"
                         ? "no toolkit: the stub of the driver comes with a CUDA toolkit in /usr/local/cuda"
                         : "there is no lib/cufault/" + name + "/libcuda.so.1 beside this program");
}

/// Adds the injected counterpart of an arm on another driver: it runs on the machine's own driver, whose calls fail by these rules.
inline void add_twin_on_own_driver(failure_case& c, const std::string& natural, const std::string& rules) {
  arm& a = add_counterpart(c, natural, rules);
  a.needs = need::gpu;
  for (const char* variable : {"LD_LIBRARY_PATH", "CUFAULT_LIBRARY_PATH", "CUFAULT_DRIVER",
                               "CUFAULT_FAKE_CUINIT", "CUFAULT_FAKE_DRIVER_VERSION"})
    a.environment.erase(variable);
}

/// Rules for that counterpart.
inline std::string cuinit_returns(const char* code) {
  return fmt::format(R"({{"rules": [{{"function": "cuInit", "return": "{}"}}]}})", code);
}
inline std::string driver_says(int version) {
  return fmt::format(R"({{"rules": [{{"driver_version": {}}}]}})", version);
}

/// The driver in words.
inline const char* driver_here() {
  return in_counterpart() ? "the machine's libcuda with injected answers" : "a stand-in libcuda";
}

/// Wraps an arm's body, with or without another driver.
inline std::function<void(trial&)> on_its_driver(void (*body)(trial&)) {
  return [body](trial& t) {
    need_the_driver_of_this_arm();
    body(t);
  };
}

/// The first calls of a program.
inline void first_calls() {
  int devices = 0;
  CUFAULT_OBSERVE(cudaGetDeviceCount(&devices));
  observed_handle();
  observed_lt_handle();
}

// ---- bodies ----

/// Control with a driver.
inline void driver_works(trial& t) {
  t.open_context();
  create_and_multiply();
}

inline void first_calls_fail(trial&) {
  first_calls();
}

/// The versions that a program can ask for.
inline void measure_versions(trial& t) {
  int runtime = 0, driver = 0;
  CUFAULT_REQUIRE(cudaRuntimeGetVersion(&runtime));
  CUFAULT_REQUIRE(cudaDriverGetVersion(&driver));
  t.measure("CUDA version of the runtime", runtime);
  t.measure("CUDA version of the driver", driver);
}

inline void first_calls_of_an_older_driver(trial& t) {
  first_calls();
  measure_versions(t);
}

inline void restore_the_path(trial& t) {
  if (t.stage() == 0) {
    first_calls();
    t.apply("start again without that folder in LD_LIBRARY_PATH");
    t.continue_in_new_process({{"LD_LIBRARY_PATH", original_library_path()}});
    return;
  }
  t.open_context();
  create_and_multiply();
}

inline void call_again(trial& t) {
  first_calls();
  t.apply("the same calls again");
  first_calls();
}

inline void reset_the_device(trial& t) {
  first_calls();
  t.apply("cudaDeviceReset(), create again");
  CUFAULT_OBSERVE(cudaDeviceReset());
  create_and_multiply();
}

}  // namespace cufault
