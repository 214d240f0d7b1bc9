# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

add = cp.RawKernel(r"""
extern "C" __global__ void add(const float* a, const float* b, float* c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}""", "add")
n = 1 << 20
a, b, c = cp.ones(n, cp.float32), cp.ones(n, cp.float32), cp.empty(n, cp.float32)
add((n // 2048,), (2048,), (a, b, c))
print(float(c.sum()))
