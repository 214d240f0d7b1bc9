// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried, with cuBLAS 13.1.0 on an H200: the error that is left does not reach the calls behind it.
//              environment.wrong_code has the launch itself.
// Why          A kernel of the program has machine code for another GPU only: its launch fails, and leaves its error behind.
// Documented   CUDA Programming Guide, binary compatibility; CUDA Runtime API, cudaErrorNoKernelImageForDevice (209).
#include "cases/environment/other_code.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

struct cleared_behind_the_cell {
  cleared_behind_the_cell() = default;
  cleared_behind_the_cell(const cleared_behind_the_cell&) = delete;
  cleared_behind_the_cell& operator=(const cleared_behind_the_cell&) = delete;
  ~cleared_behind_the_cell() { cudaGetLastError(); }
};

const register_fault here{
    {.name = "foreign_code",
     .summary = "a kernel of the program is for another GPU, and nobody looked at the error of its launch",
     .kind = "last_error",
     .cells = isolation::undone,
     .provoke = [](world& w) {
       const code_library foreign(code_for_another);
       if (foreign.run().waited == cudaSuccess) throw not_provoked("this GPU runs the code");
       w.keep<cleared_behind_the_cell>();
     }}};

}  // namespace
}  // namespace cufault
