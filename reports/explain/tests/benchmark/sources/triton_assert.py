# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
import triton
import triton.language as tl


@triton.jit
def lookup(table, index, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(index + at)
    tl.device_assert(row < ROWS, "row is not in the table")
    tl.store(out + at, tl.load(table + row, mask=row < ROWS))


table = torch.randn(100, device="cuda")
index = torch.arange(128, device="cuda")
out = torch.empty(128, device="cuda")
lookup[(1,)](table, index, out, ROWS=100, BLOCK=128)
product = out.view(8, 16) @ torch.ones(16, 4, device="cuda")
print(product.sum().item())
