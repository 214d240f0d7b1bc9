# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What arms of upgrades share: steps with a control, numbers that show a wrapped index, and memory of others."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch

from framework_trials import cells
from framework_trials.cells import Seen as Seen, Step as Step, World
from framework_trials.driver import MIB
from framework_trials.protocol import NotProvoked
from framework_trials.pytorch_numbers import device_of

PIECE = 1 << 26  # elements that are made or compared at a time: far from 31 bits
OTHERS = 256 * MIB  # bytes of one allocation of others

# What the rows from the first to before the last of a tensor must be.
Wanted = Callable[[int, int], torch.Tensor]
fn: Any = getattr(torch.nn, "functional", None)  # a stand-in for PyTorch may lack it


def sized(api: str, variant: str, work: Callable[[World, int], Seen], *sizes: int) -> List[Step]:
    """At each size that can fail. Control: the first one, the last that cannot. The variant has the size where it says "{}"."""

    def at(size: int) -> Callable[[World], Seen]:
        return lambda world: work(world, size)

    control, named = at(sizes[0]), variant.format(sizes[0]) + "_control"
    return [Step(api, variant.format(size), at(size), control, named) for size in sizes[1:]]


def stepwise(steps: Sequence[Step]) -> Callable[[World], None]:
    return cells.stepwise(steps, let_go)


def let_go() -> None:
    """What a step took: the next one asks for other sizes. It tells an error of the context, too."""
    if torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError):
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


def differing(found: torch.Tensor, wanted: Wanted, operand: Optional[torch.Tensor] = None) -> int:
    """Elements that are not what they must be. A NaN is none. `operand`: `wanted` takes its rows, never all of them."""
    rows = PIECE // max(1, found[:1].numel())
    if operand is not None:
        rows = min(rows, PIECE // max(1, operand[:1].numel()), (len(operand) + 1) // 2)
    wrong = torch.zeros((), dtype=torch.int64, device=found.device)
    for first in range(0, len(found), max(1, rows)):
        piece = found[first : first + max(1, rows)]
        wrong += (piece != wanted(first, first + len(piece))).sum()
    return int(wrong)


def exactly(found: torch.Tensor, wanted: Wanted, operand: Optional[torch.Tensor] = None) -> bool:
    return differing(found, wanted, operand) == 0


class Foreign:
    """A plain allocation as an array that PyTorch can see."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size // 4,), "typestr": "<i4", "data": (pointer, False), "version": 3}


@contextlib.contextmanager
def allocated(world: World, size: int) -> Iterator[torch.Tensor]:
    """By the driver, not by PyTorch."""
    pointer = world.driver.allocate(size)
    try:
        yield torch.as_tensor(Foreign(pointer, size), device=device_of(world))
    finally:
        with contextlib.suppress(NotProvoked):  # after an error of the context
            world.driver.free(pointer)


@contextlib.contextmanager
def beside(world: World, size: int, facts: Dict[str, Any]) -> Iterator[None]:
    """Memory of others in front of and behind the next tensor of so many bytes. Whether it has changed is a fact of the step, whatever is
    raised. Nothing where there are no bytes."""
    with contextlib.ExitStack() as stack:
        each_side = range(4 if size else 0)
        others = [stack.enter_context(allocated(world, OTHERS)) for _ in each_side]
        place = torch.empty(size, dtype=torch.uint8, device=device_of(world))
        others += [stack.enter_context(allocated(world, OTHERS)) for _ in each_side]
        del place
        wanted = periodic(world, range(3, 1000, 7), torch.int32)
        for block in others:
            block.copy_(wanted(0, len(block)))

        def look() -> None:
            if not all(exactly(block, wanted) for block in others):
                facts["written_beyond"] = ["others"]

        try:
            yield
            look()
        except BaseException as error:
            with contextlib.suppress(RuntimeError):  # of a context that is no more
                look()
            setattr(error, "facts", facts)
            raise
