# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
void run(torch::Tensor x) { twice<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel()); }
"""
twice = load_inline("twice", cpp_sources="void run(torch::Tensor x);", cuda_sources=source, functions=["run"], build_directory=".")
x = torch.ones(10, device="cuda")
twice.run(x)
print(x)
