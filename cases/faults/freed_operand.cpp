// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: the call succeeds in all cells but one. Behind large shapes of cublasSgemm (512 and more, where
//              one block holds all operands) the context ends with cudaErrorIllegalAddress. Behind most others the proof itself fails:
//              it reads the freed operand, with cudaErrorInvalidValue.
// Why          The call gets an address, and the kernel reads it later.
// Documented   CUDA Runtime API, cudaFree; cudaErrorIllegalAddress (700).
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <string>

namespace cufault {
namespace {

const register_fault here{
    {.name = "freed_operand",
     .summary = "an operand was freed before the call",
     .kind = "operand",
     .undefined = "of a small operand the memory stays mapped, with what others have there",
     .no_sense_with = [](const operation_type& o) -> std::string {
       return o.has_operand ? "" : "it has no operand that a fault could free";
     },
     .provoke = [](world& w) { CUFAULT_REQUIRE(cudaFree(w.of_cell().operand())); }}};

}  // namespace
}  // namespace cufault
