// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSdot with its result in host memory: the call waits for it.
#include "cases/operations/vector_result.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "dot_host",
                               .step = {"cublasSdot", "host_result"},
                               .summary = "cublasSdot, its result on the host",
                               .fresh = fresh_vector_result(CUBLAS_POINTER_MODE_HOST, dot),
                               .representative = true}};

}  // namespace
}  // namespace cufault::operations
