# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at.to(tl.int64) * stride, value * 2)


n = 1 << 16
x = torch.randn(n, device="cuda")
out = torch.empty_like(x)
scale[(n // 1024,)](x, out, n, 1 << 24, BLOCK=1024)
weights = torch.randn(256, 256, device="cuda")
print((out.view(256, 256) @ weights).sum().item())
