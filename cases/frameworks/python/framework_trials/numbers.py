# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Fresh whole numbers for frameworks that come with NumPy. Products of them are exact in every type."""
from __future__ import annotations

from functools import wraps
from typing import Any, Callable

import numpy

from framework_trials.cells import World
from framework_trials.protocol import NotProvoked


def generator_of(world: World) -> numpy.random.Generator:
    generator = getattr(world, "generator", None)
    if generator is None:
        generator = numpy.random.default_rng(world.trial.seed)
        setattr(world, "generator", generator)
    return generator


def small_integers(world: World, *shape: int) -> numpy.ndarray:
    return generator_of(world).integers(-3, 4, size=shape).astype(numpy.float64)


def same(found: Any, wanted: numpy.ndarray) -> bool:
    """Exactly, in the type that was found, which is an array on the host."""
    on_host = numpy.asarray(found)
    return bool(numpy.array_equal(on_host.astype(numpy.float64), wanted.astype(on_host.dtype).astype(numpy.float64)))


def where_free(gib: int, arm: Callable[[World], None]) -> Callable[[World], None]:
    """The arm, on a GPU with so much free memory."""

    @wraps(arm)
    def checked(world: World) -> None:
        free = world.driver.memory()[0] >> 30 if gib else 0
        if free < gib:
            raise NotProvoked(f"{free} GiB are free, and {gib} are needed")
        arm(world)

    return checked


# More than 2^31 elements, by the NumPy of a framework; whether each result is right.


def dot_beyond(np: Any, rows: int) -> bool:
    """Rows x 32768 sums of eight products in FP16, each by its own way again."""
    a = ((np.arange(rows)[:, None] + np.arange(8)) % 7 - 3).astype(numpy.float16)
    b = ((np.arange(8)[:, None] + 3 * np.arange(32768)) % 11 - 5).astype(numpy.float16)
    c = np.dot(a, b)
    parts = [slice(first, first + 8192) for first in range(0, rows, 8192)]
    return not any(bool((c[part] != sum(a[part, k, None] * b[k] for k in range(8))).any()) for part in parts)


def sum_beyond(np: Any, rows: int) -> bool:
    return int(np.ones((rows, 32768), numpy.int8).sum(dtype=numpy.uint32)) == rows * 32768


def take_beyond(np: Any, row: int) -> bool:
    table = ((np.arange(row + 8, dtype=numpy.int32)[:, None] * 3 + np.arange(1024, dtype=numpy.int32)) % 101).astype(numpy.int8)
    rows = numpy.array([row, 5, row + 7, row // 2])
    found = np.take(table, np.asarray(rows), axis=0) - np.asarray((rows[:, None] * 3 + numpy.arange(1024)) % 101)
    return not bool(found.any())
