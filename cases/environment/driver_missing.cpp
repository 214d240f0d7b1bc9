// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Every first call: cudaGetDeviceCount, cublasCreate, cublasLtCreate, where the driver's library is missing, is the
//              toolkit's stub, or is older than the runtime.
// Why          Runtime, cuBLAS and cuBLASLt each load libcuda.so.1 themselves, from wherever the loader finds it first.
// Documented   CUDA Runtime API, cudaError_t 34 and 35; CUDA Compatibility; numba#8985, warp#219, CUDA.jl#1567.
//              One source document says that a version disagreement makes cublasCreate return INTERNAL_ERROR (S0-1).
// What helps   A driver that is new enough; dropping the stubs folder from LD_LIBRARY_PATH before the process starts.
//              Retrying, resetting and changing LD_LIBRARY_PATH from inside are measured as dead ends.
// Runs without a GPU, but for the arms that show the remedies.
#include "harness/trial.hpp"

#include <cublasLt.h>

#include <cstdlib>
#include <filesystem>

namespace cufault {
namespace {

namespace fs = std::filesystem;

/// The folder with another libcuda.so.1 (harness/fake_driver), built or installed beside this program.
fs::path driver_folder(const char* name) {
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const char* libraries : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    if (fs::path folder = prefix / libraries / "cufault" / name; fs::exists(folder / "libcuda.so.1"))
      return folder;
  }
  return {};
}

std::string library_path() {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  return path != nullptr ? path : "";
}

/// In front of what the loader would search, so that everything else is still found.
std::map<std::string, std::string> with_driver(const char* name,
                                               std::map<std::string, std::string> and_set = {}) {
  const std::string rest = library_path();
  and_set["LD_LIBRARY_PATH"] = driver_folder(name).string() + (rest.empty() ? "" : ":" + rest);
  and_set["CUFAULT_LIBRARY_PATH"] = rest;  // for the remedy that puts it back
  and_set["CUFAULT_DRIVER"] = name;
  return and_set;
}

/// Without the folder the loader would take the machine's own driver, and the arm would test that.
void need_the_driver_of_this_arm() {
  const char* name = std::getenv("CUFAULT_DRIVER");
  if (name == nullptr || driver_folder(name).empty())
    throw not_provoked(std::string("there is no lib/cufault/") + (name != nullptr ? name : "") +
                       "/libcuda.so.1 beside this program" +
                       (name == std::string_view("stub") ? ": its toolkit has no stub" : ""));
}

void first_calls() {
  need_the_driver_of_this_arm();
  int devices = 0;
  observe(cudaGetDeviceCount(&devices));
  cublasHandle_t handle = nullptr;
  observe(cublasCreate(&handle));
  cublasLtHandle_t light = nullptr;
  observe(cublasLtCreate(&light));
}

std::string original_library_path() {
  const char* path = std::getenv("CUFAULT_LIBRARY_PATH");
  return path != nullptr ? path : "";
}

// ---- controls ----

void libraries_answer(trial&) {
  int major = 0;
  observe(cublasGetProperty(MAJOR_VERSION, &major));
  observe(cublasLtGetProperty(MAJOR_VERSION, &major));
}

void driver_works(trial& t) {
  t.open_context();
  create_and_multiply();
}

// ---- faults ----

void first_calls_fail(trial&) {
  first_calls();
}

// ---- remedies ----

void restore_the_path(trial& t) {
  if (t.stage() == 0) {
    first_calls();
    t.apply("start again without that folder in LD_LIBRARY_PATH");
    t.continue_in_new_process({{"LD_LIBRARY_PATH", original_library_path()}});
    return;
  }
  t.open_context();
  create_and_multiply();
}

// ---- dead ends ----

void retry_alone(trial& t) {
  first_calls();
  t.apply("the same calls again");
  first_calls();
}

void reset_the_device(trial& t) {
  first_calls();
  t.apply("cudaDeviceReset(), create again");
  observe(cudaDeviceReset());
  create_and_multiply();
}

void change_the_path_from_inside(trial& t) {
  first_calls();
  t.apply("setenv(LD_LIBRARY_PATH) in this process, create again");
  setenv("LD_LIBRARY_PATH", original_library_path().c_str(), 1);
  create_and_multiply();
}

// ---- the case ----

failure_case driver_missing() {
  failure_case c;
  c.name = "environment.driver_missing";
  c.summary = "no libcuda, the toolkit's stub of it, or one that is older than the runtime";
  c.failures = {"F-ENV-02", "F-ENV-03"};
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&), need needs,
                       std::map<std::string, std::string> environment = {},
                       std::vector<std::string> claims = {}) {
    arm a;
    a.name = name;
    a.kind = kind;
    a.summary = summary;
    a.claims = std::move(claims);
    a.body = body;
    a.needs = needs;
    a.environment = std::move(environment);
    c.arms.push_back(std::move(a));
  };
  const std::map<std::string, std::string> stub_code{{"CUFAULT_FAKE_CUINIT", "34"}};
  const std::map<std::string, std::string> old_driver{{"CUFAULT_FAKE_DRIVER_VERSION", "11040"}};

  add("control", arm_kind::control, "both libraries are loaded and answer without a driver", libraries_answer,
      need::host);
  add("control_gpu", arm_kind::control, "the machine's own driver works", driver_works, need::gpu);

  add("no_driver", arm_kind::fault, "no libcuda.so.1 can be loaded", first_calls_fail, need::host,
      with_driver("none"));
  add("toolkit_stub", arm_kind::fault, "the toolkit's stub is found first", first_calls_fail, need::host,
      with_driver("stub"), {"S0-2"});
  add("stub_code", arm_kind::fault, "a libcuda whose cuInit returns 34", first_calls_fail, need::host,
      with_driver("fake", stub_code), {"S0-2"});
  add("driver_too_old", arm_kind::fault, "a libcuda that says it is CUDA 11.4", first_calls_fail, need::host,
      with_driver("fake", old_driver), {"S0-1"});

  add("find_the_driver", arm_kind::remedy, "start again with the machine's driver in place of none",
      restore_the_path, need::gpu, with_driver("none"));
  add("drop_the_stub", arm_kind::remedy, "start again without the stub in LD_LIBRARY_PATH", restore_the_path,
      need::gpu, with_driver("stub"));
  add("newer_driver", arm_kind::remedy, "start again with the machine's newer driver", restore_the_path,
      need::gpu, with_driver("fake", old_driver));

  add("retry_alone", arm_kind::dead_end, "the same calls again", retry_alone, need::host,
      with_driver("none"));
  add("reset_the_device", arm_kind::dead_end, "cudaDeviceReset between two tries", reset_the_device,
      need::host, with_driver("none"));
  add("change_path_inside", arm_kind::dead_end, "LD_LIBRARY_PATH repaired from inside the process",
      change_the_path_from_inside, need::gpu, with_driver("stub"));
  return c;
}

const register_case here{driver_missing()};

}  // namespace
}  // namespace cufault
