// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  the cuBLAS documentation (2.1.4 Results Reproducibility) and threads of F-NUM-03.
// Expected to help because  the handle has a workspace of its own, and its calls wait for no work of the first stream.
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "handle_for_each_stream",
                            .words = "again on another stream, by a handle of its own",
                            .answers = {"stream", "workspace", "wait"},
                            .new_operation = true,
                            .to_new = [](world& w) {
                              // It waits for the legacy stream, on which the operation is prepared.
                              CUFAULT_REQUIRE(
                                  cublasSetStream(w.handle(), w.keep<own_stream>(cudaStreamDefault).get()));
                              w.keep<stream_given_back>(w.handle());
                            }}};

}  // namespace
}  // namespace cufault
