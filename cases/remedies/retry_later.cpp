// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether time alone makes the difference.
// Expected to help because  memory may be freed by the driver or by another process meanwhile.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <chrono>
#include <thread>

namespace cufault {
namespace {

const register_remedy here{
    {.name = "retry_later",
     .words = "again after 200 ms",
     .answers = {"memory", "dead_context", "last_error", "mps"},
     .after = [](world&) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }}};

}  // namespace
}  // namespace cufault
