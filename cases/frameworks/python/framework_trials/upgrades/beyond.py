# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""More than 2^31 elements, bytes, rows or a span of them: at the first size that can fail, and beforehand at the last one that cannot.
Whole numbers, exact in the type."""
from __future__ import annotations

from typing import Any, Callable, Dict, List

import torch

from framework_trials.cells import World
from framework_trials.pytorch_canaries import needs
from framework_trials.pytorch_numbers import same
from framework_trials.upgrades.ground import Seen, Step, beside, cycle, exactly, sized

E = 1 << 31
SEVEN, ELEVEN, THIRTEEN = range(-3, 4), range(-5, 6), range(-6, 7)
HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32


def outer(call: Callable[..., torch.Tensor], dtype: torch.dtype, size: int, batched: bool = True, added: bool = False) -> Callable[[World, int], Seen]:
    """Products of a column and a row: a batch of them of 512x512, or one of rows x 32768; and what is added to them."""

    def work(world: World, rows: int) -> Seen:
        needs(world, rows * size * (2 if added else 1) // (1 << 30) + 6)
        a = cycle(world, (rows, 512, 1) if batched else (rows, 1), SEVEN, dtype)
        b = cycle(world, (rows, 1, 512) if batched else (1, 32768), ELEVEN, dtype)
        c = [cycle(world, (rows, 512, 512) if batched else (32768,), THIRTEEN, dtype)] if added else []
        facts: Dict[str, Any] = {}

        def wanted(first: int, last: int) -> torch.Tensor:
            numbers = a[first:last] * (b[first:last] if batched else b)
            return numbers + (c[0][first:last] if batched else c[0]) if c else numbers

        with beside(world, rows * size, facts):
            right = exactly(call(*c, a, b), wanted)
        return right, facts

    return work


def rows_far_apart(world: World, rows: int) -> Seen:
    """A matrix whose rows are 2^27 elements apart, in a storage that is full."""
    needs(world, 10)
    apart = E >> 4
    storage = cycle(world, (17 * apart,), SEVEN, HALF)
    a, b = storage.as_strided((rows, 64), (apart, 1)), cycle(world, (64, 64), ELEVEN, HALF)
    numbers = (torch.arange(rows)[:, None] * apart + torch.arange(64)) % 7 - 3
    return same(a @ b, numbers.double() @ b.cpu().double())


BATCH, ROWS = E >> 18, E >> 15

ARMS: Dict[str, List[Step]] = {
    "bmm_outer": sized("torch.bmm", "fp32_outer_8192x512x512", outer(torch.bmm, SINGLE, 1 << 20), BATCH, BATCH - 1),
    "mm_of_rows_far_apart": sized("torch.matmul", "fp16_17_rows_134217728_apart", rows_far_apart, 17, 16),
}
