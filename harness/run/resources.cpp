// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/resources.hpp"

#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace cufault {
namespace {

constexpr const char* no_gpu = "none";
constexpr const char* count_variable = "CTEST_RESOURCE_GROUP_COUNT";

constexpr const char* what_to_do = "unset it, or run this through ctest --resource-spec-file FILE";

/// E.g. "gpu_0a9d", "gpu_11fe" for "id:gpu_0a9d,slots:1;id:gpu_11fe,slots:1".
std::vector<std::string> names_in(const std::string& which) {
  std::vector<std::string> names;
  std::istringstream all(variable(which));
  for (std::string one; std::getline(all, one, ';');) {
    const auto comma = one.find(',');
    if (!one.starts_with("id:") || comma == std::string::npos || comma == 3)
      throw std::invalid_argument(
          fmt::format("{}: \"{}\" is not id:NAME,slots:NUMBER; {}", which, one, what_to_do));
    names.push_back(one.substr(3, comma - 3));
  }
  return names;
}

int number_of_groups() {
  const std::string text = variable(count_variable);
  constexpr int most = 1024;
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number > most)
    throw std::invalid_argument(
        fmt::format("{}: \"{}\" is not a number of groups; {}", count_variable, text, what_to_do));
  return number;
}

}  // namespace

std::string resource_name(const std::string& uuid) {
  std::string name = uuid;
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  });
  return name;
}

nlohmann::ordered_json resource_spec(const std::vector<std::string>& uuids) {
  auto gpus = nlohmann::ordered_json::array();
  const auto add = [&](const std::string& name) {
    gpus.push_back({{"id", name}, {"slots", slots_of_a_gpu}});
  };
  for (const std::string& uuid : uuids) add(resource_name(uuid));
  if (gpus.empty()) add(no_gpu);
  return {{"version", {{"major", 1}, {"minor", 0}}},
          {"local", nlohmann::ordered_json::array({{{"gpus", std::move(gpus)}}})}};
}

bool ctest_allocates() {
  return !variable(count_variable).empty();
}

std::vector<int> devices_given_by_ctest(const std::vector<std::string>& uuids) {
  if (!ctest_allocates()) return {};
  std::vector<int> devices;
  const int groups = number_of_groups();
  for (int group = 0; group < groups; ++group) {
    for (const std::string& name : names_in(fmt::format("CTEST_RESOURCE_GROUP_{}_GPUS", group))) {
      if (name == no_gpu) continue;
      const auto found = std::ranges::find(uuids, name, resource_name);
      if (found == uuids.end())
        throw std::invalid_argument(
            fmt::format("CTest gave this test {}, which is not here; write its resource spec file again: "
                        "cufault resources FILE",
                        name));
      const auto device = static_cast<int>(found - uuids.begin());
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
  }
  return devices;
}

}  // namespace cufault
