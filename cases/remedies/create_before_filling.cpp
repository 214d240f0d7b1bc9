// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-MEM-01 and F-MEM-02.
// Expected to help because  the first handle loads code and allocates its workspace while there is memory.
#include "harness/kit/products.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

struct used_handle {
  used_handle() { CUFAULT_REQUIRE(product(handle)); }
  ~used_handle() { cublasDestroy(handle); }
  used_handle(const used_handle&) = delete;
  used_handle& operator=(const used_handle&) = delete;
  cublasHandle_t handle = new_handle();
};

const register_remedies here{{.name = "create_before_filling",
                              .words = "a handle that is made and used first, before memory is filled",
                              .answers = {"memory", "pool", "failed_create"},
                              .before = [](world& w) { w.keep<used_handle>(); }}};

}  // namespace
}  // namespace cufault
