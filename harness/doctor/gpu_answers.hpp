// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// What libcuda.so.1 says, without a context. Read in the process that asks: callers isolate it.
struct driver_answers {
  std::string why_absent{};  ///< the loader's words; empty where the library was loaded
  std::string library{};     ///< the file
  int version = 0;           ///< of CUDA: 13000
  int initialised = 0;       ///< what cuInit returned: 0, 34, 100, 802, 803, 804 ...
  struct device {
    std::string name{};
    unsigned capability = 0;  ///< 90 is 9.0
    std::string bus_id{};     ///< "0000:3b:00.0"; empty where the driver does not tell
  };
  std::vector<device> devices{};
  [[nodiscard]] bool usable() const { return why_absent.empty() && initialised == 0 && !devices.empty(); }
};
driver_answers ask_driver();
/// NVIDIA's GPUs that the kernel lists on the PCI bus below `root`, sorted: "0000:3b:00.0". Needs no driver. Without those that belong to a
/// virtual machine (bound to vfio-pci), and without virtual functions of a GPU.
std::vector<std::string> gpus_on_pci_bus(const std::filesystem::path& root);
/// "cudaErrorStubLibrary" for 34, as the CUDA headers name it; "code 7" for those that no doctor's finding is about.
std::string name_of_code(int code);

/// What NVML says of a GPU. What it refuses to say is empty.
struct gpu_state {
  std::string name{}, bus_id{};
  std::optional<unsigned> capability{};
  std::optional<std::uint64_t> total_bytes{}, free_bytes{};
  std::optional<bool> mig{}, persistence{}, ecc{};
  std::optional<int> compute_mode{};  ///< 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
  std::optional<std::uint64_t> corrected_errors{}, uncorrected_errors{};  ///< since the driver was loaded
  struct rows {
    unsigned corrected = 0, uncorrected = 0;
    bool pending = false, failed = false;
  };
  std::optional<rows> remapped{};
  struct user {
    unsigned pid = 0;
    std::optional<std::uint64_t> bytes{};
  };
  std::optional<std::vector<user>> users{};
};
struct management_answers {
  std::string why_absent{};
  std::string driver{};  ///< "580.159.04"
  std::vector<gpu_state> gpus{};
};
/// Loads libnvidia-ml.so.1, which needs no context and makes none.
management_answers ask_management();

}  // namespace cufault
