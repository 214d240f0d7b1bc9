// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA runtime that launch_probe.cpp calls (fake_cudart.cpp).
#pragma once

#include <cstddef>

struct dim3 {
  unsigned x, y, z;
};

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): the names are those of the runtime
extern "C" {
int cudaMalloc(void** pointer, std::size_t bytes);
int cudaEventQuery(void* event);
int cudaGetLastError();
int cudaPeekAtLastError();
int cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                     void* stream);
int __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                       void* stream);
int __cudaLaunchKernel_ptsz(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                            void* stream);
}
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
