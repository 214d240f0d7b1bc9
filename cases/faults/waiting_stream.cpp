// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          Calls that copy a result to the host wait for it; others should return at once.
// Documented   cuBLAS documentation, asynchronous execution; scalar results on the host make a call wait.
#include "harness/kit/held_streams.hpp"
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <string>
#include <vector>

namespace cufault {
namespace {

const register_fault here{{.name = "waiting_stream",
                           .summary = "its stream does not go on for half a second",
                           .kind = "wait",
                           .cells = isolation::undone,
                           .acts_on = {own_handle::cublas},
                           .no_sense_with = [](const operation_type& o) -> std::string {
                             return o.uses_private_stream        ? "it runs on a stream of its own"
                                    : o.name == "cublas_destroy" ? "it destroys the handle"
                                                                 : "";
                           },
                           .provoke =
                               [](world& w) {
                                 const cudaStream_t stream = w.keep<own_stream>().get();
                                 CUFAULT_REQUIRE(cublasSetStream(w.handle(), stream));
                                 w.keep<stream_given_back>(w.handle());
                                 auto& held = w.keep<held_streams>(std::vector{stream}, 500U);
                                 w.undo_by([&held] { held.let_go(); });
                               }}};

}  // namespace
}  // namespace cufault
