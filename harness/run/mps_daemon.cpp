// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/mps_daemon.hpp"

#include "harness/model/errors.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <system_error>

namespace cufault {
namespace {

// Ending the daemon takes up to 14 s; a client's restart of it, up to 25 s, may come first.
constexpr std::chrono::seconds patience_with_start{20}, patience_with_end{45};
}  // namespace

mps_daemon::mps_daemon(const std::vector<std::string>& keeper,
                       const std::map<std::string, std::string>& environment, int stop) {
  spawn_options options;
  options.argv = keeper;
  options.environment = variables();
  if (const auto visible = environment.find("CUDA_VISIBLE_DEVICES"); visible != environment.end())
    options.environment.insert(*visible);
  for (const auto& [name, folder] : variables()) std::filesystem::create_directories(folder);
  try {
    keeper_ = std::make_unique<resident_process>(options);
  } catch (const std::system_error& error) {
    throw not_provoked(fmt::format("no MPS daemon: {}", error.what()));
  }
  const auto said = keeper_->ask("start", patience_with_start, {}, stop);
  if (said.answered && said.text == "started") return;
  const bool stopped = !said.answered && said.process.how == ending::interrupted;
  keeper_->end();
  if (stopped) throw interrupted{};
  throw not_provoked("no MPS daemon: " + (said.answered ? said.text : "its keeper did not answer"));
}

mps_daemon::~mps_daemon() {
  try {
    keeper_->ask("quit", patience_with_end, {});
    keeper_->end();
  } catch (const std::exception&) {  // what it leaves is killed with it
  }
}

std::map<std::string, std::string> mps_daemon::variables() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", folder_.path() / "pipe"},
          {"CUDA_MPS_LOG_DIRECTORY", folder_.path() / "log"}};
}

}  // namespace cufault
