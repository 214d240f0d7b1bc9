// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/cli.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/trial/stack_probe.hpp"
#include "harness/trial/trial.hpp"
#include "harness/trial/trials_server.hpp"

#include <algorithm>

namespace cufault {

int serve_trial(const trial_arguments& arguments) {
  const failure_case* const c = find_case(arguments.case_name);
  if (c == nullptr) throw usage_error("no case " + arguments.case_name);
  const auto a =
      std::find_if(c->arms.begin(), c->arms.end(), [&](const arm& x) { return x.name == arguments.arm; });
  if (a == c->arms.end()) throw usage_error(arguments.case_name + " has no arm " + arguments.arm);
  trial_options options;
  options.level = arguments.level;
  options.seed = arguments.seed;
  options.stage = arguments.stage;
  options.device = arguments.where.device;
  options.libraries = {arguments.where.cublas, arguments.where.cublaslt};
  return trial::run(*a, options);
}

int serve_shared_trials(const target& where, bool gpu) {
  return serve_trials(where, gpu);
}

int serve_other_process(int device, std::uint64_t leave_free) {
  return other_process::serve(device, leave_free);
}

int serve_probe(const target& where) {
  return probe_stack(where);
}

}  // namespace cufault
