// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Every first call, where the driver's library and its kernel module are of different releases
//              (803), the kernel driver is not ready (802), or the forward-compatibility library meets a GPU
//              that it is not for (804); and where the driver is of an older CUDA than the runtime.
// Why          The library asks the kernel module at cuInit, and a runtime asks the library for its version
//              before that.
// Documented   CUDA Runtime API, cudaError_t 802 to 804; CUDA Compatibility, Minor Version and Forward
//              Compatibility; nvidia-docker#1256, #1705, llm-d#706, nixl#441, ComfyUI#10415. One source
//              document says that a version disagreement makes cublasCreate return INTERNAL_ERROR (S0-1),
//              another that small differences are unpredictable (S1-12).
// What helps   Recommended: drop the compat folder from the path, reboot into the right kernel module, start
//              the fabric manager. Users also retry and reset. Said not to help, and not measured yet: the
//              framework installed again; no arm installs anything.
// All arms except those with a compat folder are made up: their libcuda is a stand-in. Only the compat folder and the arms that show
// remedies need a GPU. CUFAULT_COMPAT_DIR names a compat folder.
#include "cases/environment/other_driver.hpp"
#include "harness/kit/products.hpp"

#include <algorithm>

namespace cufault {
namespace {

namespace fs = std::filesystem;

/// The toolkit's driver library for older kernel drivers; empty if there is none.
fs::path compat_folder() {
  if (fs::path named = variable("CUFAULT_COMPAT_DIR"); !named.empty()) return named;
  std::error_code ignored;
  fs::path found;
  for (const auto& entry : fs::directory_iterator("/usr/local", ignored)) {
    fs::path folder = entry.path() / "compat";
    if (entry.path().filename().string().starts_with("cuda") && exists(folder / "libcuda.so.1", ignored))
      found = std::max(found, folder);
  }
  return found;
}

void need_compat() {
  if (!exists(compat_folder() / "libcuda.so.1"))
    throw not_provoked(
        "no compat folder with a libcuda.so.1 in /usr/local/cuda*: CUFAULT_COMPAT_DIR names one");
}

// ---- faults ----

void compat_in_front(trial& t) {
  if (!in_counterpart()) need_compat();
  int devices = 0, version = 0;
  CUFAULT_OBSERVE(cudaGetDeviceCount(&devices));
  create_and_multiply();
  if (cudaDriverGetVersion(&version) == cudaSuccess)
    t.measure("CUDA version of the driver's library", version);
}

/// Each version runs in its own process, since a runtime asks its driver once. The stand-in has no devices: an accepted version gives
/// cudaErrorNoDevice. Rule: a driver of the runtime's major version or a later one is accepted; S1-12 is about exceptions. A runtime with
/// minor version 0 has no slightly older driver. In the counterpart the machine's own driver reports no device.
void drivers_of_many_versions(trial& t) {
  constexpr int major = CUDART_VERSION / 1000 * 1000;
  for (const int version : {major - 1000, major - 910, major, major + 10, major + 90, major + 1000}) {
    t.in_forked_child([&] {
      if (in_counterpart()) {
        set_rules(fmt::format(
            R"({{"rules": [{{"driver_version": {}}}, {{"function": "cuInit", "return": "NO_DEVICE"}}]}})",
            version));
      } else {
        setenv("CUFAULT_FAKE_DRIVER_VERSION", std::to_string(version).c_str(), 1);
      }
      int devices = 0;
      const cudaError_t counted = CUFAULT_OBSERVE(cudaGetDeviceCount(&devices));
      const bool accepted = counted == cudaErrorNoDevice;
      const std::string driver = fmt::format("{} that says {}", driver_here(), cuda_version(version));
      t.measure(fmt::format("{}: accepted", driver), accepted ? 1 : 0);
      t.measure("drivers accepted or refused against the rule of versions",
                accepted == (version >= major) ? 0 : 1);
    });
  }
}

// ---- remedies ----

void drop_compat(trial& t) {
  need_compat();
  restore_the_path(t);
}

// ---- the case ----

void driver_mismatch(failure_case& c) {
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&), need needs,
                       std::map<std::string, std::string> environment = {},
                       std::vector<std::string> claims = {}) {
    arm& a = c.add(name, kind, summary, on_its_driver(body), std::move(claims));
    a.needs = needs;
    a.environment.merge(environment);
    a.made_up = is_stand_in(a);
  };
  const auto code = [](const char* number) { return with_driver("fake", {{"CUFAULT_FAKE_CUINIT", number}}); };
  const int older_major = (CUDART_VERSION / 1000 - 1) * 1000 + 90;
  const auto older = with_driver("fake", {{"CUFAULT_FAKE_DRIVER_VERSION", std::to_string(older_major)}});
  const auto compat = with_folder_in_front(compat_folder());

  add("control", arm_kind::control, "both libraries are loaded and answer without a driver", libraries_answer,
      need::host);
  add("control_gpu", arm_kind::control, "the machine's own driver works", driver_works, need::gpu);

  add("mismatch", arm_kind::fault, "a stand-in libcuda whose cuInit returns 803", first_calls_fail,
      need::host, code("803"), {"S0-1"});
  add("compat_not_supported", arm_kind::fault, "a stand-in libcuda whose cuInit returns 804",
      first_calls_fail, need::host, code("804"), {"S0-1"});
  add("not_ready", arm_kind::fault, "a stand-in libcuda whose cuInit returns 802", first_calls_fail,
      need::host, code("802"));
  add("one_major_older", arm_kind::fault,
      "a stand-in libcuda that says it is of the major version before the runtime's",
      first_calls_of_an_older_driver, need::host, older, {"S0-1", "S1-15"});
  add("many_versions", arm_kind::fault,
      "stand-in drivers, without devices, that say they are older and newer than the runtime",
      drivers_of_many_versions, need::host, with_driver("fake"), {"S1-12"});
  add("compat_in_front", arm_kind::fault, "the toolkit's compat folder is found before the driver",
      compat_in_front, need::gpu, compat, {"S0-1"});

  add("right_driver", arm_kind::remedy, "start again with the machine's driver, which matches",
      restore_the_path, need::gpu, code("803"));
  add("drop_compat", arm_kind::remedy, "start again without the compat folder", drop_compat, need::gpu,
      compat);

  add("retry_alone", arm_kind::dead_end, "the same calls again", call_again, need::host, code("803"));
  add("reset_the_device", arm_kind::dead_end, "cudaDeviceReset between two tries", reset_the_device,
      need::host, code("803"));

  add_twin_on_own_driver(c, "mismatch", cuinit_returns("SYSTEM_DRIVER_MISMATCH"));
  add_twin_on_own_driver(c, "compat_not_supported", cuinit_returns("COMPAT_NOT_SUPPORTED_ON_DEVICE"));
  add_twin_on_own_driver(c, "not_ready", cuinit_returns("SYSTEM_NOT_READY"));
  add_twin_on_own_driver(c, "one_major_older", driver_says(older_major));
  add_twin_on_own_driver(c, "many_versions", "");
  add_twin_on_own_driver(c, "compat_in_front", cuinit_returns("SYSTEM_DRIVER_MISMATCH"));
}

const register_case here(
    "environment.driver_mismatch",
    "a libcuda that does not match its kernel module, or is of another CUDA release than the runtime",
    {"F-ENV-04", "F-ENV-05"}, driver_mismatch);

}  // namespace
}  // namespace cufault
