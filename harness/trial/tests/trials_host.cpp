// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Runs trials in one process, as `cufault trials` does, on a fake GPU: trials_host PARENT CUBLAS [--gpu]
// Each arm leaves its process in another state.
#include "harness/system/process.hpp"
#include "harness/trial/observe.hpp"
#include "harness/trial/tests/fake_gpu.hpp"
#include "harness/trial/trials_server.hpp"
#include "kernels/product.hpp"

#include <cuda_runtime.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cufault {
namespace {

using fake_gpu::current;

constexpr std::size_t mib = std::size_t{1} << 20, gib = std::size_t{1} << 30;

/// A process that was reparented, so that it is none of the trial's children.
void leave_orphan() {
  const pid_t child = fork();
  if (child == 0) {
    if (fork() == 0)
      while (true) pause();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

/// Fewer bytes are free until the GPU has completed its work.
void free_at_synchronisation(std::size_t bytes) {
  current().used_memory += bytes;
  current().pending = [bytes] { current().used_memory -= bytes; };
}

/// Freed only at the second wait for the GPU.
void free_too_late(std::size_t bytes) {
  current().used_memory += bytes;
  current().pending = [bytes] { current().pending = [bytes] { current().used_memory -= bytes; }; };
}

failure_case health() {
  failure_case c;
  c.name = "road.health";
  c.summary = "what trials leave in the process that they share";
  const auto add = [&](const char* name, void (*leave)(), arm_kind kind = arm_kind::fault) {
    const auto body = [leave](trial& t) {
      cublasHandle_t handle = nullptr;
      t.measure("process", getpid());
      t.measure("last error before", cudaPeekAtLastError());
      CUFAULT_OBSERVE(cublasCreate(&handle));
      leave();
    };
    c.arms.push_back(arm{.name = name, .kind = kind, .body = body, .shares_process = true});
  };
  add(
      "nothing", [] {}, arm_kind::control);

  add("error", [] { cudaSetDevice(99); });
  add("no_driver", [] { current().of_initialisation = cudaErrorInsufficientDriver; });
  add("no_device", [] { current().of_initialisation = cudaErrorNoDevice; });
  add("error_fetched", [] {
    cudaSetDevice(99);
    cudaGetLastError();
  });
  add("refused_pools", [] { current().has_pools = false; });

  add("wrong_product", [] { current().product_is_right = false; });
  add("failing_product", [] { current().of_product = cudaErrorIllegalAddress; });
  add("failing_synchronisation", [] { current().of_synchronisation = cudaErrorLaunchFailure; });
  add("product_wrong_late", [] { current().pending = [] { current().product_is_right = false; }; });
  add("product_failing_late",
      [] { current().pending = [] { current().of_product = cudaErrorIllegalAddress; }; });
  add("product_mended", [] {
    current().product_is_right = false;
    bool right = true;
    CUFAULT_REQUIRE(prove_context(fresh_seed(), &right));
    if (right) throw setup_failed("the product was not wrong");
    current().product_is_right = true;
  });

  add("memory_200_mib", [] { current().used_memory += 200 * mib; });
  add("memory_256_mib", [] { current().used_memory += 256 * mib; });
  add("memory_more_than_256_mib", [] { current().used_memory += 256 * mib + 1; });
  add("memory_4_gib", [] { current().used_memory += 4 * gib; });
  add("memory_more_than_4_gib", [] { current().used_memory += 4 * gib + 1; });
  add("memory_of_others_freed", [] { current().used_memory -= 512 * mib; });
  add("memory_freed_late", [] { free_at_synchronisation(8 * gib); });
  add("memory_freed_too_late", [] { free_too_late(8 * gib); });
  add("memory_of_pool", [] { current().used_by_pool += 1; });
  add("memory_of_graphs", [] { current().used_by_graphs += 2; });
  add("memory_of_pool_freed_late", [] {
    current().used_by_pool += gib;
    current().pending = [] { current().used_by_pool -= gib; };
  });
  add("device", [] { cudaSetDevice(1); });
  add("device_set_back", [] {
    cudaSetDevice(1);
    cudaSetDevice(0);
  });

  add("variable_added", [] { setenv("ROAD_ADDED", "1", 1); });
  add("variable_changed", [] { setenv("ROAD_SET", "after", 1); });
  add("variable_removed", [] { unsetenv("ROAD_SET"); });
  add("variables_restored", [] {
    setenv("ROAD_ADDED", "1", 1);
    setenv("ROAD_SET", "after", 1);
    unsetenv("ROAD_ADDED");
    setenv("ROAD_SET", "before", 1);
  });

  add("orphan", leave_orphan);
  add("crash", [] {
    observe_call({"cublasSgemm", "crash"}, []() -> status_record {
      raise(SIGSEGV);
      return record_of(CUBLAS_STATUS_SUCCESS);
    });
  });

  // The same on the host alone.
  for (const char* name : {"nothing", "error", "no_driver", "no_device", "error_fetched", "wrong_product",
                           "failing_synchronisation", "memory_more_than_4_gib", "variable_changed"}) {
    arm host = *std::find_if(c.arms.begin(), c.arms.end(), [&](const arm& a) { return a.name == name; });
    host.name = std::string("host_") + name;
    host.needs = need::host;
    c.arms.push_back(host);
  }
  return c;
}

const register_case here{health()};

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  if (argc < 3) return 97;
  cufault::tie_to_parent(std::stoi(argv[1]));
  return cufault::serve_trials({.cublas = argv[2], .cublaslt = {}},
                               argc > 3 && std::string_view(argv[3]) == "--gpu");
}
