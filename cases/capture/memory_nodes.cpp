// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What is done with a graph into which products were captured: adding it to another graph, launching it from the device,
//              instantiating it twice. What such graphs do to device memory: capture.memory_growth.
// Why          As documented: without a workspace of the caller's, cuBLAS may record into the graph that it allocates one and frees it,
//              and graphs with such memory nodes are restricted.
// Documented   cuBLAS documentation, CUDA Graphs Support: captured routines may create memory nodes, and then fail in child graphs and in
//              graphs launched from the device; cublasSetWorkspace avoids it. CUDA Runtime API, cudaGraphAddMemAllocNode,
//              cudaGraphAddChildGraphNode and cudaGraphInstantiate: one instantiation at a time, no child graph, no launch from the
//              device. Reported: pytorch#124250, cudarc#595, entrenar#325, TornadoVM#1015.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: a captured cublasSgemm has a node that allocates and one that frees, of 3 MiB
//              with a long k and of 420 KiB in a small product. Such a graph is cudaErrorNotSupported as a child and in a second instantiation, cudaErrorInvalidValue for
//              launch from the device. In the caller's workspace there are no such nodes, and all of that works.
// What helps   Documented: cublasSetWorkspace before the capture, after cublasSetStream.
#include "cases/capture/recording.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"

#include <array>
#include <string>
#include <vector>

namespace cufault {
namespace {

struct graph_nodes {
  std::size_t kernels = 0, allocations = 0, frees = 0;
  std::size_t bytes = 0;  ///< that the allocations ask for
};

fact_map facts_of(const graph_nodes& found) {
  return {{"allocation_nodes", static_cast<std::int64_t>(found.allocations)},
          {"free_nodes", static_cast<std::int64_t>(found.frees)}};
}

/// Succeeds without memory nodes.
status_record record_of(const graph_nodes& found) {
  const bool none = found.allocations + found.frees == 0;
  return {.status = none ? "" : "MEMORY_NODES", .ok = none, .facts = facts_of(found)};
}

graph_nodes nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  CUFAULT_REQUIRE(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CUFAULT_REQUIRE(cudaGraphGetNodes(graph, nodes.data(), &count));
  graph_nodes found;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    CUFAULT_REQUIRE(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel) ++found.kernels;
    if (type == cudaGraphNodeTypeMemFree) ++found.frees;
    if (type != cudaGraphNodeTypeMemAlloc) continue;
    cudaMemAllocNodeParams asked{};
    CUFAULT_REQUIRE(cudaGraphMemAllocNodeGetParams(node, &asked));
    ++found.allocations;
    found.bytes += asked.bytesize;
  }
  return found;
}

/// Tests the search for memory nodes on a captured allocation and its release.
status_record own_memory_nodes(recording& r) {
  void* memory = nullptr;
  begin(r);
  CUFAULT_REQUIRE(cudaMallocAsync(&memory, 1_MiB, r.stream));
  CUFAULT_REQUIRE(cudaFreeAsync(memory, r.stream));
  CUFAULT_REQUIRE(cudaStreamEndCapture(r.stream, &r.graph));
  const graph_nodes found = nodes_of(r.graph);
  const bool as_captured = found.allocations == 1 && found.frees == 1 && found.bytes >= 1_MiB;
  return {.status = as_captured ? "" : "MISCOUNTED", .ok = as_captured, .facts = facts_of(found)};
}

/// A graph with one product, and its nodes.
void capture_and_count(trial& t, recording& r) {
  begin(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  if (!end(r)) return;
  const graph_nodes found = CUFAULT_OBSERVE_AS("check.graph_memory_nodes", "", nodes_of(r.graph));
  t.measure("kernel nodes", static_cast<double>(found.kernels));
  t.measure("memory allocation nodes", static_cast<double>(found.allocations));
  t.measure("memory free nodes", static_cast<double>(found.frees));
  t.measure("bytes that the allocation nodes ask for", static_cast<double>(found.bytes), "bytes");
}

// ---- what a graph is used for ----

void as_child(recording& r) {
  cudaGraph_t parent = nullptr;
  cudaGraphNode_t node = nullptr;
  CUFAULT_REQUIRE(cudaGraphCreate(&parent, 0));
  if (CUFAULT_OBSERVE(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, r.graph)) != cudaSuccess) return;
  r.graph = parent;
  instantiate_and_replay(r);
}

/// Launched from the host, which such a graph also allows.
void for_the_device(recording& r) {
  if (CUFAULT_OBSERVE_AS(
          "cudaGraphInstantiate", "for_device_launch",
          cudaGraphInstantiate(&r.executable, r.graph, cudaGraphInstantiateFlagDeviceLaunch)) == cudaSuccess)
    CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(r));
}

void twice(recording& r) {
  instantiate_and_replay(r);
  instantiate_and_replay(r);
}

struct use {
  std::string name, words;
  void (*make)(recording&);
};
const std::array uses{use{"child_graph", "added to another graph", as_child},
                      use{"device_launch", "instantiated for launch from the device", for_the_device},
                      use{"instantiated_twice", "instantiated while it is instantiated", twice}};

void capture_and_use(recording& r, const use& what) {
  begin(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  if (end(r) && r.captured) what.make(r);
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  recording r(long_extents);
  CUFAULT_OBSERVE_AS("check.graph_memory_nodes", "own_allocation", own_memory_nodes(r));
  warm_up(r);
  give_workspace(r);
  capture_and_count(t, r);
  instantiate_and_replay(r);
  for (const use& what : uses) capture_and_use(r, what);
}

// ---- faults ----

void without_workspace(trial& t, const product_extents& extents) {
  recording r = warm_recording(t, extents);
  capture_and_count(t, r);
  if (r.graph != nullptr) instantiate_and_replay(r);
}

void used(trial& t, const use& what) {
  recording r = warm_recording(t, long_extents);
  capture_and_use(r, what);
}

// ---- remedies ----

constexpr const char* remedy = "cublasSetWorkspace before the capture";

void set_workspace(trial& t) {
  recording r = warm_recording(t, long_extents);
  capture_and_count(t, r);
  t.apply(remedy);
  give_workspace(r);
  capture_and_count(t, r);
  instantiate_and_replay(r);
}

void used_with_workspace(trial& t, const use& what) {
  recording r = warm_recording(t, long_extents);
  capture_and_use(r, what);
  t.apply(remedy);
  give_workspace(r);
  capture_and_use(r, what);
}

// ---- the case ----

void memory_nodes(failure_case& c) {
  c.control("a long product in the caller's workspace, and every use of its graph", control);

  c.fault("long_product", "a product with a long k, without a workspace of the caller's",
          [](trial& t) { without_workspace(t, long_extents); }, {"S0-6"});
  c.fault("small_product", "a small product, without a workspace of the caller's",
          [](trial& t) { without_workspace(t, small_extents); }, {"S0-6"});
  c.remedy("set_workspace", remedy, set_workspace);
  for (const use& what : uses) {
    c.fault(what.name, "the graph of a long product, " + what.words, [&what](trial& t) { used(t, what); });
    c.remedy("workspace_" + what.name, "cublasSetWorkspace before a capture whose graph is " + what.words,
             [&what](trial& t) { used_with_workspace(t, what); });
  }
  c.in_tier = {"control", "long_product", "child_graph", "set_workspace"};
  // The other arms leave a last error or memory of graphs.
  c.share_process_of({"control", "set_workspace"});
}

const register_case here(
    "capture.memory_nodes",
    "memory that captured products allocate when their graph runs, and what it makes impossible",
    {"F-CAP-02", "F-CAP-08"}, memory_nodes);

}  // namespace
}  // namespace cufault
