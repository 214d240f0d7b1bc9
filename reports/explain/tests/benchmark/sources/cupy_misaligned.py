# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

kernel = cp.RawKernel(r"""
extern "C" __global__ void sum4(const float4* in, float* out) {
  float4 v = in[threadIdx.x];
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}""", "sum4")
samples = cp.arange(1025, dtype=cp.float32)
out = cp.empty(256, dtype=cp.float32)
kernel((1,), (256,), (samples[1:], out))
print(out[:4])
