// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that reload cuBLAS.
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedies here{
    // Recommended by  this project, to see whether the state that makes each further cublasCreate fail is in the libraries.
    // Expected to help because  libraries that are loaded anew initialise themselves again.
    {.name = "load_and_unload",
     .words = "unload cuBLAS, load it again, then again by a new handle",
     .answers = {"failed_create", "driver_call", "dead_context"},
     .after =
         [](world& w) {
           if (!unload_cublas()) throw not_provoked("the loader keeps cuBLAS: it cannot be loaded anew");
           CUFAULT_REQUIRE(load_cublas(w.of_trial().libraries()));
         },
     .new_operation = true,
     .own_process = true},
    // Recommended by  S0-3 (a compatible version) and threads of F-ENV-01.
    // Expected to help because  functions that cuBLAS calls in cuBLASLt may be missing or different in another version.
    {.name = "matching_pair",
     .words = "again in a new process, with the cuBLASLt that belongs to the cuBLAS",
     .answers = {"pair"},
     .new_process = true,
     .at_restart = [](trial& t) { CUFAULT_REQUIRE(load_cublas(t.libraries())); }}};

}  // namespace
}  // namespace cufault
