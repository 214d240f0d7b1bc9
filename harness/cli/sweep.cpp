// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault sweep: arms of the cases sweep.OPERATION, by the names of the operations.
#include "harness/injection/sweep.hpp"

#include "harness/cli/cli.hpp"
#include "harness/cli/sweep.hpp"
#include "harness/injection/sweep_plan.hpp"
#include "reports/base/words.hpp"
#include "reports/printers/atlas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace cufault {
namespace {

/// "cublasCreate", "cublas_create" and "create" are the same.
std::string plain(std::string_view name) {
  constexpr std::string_view library = "cublas";
  std::string letters = in_lower_case(name);
  std::erase(letters, '_');
  return letters.starts_with(library) ? letters.substr(library.size()) : letters;
}

const failure_case& operation_called(const std::string& name) {
  const auto& cases = all_cases();
  const auto found = std::ranges::find_if(cases, [&](const failure_case& c) {
    return c.name.starts_with(sweep_family) && plain(c.name.substr(sweep_family.size())) == plain(name);
  });
  if (found != cases.end()) return *found;
  std::vector<std::string> known;
  for (const failure_case& c : cases)
    if (c.name.starts_with(sweep_family)) known.push_back(c.name.substr(sweep_family.size()));
  throw usage_error(known.empty() ? build_it_with_cuda
                                  : fmt::format("no operation is called {}{}; there are: {}", name,
                                                did_you_mean(name, known), fmt::join(known, " ")));
}

}  // namespace

int sweep_operations(const sweep_arguments& arguments) {
  run_arguments run = arguments.run;
  const auto [part, parts] = arguments.shard;
  if (!arguments.row.empty()) {
    try {
      static_cast<void>(sweeping::row_named(arguments.row));
    } catch (const setup_failed& error) {
      throw usage_error(fmt::format("--row {}", error.what()));
    }
  }
  run.names.clear();
  for (const std::string& asked : arguments.run.names) {
    const auto slash = asked.find('/');
    const std::string state = slash == std::string::npos ? "" : asked.substr(slash + 1);
    if (!state.empty() && state != "first" && state != "further")
      throw usage_error(fmt::format("{}: after the operation comes /first or /further", asked));
    if (state.empty() && !arguments.row.empty())
      throw usage_error(fmt::format("{}: a row is of /first or of /further; say which", asked));
    const std::string& name = operation_called(asked.substr(0, slash)).name;
    const std::string arm = arguments.depth == "thin"      ? thin_sweep
                            : arguments.depth == "grouped" ? grouped_sweep
                                                           : every_sweep;
    if (state != "first") run.names.push_back(name + "/" + arm);
    if (state != "further") run.names.push_back(fmt::format("{}/{}{}", name, first_of_process, arm));
  }
  // Records are of whole sweeps.
  if (parts > 1 || !arguments.row.empty()) run.baselines.clear();
  setenv(sweeping::shard_variable, fmt::format("{}/{}", part, parts).c_str(), 1);
  setenv(sweeping::row_variable, arguments.row.c_str(), 1);
  return run_cases(run);
}

}  // namespace cufault
