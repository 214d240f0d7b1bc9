// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: reductions, with NOT_SUPPORTED or EXECUTION_FAILED; cublasStrsmBatched does not return within 30 s. Products are right.
// Why          Algorithms that need more than there is are left out.
// Documented   cuBLAS documentation, cublasSetWorkspace.
#include "cases/faults/given_workspace.hpp"

namespace cufault {
namespace {

const register_fault here{of_given_workspace("no_workspace", "a workspace of no bytes was set",
                                             [](world& w) { give_workspace(w, 0); })};

}  // namespace
}  // namespace cufault
