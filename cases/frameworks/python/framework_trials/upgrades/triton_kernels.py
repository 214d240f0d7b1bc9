# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton whose patterns were miscompiled: every program writes the same tile to a place of its own. Imported where one runs."""
# mypy: disable-error-code="no-untyped-def"
import triton
import triton.language as tl


@triton.jit
def three_dots(a, b, out, rows: tl.constexpr, inner: tl.constexpr, columns: tl.constexpr):
    i, j, k = tl.arange(0, rows), tl.arange(0, columns), tl.arange(0, inner)
    x = tl.load(a + i[:, None] * inner + k[None, :])
    own = tl.dot(x, tl.trans(x)).to(x.dtype)
    other = tl.dot(x, tl.trans(tl.load(b + j[:, None] * inner + k[None, :]))).to(x.dtype)
    at = tl.program_id(0) * rows * columns + i[:, None] * columns + j[None, :]
    tl.store(out + at, tl.dot(own, other) + tl.dot(tl.trans(own), other))


@triton.jit
def from_registers(a, b, out, n: tl.constexpr, parts: tl.constexpr, precision: tl.constexpr):
    i = tl.arange(0, n)
    total = tl.zeros((n, n), tl.float32)
    for part in tl.range(parts, num_stages=4):
        left = tl.load(a + i[:, None] * n * parts + (part * n + i)[None, :]) * 1.0
        total = tl.dot(left.to(b.dtype.element_ty), tl.load(b + (part * n + i)[:, None] * n + i[None, :]), total, input_precision=precision)
    tl.store(out + tl.program_id(0) * n * n + i[:, None] * n + i[None, :], total)


@triton.jit
def padded(x, out, rows: tl.constexpr, n: tl.constexpr):
    tile = tl.make_block_ptr(x, (rows, n), (n, 1), (0, 0), (n, n), (1, 0))
    i = tl.arange(0, n)
    found = tl.load(tile, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
    tl.store(out + tl.program_id(0) * n * n + i[:, None] * n + i[None, :], found)
