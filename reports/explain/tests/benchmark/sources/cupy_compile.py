# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

kernel = cp.RawKernel(r"""
extern "C" __global__ void scale(float* x, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x
  x[i] *= factor;
}""", "scale")
x = cp.ones(256, dtype=cp.float32)
kernel((1,), (256,), (x, cp.float32(2)))
print(x.sum())
