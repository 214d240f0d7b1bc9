# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Fresh whole numbers for frameworks that come with NumPy. Products of them are exact in every type."""
from __future__ import annotations

from typing import Any

import numpy

from framework_trials.cells import World


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
