// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The libcublasLt that fake_blas.cpp calls.
#include <cstddef>

extern "C" __attribute__((visibility("default"))) int cublasLtMatmul(void*, void*, const void*, const void*,
                                                                     void*, const void*, void*, const void*,
                                                                     const void*, void*, void*, void*,
                                                                     const void*, void*, std::size_t, void*) {
  return 0;
}
