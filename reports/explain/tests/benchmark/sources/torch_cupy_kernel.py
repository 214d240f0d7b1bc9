# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy
import torch

source = r"""
extern "C" __global__ void blur(const float* in, float* out, long long rows) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * rows];
}"""
blur = cupy.RawKernel(source, "blur")
image = torch.rand(512, 512, device="cuda")
out = torch.empty_like(image)
blur((1024,), (256,), (image.data_ptr(), out.data_ptr(), cupy.int64(1 << 22)))
weights = torch.rand(512, 512, device="cuda")
result = out @ weights
print(result.mean().item())
