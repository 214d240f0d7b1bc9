# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

kernel = cp.RawKernel(r"""
extern "C" __global__ void stencil(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  long long at = (long long)y * width * 65536 + x;
  out[at] = in[at] * 0.5f;
}""", "stencil")
image = cp.random.rand(1024, 1024, dtype=cp.float32)
out = cp.zeros_like(image)
kernel((64, 64), (16, 16), (image, out, cp.int32(1024), cp.int32(1024)))
smoothed = out @ image
print(float(smoothed.sum()))
