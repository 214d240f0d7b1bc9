// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Every first call, where CUDA_VISIBLE_DEVICES hides all devices or there is none.
// Why          The driver reads the variable once, when it is initialised, and stops at the first entry that
//              names no device.
// Documented   CUDA Programming Guide, CUDA Environment Variables; CUDA Runtime API, cudaError_t 100. Many
//              threads: a batch system or a launcher sets the variable, and the program blames cuBLAS.
// What helps   Recommended: unset the variable. The arms measure whether that still helps inside the process, before and after the first
//              CUDA call. Recommended too: asking for the number of devices first. Every fault arm does, and gets cudaErrorNoDevice; what a
//              program then does instead is not measured yet.
// One arm, made up by a stand-in libcuda, and a control run without a GPU.
#include "cases/environment/other_driver.hpp"
#include "harness/kit/products.hpp"

namespace cufault {
namespace {

constexpr const char* visible_devices = "CUDA_VISIBLE_DEVICES";
constexpr const char* kept_in = "CUFAULT_VISIBLE_DEVICES";

std::map<std::string, std::string> hidden_by(const char* value) {
  return {{visible_devices, value}, {kept_in, variable(visible_devices)}};
}

/// Restores the value before the trial: devices that this run may not use stay hidden.
void restore_visible_devices() {
  if (const std::string original = variable(kept_in); original.empty()) {
    unsetenv(visible_devices);
  } else {
    setenv(visible_devices, original.c_str(), 1);
  }
}

// ---- controls ----

void devices_visible(trial& t) {
  t.open_context();
  first_calls();
  create_and_multiply();
}

// ---- faults ----

/// Set inside the process: in an arm's environment an empty value unsets the variable.
void hide_by_empty_value(trial&) {
  if (!in_counterpart()) setenv(visible_devices, "", 1);
  first_calls();
}

// ---- remedies ----

void show_in_new_process(trial& t) {
  if (t.stage() == 0) {
    first_calls();
    t.apply("start again without the variable");
    t.continue_in_new_process({{visible_devices, variable(kept_in)}});
    return;
  }
  t.open_context();
  create_and_multiply();
}

void show_before_the_first_call(trial& t) {
  t.apply("unset the variable in this process, before its first CUDA call");
  restore_visible_devices();
  t.open_context();
  create_and_multiply();
}

// ---- dead ends ----

void show_after_the_first_call(trial& t) {
  first_calls();
  t.apply("unset the variable in this process, after its first CUDA call");
  restore_visible_devices();
  create_and_multiply();
}

// ---- the case ----

void hidden_devices(failure_case& c) {
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&), need needs,
                       std::map<std::string, std::string> environment = {}) -> arm& {
    arm& a = c.add(name, kind, summary, on_its_driver(body));
    a.needs = needs;
    a.environment.merge(environment);
    a.made_up = is_stand_in(a);
    return a;
  };

  add("control", arm_kind::control, "both libraries are loaded and answer without a driver", libraries_answer,
      need::host);
  add("control_gpu", arm_kind::control, "the devices of this run are visible", devices_visible, need::gpu);

  add("no_device", arm_kind::fault, "a stand-in libcuda whose cuInit returns 100", first_calls_fail,
      need::host, with_driver("fake", {{"CUFAULT_FAKE_CUINIT", "100"}}));
  add("minus_one", arm_kind::fault, "CUDA_VISIBLE_DEVICES=-1", first_calls_fail, need::gpu, hidden_by("-1"));
  add("out_of_range", arm_kind::fault, "CUDA_VISIBLE_DEVICES=99", first_calls_fail, need::gpu,
      hidden_by("99"));
  add("no_dev_files", arm_kind::fault, "CUDA_VISIBLE_DEVICES=NoDevFiles", first_calls_fail, need::gpu,
      hidden_by("NoDevFiles"));
  add("set_to_nothing", arm_kind::fault, "CUDA_VISIBLE_DEVICES set, to nothing", hide_by_empty_value,
      need::gpu);

  add("show_in_new_process", arm_kind::remedy, "start again without the variable", show_in_new_process,
      need::gpu, hidden_by("-1"));
  add("show_before_first_call", arm_kind::remedy,
      "unset the variable from inside, before the first CUDA call", show_before_the_first_call, need::gpu,
      hidden_by("-1"))
      .against = "minus_one";

  add("show_after_first_call", arm_kind::dead_end,
      "unset the variable from inside, after the first CUDA call", show_after_the_first_call, need::gpu,
      hidden_by("-1"));
  add("reset_the_device", arm_kind::dead_end, "cudaDeviceReset between two tries", reset_the_device,
      need::gpu, hidden_by("-1"));

  for (const char* natural : {"no_device", "minus_one", "out_of_range", "no_dev_files", "set_to_nothing"}) {
    add_twin_on_own_driver(c, natural, cuinit_returns("NO_DEVICE"));
    c.arms.back().environment.erase(visible_devices);
  }
}

const register_case here("environment.hidden_devices",
                         "CUDA_VISIBLE_DEVICES that leaves no device, and a driver that has none",
                         {"F-ENV-08"}, hidden_devices);

}  // namespace
}  // namespace cufault
