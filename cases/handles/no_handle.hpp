// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Substitutes for a handle in invalid_handle.cpp and failed_create.cpp.
#pragma once

#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <array>
#include <cstring>

namespace cufault {

/// Mapped memory without data of a library, larger than any handle: zeroed as by calloc, or garbage, as an uninitialised variable may point
/// to.
inline void* block_of(int byte) {
  alignas(64) static std::array<unsigned char, 1 << 20> block;
  std::memset(block.data(), byte, block.size());
  return block.data();
}

constexpr int zero_byte = 0, garbage_byte = 0xA5;

/// Without a device cublasCreate fails, with or without a driver.
inline arm& on_the_host(arm& a) {
  a.needs = need::host;
  a.environment["CUDA_VISIBLE_DEVICES"] = "-1";
  return a;
}

inline arm& racing_by_what_lies_there(arm& a) {
  a.races = "what the library finds in memory that is no handle, or no longer one, is chance";
  a.undefined = true;
  a.repeats = 5;
  return a;
}

/// Observes cublasSgemm. Not product(), which needs a GPU before that call. Without a GPU there are no operands.
inline void observe_sgemm(cublasHandle_t handle, const product_operands& on) {
  using shape = product_shape;
  const float one = 1, zero = 0;
  CUFAULT_OBSERVE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on.a,
                              shape::lda, on.b, shape::ldb, &zero, on.c, shape::ldc));
}

}  // namespace cufault
