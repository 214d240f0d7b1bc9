// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          A thread has a current device of its own, and cuBLAS handles may be used by several, one at a time.
// Documented   cuBLAS documentation, thread safety.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <exception>
#include <thread>

namespace cufault {
namespace {

const register_fault here{{.name = "other_thread",
                           .summary = "by another thread than the one that made the handle",
                           .kind = "thread",
                           .cells = isolation::undone,
                           .around = [](world& w, const std::function<void()>& operate) {
                             std::exception_ptr thrown;
                             std::thread([&, device = w.of_trial().device()] {
                               try {
                                 CUFAULT_REQUIRE(cudaSetDevice(device));
                                 operate();
                               } catch (...) {
                                 thrown = std::current_exception();
                               }
                             }).join();
                             if (thrown) std::rethrow_exception(thrown);
                           }}};

}  // namespace
}  // namespace cufault
