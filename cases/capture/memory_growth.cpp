// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Reported: device memory that every graph with a captured product takes anew, and keeps as long as it lives.
// Why          Documented: without a workspace of the caller, cuBLAS may record an allocation and a release into the graph. That may take
//              device memory once for all graphs of a stream, or for each of them.
// Documented   cuBLAS documentation, CUDA Graphs Support: captured routines may create memory nodes; cublasSetWorkspace avoids it. CUDA
//              Programming Guide, graph memory nodes: graphs that cannot run at the same time may share allocations. Reported:
//              pytorch#83461 and #85447; said to be fixed in CUDA 12.2: pytorch#124250.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: once. Of 16 graphs without a workspace of the caller, the 15 after the first take no
//              memory.
// What helps   Documented: cublasSetWorkspace before the capture, after cublasSetStream. Nodes and their other restrictions:
//              capture.memory_nodes.
#include "cases/capture/recording.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

constexpr int graphs = 16;

/// Device memory taken by all graphs but the first. The graphs are kept.
std::size_t taken_by_graphs(recording& r) {
  std::size_t with_one = 0;
  for (int i = 0; i < graphs; ++i) {
    begin(r);
    CUFAULT_REQUIRE(captured_sgemm(r));
    CUFAULT_REQUIRE(cudaStreamEndCapture(r.stream, &r.graph));
    CUFAULT_REQUIRE(cudaGraphInstantiate(&r.executable, r.graph));
    CUFAULT_REQUIRE(replay(r));
    if (i == 0) with_one = free_device_memory();
  }
  const std::size_t with_all = free_device_memory();
  return with_one > with_all ? with_one - with_all : 0;
}

/// A product, a workspace of the caller for it, and the memory that graphs take without that workspace.
struct growth {
  recording r{long_extents};
  std::size_t by_themselves = 0;

  explicit growth(trial& t) {
    warm_up(r);
    give_workspace(r);
    by_themselves = taken_by_graphs(r);
    t.measure("taken by graphs in the caller's workspace", static_cast<double>(by_themselves), "bytes");
  }
};

status_record memory_of_graphs(trial& t, growth& g) {
  const std::size_t taken = taken_by_graphs(g.r);
  t.measure("taken by as many later graphs", static_cast<double>(taken), "bytes");
  constexpr std::size_t less_than_any_workspace = 1_MiB;
  return taken >= g.by_themselves + (graphs - 1) * less_than_any_workspace
             ? status_record{.status = "MEMORY_GROWS", .ok = false}
             : status_record{};
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  growth g(t);
  CUFAULT_OBSERVE_AS("check.graph_memory", "", memory_of_graphs(t, g));
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(g.r));
}

// ---- fault and remedy ----

void without_workspace(trial& t, growth& g) {
  CUFAULT_OBSERVE(cublasSetStream(g.r.handle, g.r.stream));  // drops the caller's workspace
  CUFAULT_OBSERVE_AS("check.graph_memory", "", memory_of_graphs(t, g));
}

void many_graphs(trial& t) {
  t.open_context();
  growth g(t);
  without_workspace(t, g);
}

void set_workspace(trial& t) {
  t.open_context();
  growth g(t);
  without_workspace(t, g);
  t.apply("cublasSetWorkspace before the captures");
  give_workspace(g.r);
  CUFAULT_OBSERVE_AS("check.graph_memory", "", memory_of_graphs(t, g));
  CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(g.r));
}

// ---- the case ----

void memory_growth(failure_case& c) {
  c.control("16 graphs and 16 more in the caller's workspace", control);
  c.fault("many_graphs", "16 graphs without a workspace of the caller's", many_graphs);
  c.remedy("set_workspace", "cublasSetWorkspace before the captures", set_workspace);
}

const register_case here("capture.memory_growth",
                         "device memory that grows with every graph of a captured product", {"F-CAP-02"},
                         memory_growth);

}  // namespace
}  // namespace cufault
