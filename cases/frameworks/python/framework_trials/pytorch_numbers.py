# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Where tensors of PyTorch are, fresh whole numbers for them, and whether what comes back is right."""
from __future__ import annotations

from typing import Iterable, Tuple

import torch

from framework_trials.cells import World


def device_of(world: World) -> str:
    return "cpu" if world.trial.case.endswith(".on_the_cpu") else f"cuda:{world.trial.device}"


def generator_of(world: World) -> torch.Generator:
    generator = getattr(world, "generator", None)
    if generator is None:
        generator = torch.Generator().manual_seed(world.trial.seed % (1 << 63))
        setattr(world, "generator", generator)
    return generator


def small_integers(world: World, *shape: int) -> torch.Tensor:
    """Fresh whole numbers, whose products are exact in every type."""
    return torch.randint(-3, 4, shape, generator=generator_of(world)).double()


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Exactly, in the type that was found, and NaN where NaN is wanted; copying to the host waits for it."""
    on_host = found.detach().cpu()
    exact, wanted = on_host.double(), wanted.to(on_host.dtype).double()
    nan = torch.isnan(wanted)
    return bool(torch.equal(torch.isnan(exact), nan) and torch.equal(exact.masked_fill(nan, 0), wanted.masked_fill(nan, 0)))


def close(world: World, pairs: Iterable[Tuple[torch.Tensor, ...]]) -> bool:
    """Of what was found and a float64 reference: whether each value is off by at most one rounding of its type, and by the third tensor
    where there is one, for sums that round, too. Sums of small whole numbers do not. Measures how far off the values are."""
    values = not_finite = not_rounded = 0
    largest = in_roundings = 0.0
    right = True
    for found, wanted, *more in pairs:
        on_host = found.detach().cpu()
        exact, rounded = on_host.double(), wanted.to(on_host.dtype).double()
        finite = torch.isfinite(exact)
        error = torch.where(finite, exact - wanted, torch.zeros_like(wanted)).abs()
        rounding = torch.finfo(on_host.dtype).eps * wanted.abs()
        band = more[0] if more else torch.zeros(())
        lost = int((~finite & torch.isfinite(rounded)).sum())
        right = right and lost == 0 and bool((error <= rounding + band).all())
        values += exact.numel()
        not_finite += lost
        not_rounded += int((exact != rounded).sum())
        largest = max(largest, float(error.max()))
        counts = (rounding > 0) & (wanted.abs() >= band)  # a rounding of less says nothing
        in_roundings = max(in_roundings, float(torch.where(counts, error / rounding, 0.0).max()))
    measure = world.trial.measure
    measure("values", values)
    measure("values that are not finite and should be", not_finite)
    measure("values that are not the reference rounded once", not_rounded)
    measure("largest error", largest)
    measure("largest error of a value, in roundings of it", in_roundings)
    return right
