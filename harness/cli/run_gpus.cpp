// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_gpus.hpp"

#include "harness/run/nvml.hpp"
#include "harness/run/resources.hpp"
#include "harness/run/stack.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace cufault {

run_gpus::run_gpus(const run_arguments& arguments, int stop) {
  const nvml management;  // closed before any process is forked from this one
  target where = arguments.where;
  std::vector<int> numbers = arguments.devices;
  if (!numbers.empty()) where.device = numbers.front();
  stack_ = read_stack(own_path(), where, management, stop);
  if (const std::string why = stack_.value("error", std::string()); !why.empty()) throw usage_error(why);
  if (!stack_["gpu"].is_object()) return;
  if (numbers.empty() && !arguments.all_devices) numbers.push_back(where.device);
  for (int i = 0; arguments.all_devices && i < static_cast<int>(in_the_machine()); ++i) numbers.push_back(i);
  for (const int number : numbers) {
    where.device = number;
    const nlohmann::json other =
        number == numbers.front() ? stack_ : read_stack(own_path(), where, management, stop);
    if (const std::string why = other.value("error", std::string()); !why.empty()) throw usage_error(why);
    if (!other["gpu"].is_object())
      throw usage_error(fmt::format("--device {}: {}", number, other.value("no_gpu", "no GPU")));
    const auto name = [](const nlohmann::json& s) { return s["gpu"].value("name", std::string()); };
    if (for_record(other)["gpu"] != for_record(stack_)["gpu"])
      throw usage_error(fmt::format("--device: GPU {} ({}) and GPU {} ({}) differ; give GPUs that are alike",
                                    numbers.front(), name(stack_), number, name(other)));
    all_.push_back({number, other["gpu"].value("uuid", std::string("unknown"))});
  }
}

std::size_t run_gpus::in_the_machine() const {
  return stack_.contains("devices") ? stack_["devices"].size() : 1;
}

std::vector<int> devices_from_ctest(const target& where, int stop) {
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management, stop);
  try {
    return devices_given_by_ctest(stack.value("devices", std::vector<std::string>()));
  } catch (const std::invalid_argument& e) {
    throw usage_error(e.what());
  }
}

}  // namespace cufault
