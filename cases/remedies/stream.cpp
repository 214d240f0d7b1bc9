// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that give the handle another stream.
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedies here{
    // Recommended by  this project, to see whether the destroyed stream alone makes the difference.
    // Expected to help because  the handle then has a stream that exists.
    {.name = "new_stream",
     .words = "cublasSetStream() with a new stream, then again",
     .answers = {"stream"},
     .after = [](world& w) { CUFAULT_OBSERVE(cublasSetStream(w.handle(), w.keep<own_stream>().get())); }},
    // Recommended by  this project, to see whether the destroyed stream alone makes the difference.
    // Expected to help because  the legacy stream cannot be destroyed.
    {.name = "legacy_stream",
     .words = "cublasSetStream(handle, 0), then again",
     .answers = {"stream"},
     .after = [](world& w) { CUFAULT_OBSERVE(cublasSetStream(w.handle(), nullptr)); }},
    // Recommended by  the cuBLAS documentation (2.1.4 Results Reproducibility) and threads of F-NUM-03.
    // Expected to help because  the handle has a workspace of its own, and its calls wait for no work of the first stream.
    {.name = "handle_for_each_stream",
     .words = "again on another stream, by a handle of its own",
     .answers = {"stream", "workspace", "wait"},
     .new_operation = true,
     .to_new = [](world& w) {
       // The stream waits for the legacy stream, on which the operation is prepared.
       CUFAULT_REQUIRE(cublasSetStream(w.handle(), w.keep<own_stream>(cudaStreamDefault).get()));
       w.keep<stream_given_back>(w.handle());
     }}};

}  // namespace
}  // namespace cufault
