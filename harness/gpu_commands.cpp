// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli.hpp"
#include "harness/squeeze.hpp"
#include "harness/trial.hpp"

#include <algorithm>

namespace cufault {

int serve_trial(const trial_arguments& arguments) {
  const auto& cases = all_cases();
  const auto c = std::find_if(cases.begin(), cases.end(),
                              [&](const failure_case& x) { return x.name == arguments.case_name; });
  if (c == cases.end()) throw usage_error("no case " + arguments.case_name);
  const auto a =
      std::find_if(c->arms.begin(), c->arms.end(), [&](const arm& x) { return x.name == arguments.arm; });
  if (a == c->arms.end()) throw usage_error(arguments.case_name + " has no arm " + arguments.arm);
  trial_options options;
  options.rung = arguments.rung;
  options.seed = arguments.seed;
  options.stage = arguments.stage;
  options.device = arguments.where.device;
  options.libraries = {arguments.where.cublas, arguments.where.cublaslt};
  return trial::run(*a, options);
}

int serve_neighbour(int device, std::uint64_t leave_free) {
  return neighbour::serve(device, leave_free);
}

int serve_probe(const target& where) {
  return probe_stack(where);
}

}  // namespace cufault
