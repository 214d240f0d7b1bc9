# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, N: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, N, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        x = tl.load(a + rows[:, None] * N + inner[None, :])
        y = tl.load(b + inner[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


n = 1024
a, b = torch.randn(2, n, n, device="cuda", dtype=torch.float16)
c = torch.empty(n, n, device="cuda")
matmul[(n // 256, n // 256)](a, b, c, N=n, BLOCK=256, num_stages=5, num_warps=8)
print((c - a.float() @ b.float()).abs().max().item())
