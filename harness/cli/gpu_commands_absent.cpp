// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Stands in for gpu_commands.cpp in a build without CUDA.
#include "harness/cli/cli.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/doctor/machine_stack.hpp"
#include "harness/system/process.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <filesystem>

namespace cufault {

void check_libraries(const target&) {}  // no trial takes one

int serve_trial(const trial_arguments&) {
  throw usage_error(build_it_with_cuda);
}

int serve_shared_trials(const target&, bool) {
  throw usage_error(build_it_with_cuda);
}

int serve_other_process(int, std::uint64_t) {
  throw usage_error(build_it_with_cuda);
}

int serve_neighbour(int, const std::string&) {
  throw usage_error(build_it_with_cuda);
}

int serve_driver_hold() {
  throw usage_error(build_it_with_cuda);
}

int sweep_operations(const sweep_arguments&) {
  throw usage_error(build_it_with_cuda);
}

int serve_product(const target&) {
  throw usage_error(build_it_with_cuda);
}

int serve_probe(const target& where) {
  machine m = this_machine();
  m.program = program_of(m, own_path());
  const std::filesystem::path cublas = where.cublas.empty() ? "" : std::filesystem::absolute(where.cublas);
  const std::string text =
      stack_of(m, cublas, where.device).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return write(report_fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
}

}  // namespace cufault
