// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Against stand-ins for the driver's two libraries.
#include "harness/doctor/gpu_answers.hpp"

#include "harness/doctor/isolated.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/tests/made_elf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

namespace cufault {
namespace {

using namespace std::chrono_literals;

/// In a process of its own, in which the stand-in is what the loader finds by that name.
std::string with_fake(const char* library, const std::function<std::string()>& work) {
  const auto said = run_isolated(
      [&] {
        const std::string file = std::string(DOCTOR_FAKES) + "/" + library;
        if (dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(dlerror());
        return work();
      },
      30s);
  return said.answered ? said.text : "no answer: " + said.why;
}

std::string asked_driver() {
  const driver_answers d = ask_driver();
  std::string text = d.why_absent + std::to_string(d.version) + " " + std::to_string(d.initialised);
  for (const auto& device : d.devices)
    text += " " + device.name + " " + std::to_string(device.capability) + " " + device.bus_id;
  return text + (d.usable() ? " usable" : " not usable");
}

TEST(driver_answers, have_version_and_devices) {
  EXPECT_EQ(with_fake("libcuda.so.1", asked_driver), "13000 0 fake GPU 90 0000:3b:00.0 usable");
}

TEST(driver_answers, have_the_code_of_a_driver_that_refuses) {
  EXPECT_EQ(with_fake("libcuda.so.1",
                      [] {
                        setenv("DOCTOR_FAKE_CUINIT", "803", 1);
                        return asked_driver();
                      }),
            "13000 803 not usable");
}

TEST(driver_answers, have_the_gpu_that_the_stand_in_is_told_to_be) {
  EXPECT_EQ(with_fake("libcuda.so.1",
                      [] {
                        setenv("DOCTOR_FAKE_GPU", "rtx4090", 1);
                        setenv("DOCTOR_FAKE_CUDA", "12020", 1);
                        return asked_driver();
                      }),
            "12020 0 NVIDIA GeForce RTX 4090 89 0000:3b:00.0 usable");
}

TEST(pci_bus, lists_the_gpus_that_a_driver_here_could_use) {
  const temporary_folder folder("cufault-pci-test-");
  const auto device = [&](const std::string& id, const std::string& vendor, const std::string& kind) {
    const std::filesystem::path made = folder.path() / "sys/bus/pci/devices" / id;
    write_file(made / "vendor", vendor + "\n");
    write_file(made / "class", kind + "\n");
    return made;
  };
  EXPECT_THAT(gpus_on_pci_bus(folder.path()), testing::IsEmpty());
  device("0000:5d:00.0", "0x10de", "0x030000");
  device("0000:3b:00.0", "0x10de", "0x030200");
  device("0000:3b:00.1", "0x10de", "0x040300");
  device("0000:00:02.0", "0x8086", "0x030000");
  std::filesystem::create_symlink("../vfio-pci", device("0000:86:00.0", "0x10de", "0x030200") / "driver");
  std::filesystem::create_symlink("../0000:3b:00.0", device("0000:3b:00.4", "0x10de", "0x030200") / "physfn");
  EXPECT_THAT(gpus_on_pci_bus(folder.path()), testing::ElementsAre("0000:3b:00.0", "0000:5d:00.0"));
}

TEST(driver_answers, name_codes_as_the_headers_do) {
  EXPECT_EQ(name_of_code(34), "cudaErrorStubLibrary (34)");
  EXPECT_EQ(name_of_code(7), "code 7");
}

TEST(management_answers, have_what_nvml_tells_and_nothing_that_it_refuses) {
  const std::string said = with_fake("libnvidia-ml.so.1", [] {
    const management_answers a = ask_management();
    if (a.gpus.size() != 1) return std::to_string(a.gpus.size()) + " GPUs " + a.why_absent;
    const gpu_state& g = a.gpus[0];
    const bool told = g.name == "fake GPU" && g.bus_id == "0000:3b:00.0" && g.capability == 90U &&
                      g.total_bytes == 100U && g.free_bytes == 60U && g.mig == true &&
                      g.persistence == false && g.corrected_errors == 4U && g.uncorrected_errors == 2U &&
                      g.remapped && g.remapped->corrected == 1 && g.remapped->pending &&
                      !g.remapped->failed && g.users && g.users->size() == 2 && (*g.users)[0].bytes == 30U &&
                      !(*g.users)[1].bytes;
    const bool refused = !g.ecc && !g.compute_mode;
    return a.driver + (told ? " told" : " not told") + (refused ? " refused" : " not refused");
  });
  EXPECT_EQ(said, "580.1 told refused");
}

TEST(management_answers, have_the_gpu_that_the_stand_in_is_told_to_be) {
  EXPECT_EQ(with_fake("libnvidia-ml.so.1",
                      [] {
                        setenv("DOCTOR_FAKE_GPU", "a100", 1);
                        setenv("DOCTOR_FAKE_DRIVER", "535.54.03", 1);
                        const management_answers a = ask_management();
                        const gpu_state g = a.gpus.empty() ? gpu_state{} : a.gpus[0];
                        const bool faultless = g.mig == false && g.corrected_errors == 0U &&
                                               g.uncorrected_errors == 0U && g.remapped &&
                                               !g.remapped->pending;
                        return a.driver + " " + g.name + " " + std::to_string(g.capability.value_or(0)) +
                               " " + std::to_string(g.total_bytes.value_or(0) >> 30) +
                               (faultless ? " faultless" : " with faults");
                      }),
            "535.54.03 NVIDIA A100-SXM4-80GB 80 80 faultless");
}

TEST(management_answers, say_why_there_are_none) {
  EXPECT_EQ(with_fake("libnvidia-ml.so.1",
                      [] {
                        setenv("DOCTOR_FAKE_NVML", "9", 1);
                        return ask_management().why_absent;
                      }),
            "nvmlInit_v2 of " + std::string(DOCTOR_FAKES) + "/libnvidia-ml.so.1 returned 9");
}

}  // namespace
}  // namespace cufault
