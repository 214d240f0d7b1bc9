// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The libcublasLt that fake_blas.cpp calls.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" __attribute__((visibility("default"))) int cublasLtMatmul(void*, void*, const void*, const void*,
                                                                     void*, const void*, void*, const void*,
                                                                     const void*, void*, void*, void*,
                                                                     const void*, void*, std::size_t, void*) {
  return 0;
}

/// A layout is five numbers here: type, order, rows, columns, leading dimension.
extern "C" __attribute__((visibility("default"))) int cublasLtMatrixLayoutGetAttribute(
    const std::int64_t* layout, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  if (attribute < 0 || attribute > 4) return 7;
  std::memcpy(value, layout + attribute, *written = bytes);
  return 0;
}
