// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          Algorithms that need more than there is are left out.
// Documented   cuBLAS documentation, cublasSetWorkspace.
#include "cases/faults/given_workspace.hpp"

namespace cufault {
namespace {

const register_fault here{of_given_workspace("small_workspace", "a workspace of 4 KiB was set",
                                             [](world& w) { give_workspace(w, 4 << 10); })};

}  // namespace
}  // namespace cufault
