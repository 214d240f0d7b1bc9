// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the state that makes each further cublasCreate fail is in the libraries.
// Expected to help because  libraries that are loaded anew initialise themselves again.
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "load_and_unload",
                            .words = "unload cuBLAS, load it again, then again by a new handle",
                            .answers = {"failed_create", "driver_call", "dead_context"},
                            .after =
                                [](world& w) {
                                  if (!unload_cublas())
                                    throw not_provoked("the loader keeps cuBLAS: it cannot be loaded anew");
                                  CUFAULT_REQUIRE(load_cublas(w.of_trial().libraries()));
                                },
                            .new_operation = true,
                            .own_process = true}};

}  // namespace
}  // namespace cufault
