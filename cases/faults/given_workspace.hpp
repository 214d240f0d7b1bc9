// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/device_block.hpp"
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace cufault {

/// The handle has a workspace of so many bytes from the program, until the cell is over. Returns its address.
inline void* give_workspace(world& w, std::size_t bytes) {
  void* const address = w.keep<device_block>(bytes).address();
  CUFAULT_REQUIRE(cublasSetWorkspace(w.handle(), address, bytes));
  w.keep<stream_given_back>(w.handle());
  return address;
}

/// A fault of such a workspace. `provoke` gives it.
inline fault_type of_given_workspace(std::string name, std::string summary,
                                     std::function<void(world&)> provoke) {
  fault_type f;
  f.name = std::move(name);
  f.summary = std::move(summary);
  f.kind = "workspace";
  f.cells = isolation::undone;
  f.acts_on = {own_handle::cublas};
  f.no_sense_with = [](const operation_type& o) -> std::string {
    return o.name == "cublas_destroy" ? "it destroys the handle" : "";
  };
  f.provoke = std::move(provoke);
  return f;
}

}  // namespace cufault
