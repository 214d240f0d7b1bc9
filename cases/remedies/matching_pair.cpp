// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S0-3 (a compatible version) and threads of F-ENV-01.
// Expected to help because  functions that cuBLAS calls in cuBLASLt may be missing or different in another version.
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "matching_pair",
                            .words = "again in a new process, with the cuBLASLt that belongs to the cuBLAS",
                            .answers = {"pair"},
                            .new_process = true,
                            .at_restart = [](trial& t) { CUFAULT_REQUIRE(load_cublas(t.libraries())); }}};

}  // namespace
}  // namespace cufault
