// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that repeat the work: at once, later, or with a new handle, operands, thread or type, or in a new process.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <chrono>
#include <thread>

namespace cufault {
namespace {

const register_remedies here{
    // Recommended by  S1-5 (catch the exception and carry on). Threads of F-MEM-01 say that it does not help while memory is full.
    // Expected to help because  only a single call may fail, or an earlier error may be reported once.
    {.name = "retry",
     .words = "again at once",
     .answers = {"memory", "pool", "dead_context", "last_error", "failed_create", "host_limit", "driver_call",
                 "driver", "mps"},
     .after = [](world&) {}},
    // Recommended by  this project, to see whether time alone makes the difference.
    // Expected to help because  memory may be freed by the driver or by another process meanwhile.
    {.name = "retry_later",
     .words = "again after 200 ms",
     .answers = {"memory", "dead_context", "last_error", "mps"},
     .after = [](world&) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }},
    // Recommended by  threads of F-LIF-05 and F-LIF-09. Threads of F-STK-01 and F-STK-02 say it does not help.
    // Expected to help because  state of the failure may be in the handle: its context, stream or workspace.
    {.name = "new_handle",
     .words = "again by a new handle",
     .answers = {"dead_context", "last_error", "reset", "context", "handle", "stream", "workspace", "memory",
                 "failed_create", "driver_call", "mps"},
     .new_operation = true},
    // Recommended by  this project, to see whether the freed operand alone makes the difference.
    // Expected to help because  the new operation reads and writes no memory that was freed.
    {.name = "new_operands",
     .words = "again with new operands, by a new handle",
     .answers = {"operand"},
     .new_operation = true},
    // Recommended by  the cuBLAS documentation (one handle for each thread) and threads of F-LIF-07.
    // Expected to help because  a thread then uses no stream, workspace or other setting that another thread changes.
    {.name = "handle_for_each_thread",
     .words = "again in another thread, by a handle that this thread makes",
     .answers = {"thread", "handle", "workspace"},
     .new_operation = true,
     .in_new_thread = true},
    // Recommended by  S0-9, S1-6 and S2-7 (smaller batches or tensors).
    // Expected to help because  it takes less memory and less workspace.
    {.name = "smaller",
     .words = "a smaller one of the kind, by a new handle",
     .answers = {"memory", "pool", "workspace"},
     .new_operation = true,
     .instead = &operation_type::smaller},
    // Recommended by  S0-9 (FP16); S0-16 says that it halves memory.
    // Expected to help because  operands in half precision take half the memory.
    {.name = "lower_precision",
     .words = "the same in half precision, by a new handle",
     .answers = {"memory", "pool", "workspace"},
     .new_operation = true,
     .instead = &operation_type::lower_precision},
    // Recommended by  threads of F-STK-02 and F-STK-04 (restart) and of F-LIF-02 (exec after fork).
    // Expected to help because  it has a new context and libraries that are not initialised yet.
    {.name = "new_process",
     .words = "again in a new process",
     .answers = {"dead_context", "fork", "reset", "failed_create", "context", "driver_call", "operand",
                 "mps"},
     .new_process = true}};

}  // namespace
}  // namespace cufault
