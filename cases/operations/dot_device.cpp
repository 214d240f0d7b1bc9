// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSdot with its result in device memory.
#include "cases/operations/vector_result.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "dot_device",
                               .step = {"cublasSdot", "device_result"},
                               .summary = "cublasSdot, its result on the device",
                               .fresh = fresh_vector_result(CUBLAS_POINTER_MODE_DEVICE, dot)}};

}  // namespace
}  // namespace cufault::operations
