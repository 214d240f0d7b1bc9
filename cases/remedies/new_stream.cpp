// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the destroyed stream alone makes the difference.
// Expected to help because  the handle then has a stream that exists.
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedy here{
    {.name = "new_stream",
     .words = "cublasSetStream() with a new stream, then again",
     .answers = {"stream"},
     .after = [](world& w) { CUFAULT_OBSERVE(cublasSetStream(w.handle(), w.keep<own_stream>().get())); }}};

}  // namespace
}  // namespace cufault
