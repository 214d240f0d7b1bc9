# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults that are the same in every framework."""
from __future__ import annotations

import os
from typing import Callable, Dict

from framework_trials import injection
from framework_trials.cells import World, parsed
from framework_trials.driver import OtherProcess


def launch(kernel: str) -> Callable[[World], None]:
    def fault(world: World) -> None:
        world.driver.launch(kernel)

    return fault


def other_process(world: World) -> None:
    world.other = OtherProcess(world.trial.device, world.level)
    world.require_level()


def variables(world: World) -> None:
    """The variables are there since the interpreter began; an empty one only this can make."""
    if "no_visible_device" in parsed(world.trial.arm)[1]:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


FAULTS: Dict[str, Callable[[World], None]] = {
    "other_process": other_process,
    "kernel_trap": launch("cufault_trap"),
    "variables": variables,
    "injected": injection.fault,
    "injected_at_start": injection.fault,
    "injected_in_libraries": injection.fault,
}
