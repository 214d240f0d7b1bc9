// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations by a handle whose stream was destroyed.
// Why          The handle keeps the stream's name, and is not told.
// Documented   CUDA Runtime API, cudaStreamDestroy: using it afterwards is undefined.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <string>

namespace cufault {
namespace {

const register_fault here{{.name = "destroyed_stream",
                           .summary = "the stream of the handle was destroyed",
                           .kind = "stream",
                           .undefined = "what was the stream is free memory",
                           .acts_on = {own_handle::cublas},
                           .no_sense_with = [](const operation_type& o) -> std::string {
                             return o.uses_private_stream ? "it runs on a stream of its own" : "";
                           },
                           .provoke =
                               [](world& w) {
                                 cudaStream_t stream = nullptr;
                                 CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
                                 CUFAULT_REQUIRE(cublasSetStream(w.handle(), stream));
                                 CUFAULT_REQUIRE(cudaStreamDestroy(stream));
                               }}};

}  // namespace
}  // namespace cufault
