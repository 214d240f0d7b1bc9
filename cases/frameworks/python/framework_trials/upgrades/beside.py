# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What is compared beside right and wrong: memory, rounding, strides and types, exceptions, bits."""
from __future__ import annotations

from typing import Callable, Dict, List

import torch

from framework_trials.cells import World
from framework_trials.pytorch_numbers import device_of
from framework_trials.upgrades.ground import Seen, Step


def raising(call: Callable[[torch.Tensor], object]) -> Callable[[World], Seen]:
    """With a matrix of 4x6; whatever it raises is compared."""

    def work(world: World) -> Seen:
        call(torch.ones(4, 6, device=device_of(world)))
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return None

    return work


ARMS: Dict[str, List[Step]] = {
    "errors": [
        Step("torch.matmul", "4x6_by_4x6", raising(lambda x: x @ x)),
        Step("torch.matmul", "fp32_by_fp64", raising(lambda x: x @ x.double().t())),
        Step("torch.matmul", "by_the_cpu", raising(lambda x: x @ x.cpu().t())),
        Step("torch.empty", "2_48_bytes", raising(lambda x: x.new_empty(1 << 46))),
        Step("torch.gather", "index_on_the_cpu", raising(lambda x: x.gather(0, torch.zeros(4, 6, dtype=torch.int64)))),
        Step("torch.gather", "out_of_range", raising(lambda x: x.gather(0, torch.full((4, 6), 4, device=x.device)))),
    ],
}
