// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried, with cuBLAS 13.1.0 on an H200. memory.user_workspace looks at one product more closely.
// Why          Kernels may read and write a workspace in pieces of up to 16 bytes, or by descriptors that need more.
// Documented   cuBLAS documentation, cublasSetWorkspace: the address must be aligned to 256 bytes.
#include "cases/faults/given_workspace.hpp"

namespace cufault {
namespace {

void give_misaligned(world& w) {
  constexpr std::size_t bytes = 32 << 20, alignment = 256;
  auto* const aligned = static_cast<std::byte*>(w.keep<device_block>(bytes + alignment).address());
  w.keep<stream_given_back>(w.handle());
  if (cublasSetWorkspace(w.handle(), aligned + w.level(), bytes) != CUBLAS_STATUS_SUCCESS)
    throw not_provoked("cublasSetWorkspace does not take it");
}

const register_fault here{[] {
  fault_type f = of_given_workspace("misaligned_workspace",
                                    "the workspace that the program gave is not aligned", give_misaligned);
  f.levels = {1, 16};
  f.unit = "bytes off 256 bytes' alignment";
  return f;
}()};

}  // namespace
}  // namespace cufault
