# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What arms of upgrades share: steps with a control, numbers that show a wrapped index, and memory of others."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from framework_trials.cells import World, attempt
from framework_trials.driver import MIB
from framework_trials.protocol import SetUpFailed
from framework_trials.pytorch_numbers import device_of

PIECE = 1 << 26  # elements that are made or compared at a time: far from 31 bits
OTHERS = 256 * MIB  # bytes of one allocation of others

# Whether the numbers are right, or None where nobody looked; and facts of the step (reports/model/facts.cpp).
Seen = Union[Optional[bool], Tuple[Optional[bool], Dict[str, Any]]]
# What the rows from the first to before the last of a tensor must be.
Wanted = Callable[[int, int], torch.Tensor]


class Functions:
    """torch.nn.functional, which a stand-in for PyTorch may lack."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.nn.functional, name)


fn = Functions()


class Step(NamedTuple):
    api: str
    variant: str
    work: Callable[[World], Seen]
    control: Optional[Callable[[World], Seen]] = None  # the same where it cannot fail: it proves the reference


def sized(api: str, variant: str, work: Callable[[World, int], Seen], first: int, last: int) -> Step:
    """At the first size that can fail. Control: the last one that cannot."""
    return Step(api, variant, lambda world: work(world, first), lambda world: work(world, last))


def stepwise(steps: Sequence[Step]) -> Callable[[World], None]:
    """The controls, then each step, then the next product."""

    def arm(world: World) -> None:
        for step in steps:
            seen = step.control(world) if step.control else True
            right, facts = seen if isinstance(seen, tuple) else (seen, {})
            if right is False or "written_beyond" in facts:
                raise SetUpFailed(f"the control of {step.api} {step.variant} gives wrong numbers")
            let_go()
        for step in steps:
            world.trial.observe(step.api, step.variant, functools.partial(step.work, world), kind_of_text=True)
            try:
                let_go()
            except RuntimeError:
                pass  # an error of the context: the next step tells it
        attempt(world, world.framework.operations[world.framework.next_product], "next")

    setattr(arm, "steps", steps)  # run_trials.py check looks at their functions
    return arm


def let_go() -> None:
    """What a step took: the next one asks for other sizes."""
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def periodic(world: World, values: Sequence[int], dtype: torch.dtype) -> Wanted:
    """Element i is values[i % len(values)]. Periods are prime, so that what is shifted by a power of two differs."""
    period = len(values)
    block = torch.tensor(list(values), dtype=dtype).to(device_of(world)).repeat(PIECE // period + 2)
    return lambda first, last: block[first % period : first % period + last - first]


def cycle(world: World, shape: Sequence[int], values: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Such elements, made on the device piece by piece."""
    made = torch.empty(tuple(shape), dtype=dtype, device=device_of(world))
    flat, wanted = made.view(-1), periodic(world, values, dtype)
    for first in range(0, flat.numel(), PIECE):
        last = min(first + PIECE, flat.numel())
        flat[first:last] = wanted(first, last)
    return made


def differing(found: torch.Tensor, wanted: Wanted, most: int = 0) -> int:
    """Elements that are not what they must be. A NaN is none. `most`: of one comparison."""
    rows = max(1, (most or PIECE) // max(1, found[:1].numel()))
    wrong = torch.zeros((), dtype=torch.int64, device=found.device)
    for first in range(0, len(found), rows):
        piece = found[first : first + rows]
        wrong += (piece != wanted(first, first + len(piece))).sum()
    return int(wrong)


def exactly(found: torch.Tensor, wanted: Wanted, most: int = 0) -> bool:
    return differing(found, wanted, most) == 0


class Foreign:
    """A plain allocation as an array that PyTorch can see."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size // 4,), "typestr": "<i4", "data": (pointer, False), "version": 3}


def allocated(world: World, size: int) -> torch.Tensor:
    """By the driver, not by PyTorch; it lives as long as the process."""
    return torch.as_tensor(Foreign(world.driver.allocate(size), size), device=device_of(world))


@contextlib.contextmanager
def beside(world: World, size: int, facts: Dict[str, Any]) -> Iterator[None]:
    """Memory of others in front of and behind the next tensor of so many bytes. It must not change: else that is a fact of the step.
    Nothing where there are no bytes."""
    each_side = range(4 if size else 0)
    others = [allocated(world, OTHERS) for _ in each_side]
    place = torch.empty(size, dtype=torch.uint8, device=device_of(world))
    others += [allocated(world, OTHERS) for _ in each_side]
    del place
    wanted = periodic(world, range(3, 1000, 7), torch.int32)
    for block in others:
        block.copy_(wanted(0, len(block)))
    yield
    if not all(exactly(block, wanted) for block in others):
        facts["written_beyond"] = ["others"]
