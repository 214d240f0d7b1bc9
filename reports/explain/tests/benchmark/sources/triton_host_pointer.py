# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def relu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.maximum(value, 0.0), mask=at < n)


x = torch.randn(4096)
out = torch.empty(4096, device="cuda")
relu[(4,)](x, out, 4096, BLOCK=1024)
print(out.mean().item())
