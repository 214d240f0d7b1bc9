// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// A kernel of another process on the same GPU fails or does not end: time-sliced, or both processes clients of one MPS server.
// Documented   Multi-Process Service, introduction: without it, processes take turns on the GPU, each in its own context. Error
//              containment: a fatal fault of one client can end all clients of the GPU.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_faults here{
    // What fails   None of the 11 operations that were tried, cold and warm.
    // Why          Another process has its own context, to which the error belongs.
    beside_failing(device_fault::trap, {.name = "neighbour_trap",
                                        .summary = "a kernel of another process on the GPU trapped",
                                        .kind = "neighbour",
                                        .quick_operation = "sgemm_64"}),
    // What fails   None of the 11 operations that were tried, warm.
    // Why          As with neighbour_trap.
    beside_failing(device_fault::illegal_address,
                   {.name = "neighbour_illegal_address",
                    .summary = "a kernel of another process on the GPU stored outside of every allocation",
                    .kind = "neighbour",
                    .quick_operation = "cublas_create"}),
    // What fails   None of the 7 operations that were tried, warm; each was complete while the kernel of the other process still ran.
    // Why          Both processes take turns on the GPU.
    beside_hanging({.name = "neighbour_hang",
                    .summary = "a kernel of another process occupies the GPU",
                    .kind = "neighbour",
                    .quick_operation = "gemm_ex_half"}),
    // What fails   Each of the 11 operations that were tried, or the next call: the context is damaged as by a trap of its own.
    // Why          Clients of one MPS server share what an error damages.
    beside_failing(device_fault::trap, {.name = "mps_neighbour_trap",
                                        .summary = "a kernel of another client of the MPS server trapped",
                                        .kind = "mps",
                                        .quick_operation = "sgemm_64"}),
    // What fails   Each of the 11 operations that were tried, or the next call, warm, after a synchronisation: the context is damaged as by
    //              an illegal address of its own.
    // Why          As with mps_neighbour_trap.
    beside_failing(
        device_fault::illegal_address,
        {.name = "mps_neighbour_illegal_address",
         .summary = "a kernel of another client of the MPS server stored outside of every allocation",
         .kind = "mps",
         .quick_operation = "lt_matmul"}),
    // What fails   None of the 6 operations that were tried, warm; when each was complete, the kernel of the other client had ended.
    // Why          Not measured.
    // Documented   Multi-Process Service, provisioning: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE limits the part of the GPU that a client can occupy.
    beside_hanging({.name = "mps_neighbour_hang",
                    .summary = "a kernel of another client of the MPS server occupies the GPU",
                    .kind = "mps",
                    .quick_operation = "dot_host"})};

}  // namespace
}  // namespace cufault
