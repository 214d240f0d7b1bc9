// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          Each takes device memory, and host memory.
// Documented   cuBLAS documentation, cublasCreate: it allocates.
#include "harness/matrix/world.hpp"

#include <cublas_v2.h>

#include <vector>

namespace cufault {
namespace {

const register_fault here{{.name = "leaked_handles",
                           .summary = "the program leaked 256 handles",
                           .kind = "handles",
                           .cells = isolation::lasting,
                           .memory = memory_class::exclusive,
                           .provoke = [](world& w) {
                             auto& leaked = w.keep<std::vector<cublasHandle_t>>();
                             const auto leak = [&leaked] {
                               for (cublasHandle_t handle = nullptr; leaked.size() < 256;) {
                                 if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) break;
                                 leaked.push_back(handle);
                               }
                             };
                             leak();
                             w.of_trial().measure("handles leaked", static_cast<double>(leaked.size()),
                                                  "handles");
                             w.renew_by(leak);
                             w.undo_by([&leaked] {
                               for (cublasHandle_t each : leaked) cublasDestroy(each);
                               leaked.clear();
                             });
                           }}};

}  // namespace
}  // namespace cufault
