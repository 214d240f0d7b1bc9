// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/operation_facts.hpp"

#include "harness/injection/preloaded.hpp"
#include "harness/injector/driver_functions.hpp"
#include "harness/kit/device_block.hpp"
#include "harness/trial/observe.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cufault/cufault_injector.h"

namespace cufault::sweeping {
namespace {

bool launches_a_kernel(std::string_view called) {
  const auto function = injector::without_suffix(called);
  return function.starts_with("cuLaunch") && function != "cuLaunchHostFunc";
}

/// Makes and checks the operation; adds facts of its resources. `log`: a file that does not exist yet.
status_record with_facts(operation& o, const std::filesystem::path& log) {
  CUFAULT_PRELOADED(cufault_set_log)(log.c_str());
  const std::int64_t before = bytes_held();
  hold(log_all());
  status_record made = o.make();
  hold(nullptr);
  const std::int64_t taken = bytes_held() - before;
  CUFAULT_PRELOADED(cufault_set_log)("/dev/null");
  if (!made.ok) return made;
  status_record proved = record_of(o.check());
  proved.facts = facts_of(program_sweep::read_log(log), taken);
  return proved;
}

constexpr std::size_t workspace_bytes = 32 << 20;
constexpr int untouched = 0xa5;

bool was_written(const device_block& workspace) {
  std::vector<unsigned char> now(workspace_bytes);
  CUFAULT_REQUIRE(cudaMemcpy(now.data(), workspace.address(), now.size(), cudaMemcpyDeviceToHost));
  return std::any_of(now.begin(), now.end(), [](unsigned char byte) { return byte != untouched; });
}

status_record with_a_workspace(operation& o, const device_block& workspace) {
  status_record made = o.make();
  if (!made.ok) return made;
  return record_of(o.check()).with("workspace_used", was_written(workspace));
}

}  // namespace

fact_map facts_of(const program_sweep::run_log& log, std::int64_t bytes_taken) {
  const auto launches = std::ranges::count_if(
      log.order, [&](std::size_t place) { return launches_a_kernel(log.sites[place].site.function); });
  return {{"driver_calls", static_cast<std::int64_t>(log.order.size())},
          {"kernels", launches},
          {"memory_taken", bytes_taken}};
}

void tell_facts(trial& t, const operation_type& of) {
  hold(nullptr);
  if (of.needs_context) t.open_context();
  {
    const auto o = of.fresh();
    for (const char* state : {"cold", "warm"}) {
      o->prepare();
      o->enter();
      observe_call(of.step, [&] { return with_facts(*o, t.scratch() / state); });
    }
  }
  if (of.handle != own_handle::cublas) return;
  const device_block workspace(workspace_bytes);  // must outlive the handle
  const auto o = of.fresh();
  o->prepare();
  CUFAULT_REQUIRE(cudaMemset(workspace.address(), untouched, workspace_bytes));
  CUFAULT_REQUIRE(cublasSetWorkspace(o->handle(), workspace.address(), workspace_bytes));
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  o->enter();
  observe_call(of.step, [&] { return with_a_workspace(*o, workspace); });
}

}  // namespace cufault::sweeping
