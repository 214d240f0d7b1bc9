// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// The workspace of a handle: none, too small, freed, misaligned, or written by others. Documented, unless stated otherwise, in the cuBLAS
// documentation, cublasSetWorkspace.
#include "harness/kit/device_block.hpp"
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <cstddef>
#include <string>

namespace cufault {
namespace {

/// Gives the handle a workspace of this size from the program until the cell ends. Returns its address.
void* give_workspace(world& w, std::size_t bytes) {
  void* const address = w.keep<device_block>(bytes).address();
  CUFAULT_REQUIRE(cublasSetWorkspace(w.handle(), address, bytes));
  w.keep<stream_given_back>(w.handle());
  return address;
}

/// A fault of such a workspace, which its `provoke` sets.
fault_type of_given_workspace(fault_type f) {
  f.kind = "workspace";
  f.cells = isolation::undone;
  f.acts_on = {own_handle::cublas};
  f.no_sense_with = [](const operation_type& o) -> std::string {
    return o.name == "cublas_destroy" ? "it destroys the handle" : "";
  };
  return f;
}

constexpr std::size_t usual_bytes = 32 << 20;

const register_faults here{
    // What fails   With cuBLAS 13.1.0 on an H200: reductions, with NOT_SUPPORTED or EXECUTION_FAILED; cublasStrsmBatched does not return
    //              within 30 s. Products are right.
    // Why          Algorithms that need more workspace are not used.
    of_given_workspace({.name = "no_workspace",
                        .summary = "a workspace of no bytes was set",
                        .provoke = [](world& w) { give_workspace(w, 0); }}),
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          As with no_workspace.
    of_given_workspace({.name = "small_workspace",
                        .summary = "a workspace of 4 KiB was set",
                        .provoke = [](world& w) { give_workspace(w, 4 << 10); }}),
    // What fails   Nothing that was tried, with cuBLAS 13.1.0 on an H200. memory.user_workspace looks at one product more closely.
    // Why          Kernels may read and write a workspace in pieces of up to 16 bytes, or by descriptors that need more.
    // Documented   cuBLAS documentation, cublasSetWorkspace: the address must be aligned to 256 bytes.
    of_given_workspace({.name = "misaligned_workspace",
                        .summary = "the workspace that the program gave is not aligned",
                        .levels = {1, 16},
                        .unit = "bytes off 256 bytes' alignment",
                        .provoke =
                            [](world& w) {
                              auto* const aligned =
                                  static_cast<std::byte*>(w.keep<device_block>(usual_bytes + 256).address());
                              w.keep<stream_given_back>(w.handle());
                              if (cublasSetWorkspace(w.handle(), aligned + w.level(), usual_bytes) !=
                                  CUBLAS_STATUS_SUCCESS)
                                throw not_provoked("cublasSetWorkspace does not take it");
                            }}),
    // What fails   Numbers: work on another stream writes to the same workspace meanwhile.
    // Why          A workspace belongs to one handle and one stream at a time.
    // Documented   cuBLAS documentation, cublasSetWorkspace and cublasSetStream.
    of_given_workspace(
        {.name = "shared_workspace",
         .summary = "other work writes to the workspace meanwhile",
         .undefined = "the other work may write before, between or behind the operation's kernels",
         .provoke =
             [](world& w) {
               constexpr unsigned milliseconds = 200;
               void* const memory = give_workspace(w, usual_bytes);
               CUFAULT_REQUIRE(
                   launch_scribble(memory, usual_bytes, milliseconds, w.keep<own_stream>().get()));
             }}),
    // What fails   Operations by a handle after the program freed its workspace.
    // Why          The handle keeps the address.
    // Documented   cuBLAS documentation, cublasSetWorkspace: the memory must stay until the handle's work is done.
    {.name = "freed_workspace",
     .summary = "the workspace that the program gave was freed",
     .kind = "workspace",
     .undefined = "the address may be another allocation's by now",
     .acts_on = {own_handle::cublas},
     .provoke =
         [](world& w) {
           void* memory = nullptr;
           CUFAULT_REQUIRE(cudaMalloc(&memory, usual_bytes));
           CUFAULT_REQUIRE(cublasSetWorkspace(w.handle(), memory, usual_bytes));
           CUFAULT_REQUIRE(cudaFree(memory));
         }},
    // What fails   With cuBLAS 13.1.0 on an H200: reductions and cublasStrsmBatched. Products are right.
    // Why          The variable leaves the library no workspace of its own.
    // Documented   cuBLAS documentation, CUBLAS_WORKSPACE_CONFIG.
    {.name = "workspace_config_none",
     .summary = "CUBLAS_WORKSPACE_CONFIG=:0:0",
     .kind = "workspace",
     .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":0:0"}},
     .cells = isolation::undone},
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          The variable cannot be read.
    // Documented   cuBLAS documentation, CUBLAS_WORKSPACE_CONFIG: pairs of a size and a count.
    {.name = "workspace_config_malformed",
     .summary = "CUBLAS_WORKSPACE_CONFIG that is no pair of numbers",
     .kind = "workspace",
     .environment = {{"CUBLAS_WORKSPACE_CONFIG", "many"}},
     .cells = isolation::undone}};

}  // namespace
}  // namespace cufault
