// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Numbers: work on another stream writes to the same workspace meanwhile.
// Why          A workspace belongs to one handle and one stream at a time.
// Documented   cuBLAS documentation, cublasSetWorkspace and cublasSetStream.
#include "cases/faults/given_workspace.hpp"
#include "kernels/faults.hpp"

namespace cufault {
namespace {

void write_to_workspace_meanwhile(world& w) {
  constexpr std::size_t bytes = 32 << 20;
  constexpr unsigned milliseconds = 200;
  void* const memory = give_workspace(w, bytes);
  CUFAULT_REQUIRE(launch_scribble(memory, bytes, milliseconds, w.keep<own_stream>().get()));
}

const register_fault here{[] {
  fault_type f = of_given_workspace("shared_workspace", "other work writes to the workspace meanwhile",
                                    write_to_workspace_meanwhile);
  f.undefined = "the other work may write before, between or behind the operation's kernels";
  return f;
}()};

}  // namespace
}  // namespace cufault
