// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/wire.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace cufault {

std::string request_of_job(std::size_t job, std::optional<std::size_t> gpu) {
  nlohmann::ordered_json request{{"job", job}};
  if (gpu) request["gpu"] = *gpu;
  return dump_json(request);
}

std::string request_to_leave_gpu() {
  return dump_json(nlohmann::ordered_json::object());
}

lane_request request_from_wire(const std::string& text) {
  const json_cursor at{parse_json("a request to a lane", text)};
  lane_request request;
  if (at.has("job")) request.job = at.at("job").unsigned_integer();
  if (at.has("gpu")) request.gpu = at.at("gpu").unsigned_integer();
  return request;
}

std::string to_wire(const lane_report& report) {
  auto arms = nlohmann::ordered_json::array();
  for (const std::vector<observation>& trials : report.arms) {
    auto of_arm = nlohmann::ordered_json::array();
    for (const observation& o : trials) of_arm.push_back(observation_json(o));
    arms.push_back(std::move(of_arm));
  }
  return dump_json({{"arms", std::move(arms)},
                    {"shared", report.shared.trials},
                    {"processes", report.shared.processes},
                    {"damaged", report.shared.damaged}});
}

lane_report report_from_wire(const std::string& text) {
  const json_cursor at{parse_json("a lane's answer", text)};
  lane_report report;
  for (const auto& of_arm : at.at("arms").items()) {
    std::vector<observation>& trials = report.arms.emplace_back();
    for (const auto& item : of_arm.items()) trials.push_back(observation_from(item));
  }
  report.shared.trials = at.at("shared").unsigned_integer();
  report.shared.processes = at.at("processes").unsigned_integer();
  for (const auto& item : at.at("damaged").items()) report.shared.damaged.push_back(item.string());
  return report;
}

}  // namespace cufault
