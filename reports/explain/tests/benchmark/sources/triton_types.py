# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def dot(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at[:, None] * BLOCK + at[None, :])
    b = tl.load(y + at[:, None] * BLOCK + at[None, :])
    tl.store(out + at[:, None] * BLOCK + at[None, :], tl.dot(a, b))


x = torch.randn(32, 32, device="cuda", dtype=torch.float16)
y = torch.randn(32, 32, device="cuda", dtype=torch.float32)
out = torch.empty(32, 32, device="cuda")
dot[(1,)](x, y, out, BLOCK=32)
print(out.sum().item())
