// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_gpus.hpp"

#include "harness/run/nvml.hpp"
#include "harness/run/resources.hpp"
#include "harness/run/stack.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <stdexcept>
#include <utility>

namespace cufault {

namespace {

/// What CTest allocated, of the GPUs of this stack. Throws usage_error where one is not here.
std::vector<int> devices_in(const nlohmann::json& stack) {
  try {
    return devices_given_by_ctest(stack.value("devices", std::vector<std::string>()));
  } catch (const std::invalid_argument& e) {
    throw usage_error(e.what());
  }
}

/// What GPUs that are alike have in common.
nlohmann::json kind_of(const nlohmann::json& stack) {
  nlohmann::json gpu = for_record(stack)["gpu"];
  gpu.erase("uuid_hashes");
  return gpu;
}

}  // namespace

run_gpus::run_gpus(const run_arguments& arguments, int stop) {
  const nvml management;  // closed before any process is forked from this one
  const auto stack_with = [&](int device) {
    target where = arguments.where;
    where.device = device;
    nlohmann::json stack = read_stack(own_path(), where, management, stop);
    if (const std::string why = stack.value("error", std::string()); !why.empty()) throw usage_error(why);
    return stack;
  };
  std::vector<int> numbers = arguments.devices;
  const int looked_at = numbers.empty() ? arguments.where.device : numbers.front();
  *stack_ = stack_with(looked_at);
  if (numbers.empty() && !arguments.all_devices) numbers = devices_in(*stack_);
  if (!numbers.empty() && numbers.front() != looked_at) *stack_ = stack_with(numbers.front());
  if (!(*stack_)["gpu"].is_object()) return;
  if (numbers.empty() && !arguments.all_devices) numbers.push_back(looked_at);
  for (int i = 0; arguments.all_devices && i < static_cast<int>(in_the_machine()); ++i) numbers.push_back(i);
  for (const int number : numbers) {
    const nlohmann::json other = number == numbers.front() ? *stack_ : stack_with(number);
    if (!other["gpu"].is_object())
      throw usage_error(fmt::format("--device {}: {}", number, other.value("no_gpu", "no GPU")));
    const auto name = [](const nlohmann::json& s) { return s["gpu"].value("name", std::string()); };
    if (kind_of(other) != kind_of(*stack_))
      throw usage_error(fmt::format("--device: GPU {} ({}) and GPU {} ({}) differ; give GPUs that are alike",
                                    numbers.front(), name(*stack_), number, name(other)));
    all_.push_back({number, other["gpu"].value("uuid", std::string("unknown"))});
    if (number != numbers.front())
      (*stack_)["gpu"]["uuid_hashes"].push_back(other["gpu"]["uuid_hashes"].front());
    if (std::string line = line_of_others(number, management.users(all_.back().uuid), own_path());
        !line.empty())
      used_by_others_.push_back(std::move(line));
  }
}

std::size_t run_gpus::in_the_machine() const {
  return stack_->contains("devices") ? (*stack_)["devices"].size() : 1;
}

std::vector<int> devices_from_ctest(const target& where, int stop) {
  return devices_in(read_stack(own_path(), where, nvml(), stop));
}

}  // namespace cufault
