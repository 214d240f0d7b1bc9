// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Every first call: cudaGetDeviceCount, cublasCreate, cublasLtCreate, where the driver's library is missing, is the
//              toolkit's stub, or is older than the runtime.
// Why          Runtime, cuBLAS and cuBLASLt each load libcuda.so.1 themselves, from wherever the loader finds it first.
// Documented   CUDA Runtime API, cudaError_t 34 and 35; CUDA Compatibility; numba#8985, warp#219, CUDA.jl#1567.
//              One source document says that a version disagreement makes cublasCreate return INTERNAL_ERROR (S0-1).
// What helps   A driver that is new enough; dropping the stubs folder from LD_LIBRARY_PATH before the process starts.
//              Retrying, resetting and changing LD_LIBRARY_PATH from inside are measured as dead ends. Said not to help
//              either, and not measured yet: the toolkit installed again, older or newer; no arm installs anything.
// Arms with a stand-in libcuda are made up, and so are those in which none can be loaded: an empty file of cufault is found first. Only
// remedies and injected counterparts need a GPU. no_driver has no counterpart: the loader fails, before any call of the driver.
#include "cases/environment/other_driver.hpp"
#include "harness/kit/products.hpp"

namespace cufault {
namespace {

void change_the_path_from_inside(trial& t) {
  first_calls();
  t.apply("setenv(LD_LIBRARY_PATH) in this process, create again");
  setenv("LD_LIBRARY_PATH", original_library_path().c_str(), 1);
  create_and_multiply();
}

// ---- the case ----

void driver_missing(failure_case& c) {
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&), need needs,
                       std::map<std::string, std::string> environment = {},
                       std::vector<std::string> claims = {}) {
    arm& a = c.add(name, kind, summary, on_its_driver(body), std::move(claims));
    a.needs = needs;
    a.environment = std::move(environment);
    a.made_up = is_stand_in(a);
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
  add("stub_code", arm_kind::fault, "a stand-in libcuda whose cuInit returns 34", first_calls_fail,
      need::host, with_driver("fake", stub_code), {"S0-2"});
  add("driver_too_old", arm_kind::fault, "a stand-in libcuda that says it is CUDA 11.4",
      first_calls_of_an_older_driver, need::host, with_driver("fake", old_driver),
      {"S0-1", "S1-13", "S1-15"});

  add("find_the_driver", arm_kind::remedy, "start again with the machine's driver in place of none",
      restore_the_path, need::gpu, with_driver("none"));
  add("drop_the_stub", arm_kind::remedy, "start again without the stub in LD_LIBRARY_PATH", restore_the_path,
      need::gpu, with_driver("stub"));
  add("newer_driver", arm_kind::remedy, "start again with the machine's newer driver", restore_the_path,
      need::gpu, with_driver("fake", old_driver));

  add("retry_alone", arm_kind::dead_end, "the same calls again", call_again, need::host, with_driver("none"));
  add("reset_the_device", arm_kind::dead_end, "cudaDeviceReset between two tries", reset_the_device,
      need::host, with_driver("none"));
  add("change_path_inside", arm_kind::dead_end, "LD_LIBRARY_PATH repaired from inside the process",
      change_the_path_from_inside, need::gpu, with_driver("stub"));

  add_twin_on_own_driver(c, "toolkit_stub", cuinit_returns("STUB_LIBRARY"));
  add_twin_on_own_driver(c, "stub_code", cuinit_returns("STUB_LIBRARY"));
  add_twin_on_own_driver(c, "driver_too_old", driver_says(11040));
}

const register_case here("environment.driver_missing",
                         "no libcuda, the toolkit's stub of it, or one that is older than the runtime",
                         {"F-ENV-02", "F-ENV-03"}, driver_missing);

}  // namespace
}  // namespace cufault
