// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the programs of library_test.cpp call of cuBLAS (fake_blas.cpp).
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are those of cuBLAS
extern "C" {
int cublasCreate_v2(void** handle);
int cublasGetVersion_v2(void* handle, int* version);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                   const float*, float* c, int);
int cublasSgemm_v2_64(void*, int, int, std::int64_t, std::int64_t, std::int64_t, const float*, const float*,
                      std::int64_t, const float*, std::int64_t, const float*, float* c, std::int64_t);
int cublasGemmStridedBatchedEx(void*, int, int, int, int, int, const void*, const void*, int, int, long long,
                               const void*, int, int, long long, const void*, void*, int, int, long long, int,
                               int, int);
int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                 const void*, void*, int, int, int, int);
}
// NOLINTEND(readability-identifier-naming)
