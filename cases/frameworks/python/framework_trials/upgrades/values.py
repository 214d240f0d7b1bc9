# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Values that are as good as others: very negative scores, denormals, NaN and infinity. References are float64 on the host."""
from __future__ import annotations

import warnings
from typing import Callable, Dict, List, Sequence

import torch

from framework_trials.cells import World, part_of
from framework_trials.pytorch_numbers import close, device_of, generator_of, small_integers
from framework_trials.upgrades.ground import Seen

NAN, INF = float("nan"), float("inf")
Tensor = torch.Tensor


def alike(found: Tensor, wanted: Tensor) -> bool:
    """Exactly, in the type that was found; NaN where NaN is wanted."""
    on_host = found.detach().cpu()
    return torch.allclose(on_host.double(), wanted.to(on_host.dtype).double(), rtol=0, atol=0, equal_nan=True)


def on_device(world: World, numbers: Tensor, dtype: torch.dtype) -> Tensor:
    """Quiet NaN have the sign of the numbers, by explicit bits: a conversion on the host makes others, as its CPU does."""
    there = numbers.to(dtype).to(device_of(world))
    if not bool(numbers.isnan().any()):
        return there
    as_bits = torch.int16 if there.element_size() == 2 else torch.int32
    quiet = int(torch.tensor(INF, dtype=dtype).view(as_bits)) + int(0.5 / torch.finfo(dtype).eps)
    bits = torch.full(numbers.shape, quiet) + (numbers.double().view(torch.int64) < 0) * torch.iinfo(as_bits).min
    return torch.where(numbers.isnan().to(there.device), bits.to(as_bits).to(there.device), there.view(as_bits)).view(dtype)


def attention(world: World, backend: str, shape: str, score: float = 0.0, mask: str = "") -> Seen:
    """Forward and backward, of queries x keys x width in BF16; every score is `score`. The mask leaves "all" keys, or so many of the fourth
    row; or it is a "bias" of numbers, or a "trained_bias", which has a gradient. Warnings of PyTorch say why it has no kernel."""
    backends = part_of("torch.nn.attention")
    rows, keys, width = (int(extent) for extent in shape.split("x"))
    q, k = (torch.zeros(1, 2, n, width).double() for n in (rows, keys))
    q[..., 0], k[..., 0] = 8, score
    v, back = small_integers(world, 1, 2, keys, width), small_integers(world, 1, 2, rows, width)
    masked = torch.ones(rows, keys, dtype=torch.bool)
    masked[3, int(mask) if mask.isdigit() else keys :] = False

    def run(backend: str, device: str, dtype: torch.dtype) -> List[Tensor]:
        leaves = [t.to(dtype).to(device).requires_grad_() for t in (q, k, v)]
        given = masked.to(device) if mask else None
        if "bias" in mask:
            given = torch.zeros(1, 2, rows, keys, dtype=dtype, device=device, requires_grad=mask == "trained_bias")
        said: List[warnings.WarningMessage] = []
        kernel = backends.sdpa_kernel(getattr(backends.SDPBackend, backend.upper() + "_ATTENTION" * (backend != "math")))
        try:
            with kernel, warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                out = torch.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=given, scale=0.125)
        finally:
            if said:
                world.trial.note("warnings", "; ".join(str(warning.message) for warning in said))
        out.backward(back.to(dtype).to(device))
        return [out.detach(), *(t.grad for t in (*leaves, given) if t is not None and t.grad is not None)]

    found, wanted = run(backend, device_of(world), torch.bfloat16), run("math", "cpu", torch.double)
    # A probability, and what is behind it, is rounded to BF16; the gradient of q is their sum times a key.
    bands = [torch.tensor(0.05 + (abs(score) / 100 if i == 1 else 0)) for i in range(len(found))]
    if mask != "0":
        return close(world, zip(found, wanted, bands))
    row = found[0][:, :, 3]
    result = "NaN" if bool(row.isnan().all()) else "numbers" if bool(row.any()) else "zeros"
    return close(world, [(found[0][:, :, 4:], wanted[0][:, :, 4:], bands[0])]), {"result": result}


def nan_row(world: World) -> Sequence[Tensor]:
    a, b = small_integers(world, 2, 65, 96), small_integers(world, 2, 96, 80)
    a[1, 7, 11] = NAN
    return a, b


def nan_values(world: World, nan: float = NAN) -> Sequence[Tensor]:
    """Rows with one largest number, and a NaN in each second one."""
    x = torch.rand(8, 70_001, generator=generator_of(world)).argsort(-1).double() % 4093
    x[:, 50_000], x[::2, 40_000] = 4992, nan
    return (x,)


def infinite_rows(_: World) -> Sequence[Tensor]:
    x = torch.full((4, 1024), -INF).double()
    x[1], x[1, 5], x[2, 9], x[3, ::2] = -1e4, 1e4, 0, 1e4
    return (x,)


def unimodular(extent: int) -> Tensor:
    """Of whole numbers, as is its inverse; its determinant is 1."""
    half = extent // 2
    x, y = torch.zeros(half, extent - half).double(), torch.zeros(extent - half, half).double()
    x[range(half), [i * 7 % len(y) for i in range(half)]] = y[range(half), [i * 5 % half for i in range(half)]] = 1
    return torch.cat([torch.cat([torch.eye(half), x], 1), torch.cat([y, torch.eye(extent - half) + y @ x], 1)])


def few_ones(world: World) -> Sequence[Tensor]:
    """16 rows of 16384, of which 24 are ones: sums are below 2^8, exact in BF16."""
    ones = torch.rand(16, 16384, generator=generator_of(world)).argsort(-1) < 24
    return ones.double(), small_integers(world, 16384, 256)


# Inputs by name; others are shapes, of small whole numbers.
INPUTS: Dict[str, Callable[[World], Sequence[Tensor]]] = {
    "nan_row": nan_row,
    "nan_sum": lambda world: (torch.full((65, 80), NAN), small_integers(world, 65, 96), small_integers(world, 96, 80)),
    "nan_values": nan_values,
    "negative_nan_values": lambda world: nan_values(world, -NAN),
    "infinite_rows": infinite_rows,
    "few_ones": few_ones,
    "bits": lambda world: [small_integers(world, rows, 128).abs() % 2 for rows in (64, 32)],
    "large_sums": lambda world: [small_integers(world, 1, 1024, 1024) + 3 for _ in range(2)],
}
INPUTS["around_448"] = lambda _: (torch.tensor([512.0, 448, 449, 432, 431, 2.0**-9, 2.0**-10, 1.0625, 1.1875, -464]).outer(2.0 ** torch.arange(5)).t(),)
INPUTS["beyond_448"] = lambda _: (torch.tensor([465.0, 480, INF]),)
for _n in (49, 64):
    INPUTS[f"random_{_n}"] = lambda world, n=_n: [  # type: ignore[misc]
        torch.randn(*shape, generator=generator_of(world)).bfloat16() for shape in ((1024, n, 32), (n, n))
    ]
for _n in (32, 33, 512):
    INPUTS[f"unimodular_{_n}"] = lambda _, n=_n: (unimodular(n),)  # type: ignore[misc]
    INPUTS[f"system_{_n}"] = lambda world, n=_n: (unimodular(n), unimodular(n) @ small_integers(world, n, 3))  # type: ignore[misc]
for _n in (-126, -149):
    # Multiples of the smallest normal and denormal numbers of FP32.
    INPUTS[f"denormals_{_n}"] = lambda _, n=_n: (torch.arange(-512, 512).reshape(32, 32).double() * 2.0**n,)  # type: ignore[misc]
    INPUTS[f"denormals_{_n}_by_one"] = lambda world, n=_n: (*INPUTS[f"denormals_{n}"](world), torch.eye(32))  # type: ignore[misc]


def inputs_of(world: World, given: str) -> Sequence[Tensor]:
    if given in INPUTS:
        return INPUTS[given](world)
    return [small_integers(world, *map(int, shape.split("x"))) for shape in given.split(" by ")]
