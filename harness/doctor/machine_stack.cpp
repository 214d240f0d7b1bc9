// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/machine_stack.hpp"

#include "harness/doctor/probe.hpp"
#include "harness/system/library_file.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <system_error>

namespace cufault {
namespace {

/// NVML's "00000000:3B:00.0" is the driver's "0000:3b:00.0".
bool is_at(const gpu_state& gpu, const std::string& bus_id) {
  return !bus_id.empty() && in_lower_case(gpu.bus_id).ends_with(bus_id);
}

nlohmann::json gpu_of(const driver_answers::device& device, const std::vector<gpu_state>& gpus) {
  nlohmann::json gpu{
      {"name", device.name},
      {"compute_capability", fmt::format("{}.{}", device.capability / 10, device.capability % 10)}};
  const auto state = std::ranges::find_if(gpus, [&](const gpu_state& g) { return is_at(g, device.bus_id); });
  if (state != gpus.end() && state->total_bytes) gpu["memory_bytes"] = *state->total_bytes;
  return gpu;
}

std::string why_no_gpu(const driver_answers& driver) {
  if (!driver.why_absent.empty()) return driver.why_absent;
  return driver.initialised != 0 ? "cuInit returned " + name_of_code(driver.initialised)
                                 : "the driver shows none";
}

}  // namespace

nlohmann::json stack_of(machine m, const std::filesystem::path& cublas, int device) {
  nlohmann::json stack{{"gpu", nullptr},
                       {"no_gpu", ""},
                       {"error", ""},
                       {"cublas", nlohmann::json::object()},
                       {"cublaslt", nlohmann::json::object()},
                       {"libraries", nlohmann::json::array()}};
  std::error_code unseen;
  if (!cublas.empty())
    m.environment["LD_LIBRARY_PATH"] = fmt::format(
        "{}:{}",
        (std::filesystem::is_directory(m.at(cublas), unseen) ? cublas : cublas.parent_path()).string(),
        m.variable("LD_LIBRARY_PATH"));
  for (const auto& [key, stem] :
       {std::pair("cublas", "libcublas"), {"cublaslt", "libcublasLt"}, {"runtime", "libcudart"}})
    for (const library_here& library : libraries_here(m, stem)) {
      if (stack.value(key, nlohmann::json::object()).empty()) {
        stack[key] = {{"version", library.version}, {"path", library.file}};
        if (key != std::string_view("runtime")) stack["files"][key] = library_file(m.at(library.file));
      }
      stack["libraries"].push_back({{"name", library.name},
                                    {"version", library.version},
                                    {"path", library.file},
                                    {"found_by", library.by}});
    }
  const driver_answers driver = m.driver();
  stack["driver"] = {{"cuda", driver.version == 0 ? "" : runtime_version_text(driver.version)},
                     {"library", driver.library}};
  if (!driver.usable())
    stack["no_gpu"] = why_no_gpu(driver);
  else if (const auto at = static_cast<std::size_t>(device); at >= driver.devices.size())
    stack["error"] =
        fmt::format("--device {}: there are devices 0 to {} here", device, driver.devices.size() - 1);
  else
    stack["gpu"] = gpu_of(driver.devices[at], m.management().gpus);
  return stack;
}

}  // namespace cufault
