# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of steps, some of values that are as good as others: very negative scores, denormals, NaN and infinity; and attention, whose
reference is float64 on the host."""
from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from framework_trials.cells import World, part_of
from framework_trials.pytorch_numbers import close, device_of, generator_of, small_integers
from framework_trials.upgrades.ground import Seen, Step

NAN, INF = float("nan"), float("inf")
Tensor = torch.Tensor


# ---- inputs ----


class Given(NamedTuple):
    """Inputs, and what variants of steps call them."""

    name: str
    make: Callable[[World], Sequence[Tensor]]


def called(shapes: Sequence[Tuple[int, ...]]) -> str:
    return "_by_".join("x".join(map(str, shape)) for shape in shapes)


def whole(*shapes: Tuple[int, ...]) -> Given:
    """Small whole numbers."""
    return Given(called(shapes), lambda world: [small_integers(world, *shape) for shape in shapes])


def random(*shapes: Tuple[int, ...]) -> Given:
    """Numbers of BF16; sums of as many products as the last extent are about one."""
    return Given("random_" + called(shapes), lambda world: [
        torch.randn(shape, generator=generator_of(world)).div(shape[-1] ** 0.25).bfloat16() for shape in shapes])


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


def matrix(extent: int) -> Given:
    return Given(f"unimodular_{extent}", lambda _: (unimodular(extent),))


def system(extent: int) -> Given:
    return Given(f"system_{extent}", lambda world: (unimodular(extent), unimodular(extent) @ small_integers(world, extent, 3)))


def few_ones(world: World) -> Sequence[Tensor]:
    """16 rows of 16384, of which 24 are ones: sums are below 2^8, exact in BF16."""
    ones = torch.rand(16, 16384, generator=generator_of(world)).argsort(-1) < 24
    return ones.double(), small_integers(world, 16384, 256)


def denormals(exponent: int) -> Given:
    """Multiples of 2^exponent: -126 and -149 are those of the smallest normal and denormal number of FP32."""
    return Given(f"denormals_{exponent}", lambda _: (torch.arange(-512, 512).reshape(32, 32).double() * 2.0**exponent,))


def around_448(_: World) -> Sequence[Tensor]:
    """The largest number of E4M3, in each row by another power of two."""
    numbers = torch.tensor([512.0, 448, 449, 432, 431, 2.0**-9, 2.0**-10, 1.0625, 1.1875, -464])
    return (numbers.outer(2.0 ** torch.arange(5)).t(),)


def on_device(world: World, numbers: Tensor, dtype: torch.dtype) -> Tensor:
    """Quiet NaN have the sign of the numbers, by explicit bits: a conversion on the host makes others, as its CPU does."""
    there = numbers.to(dtype).to(device_of(world))
    if not bool(numbers.isnan().any()):
        return there
    as_bits = torch.int16 if there.element_size() == 2 else torch.int32
    quiet = int(torch.tensor(INF, dtype=dtype).view(as_bits)) + int(0.5 / torch.finfo(dtype).eps)
    bits = torch.full(numbers.shape, quiet) + (numbers.double().view(torch.int64) < 0) * torch.iinfo(as_bits).min
    return torch.where(numbers.isnan().to(there.device), bits.to(as_bits).to(there.device), there.view(as_bits)).view(dtype)


# ---- attention ----

PLAIN = (64, 64, 64)


def attention(backend: str, extents: Tuple[int, int, int], score: float = 0.0, left: Optional[int] = None, bias: str = "") -> Step:
    """Forward and backward, of queries, keys and width in BF16; every score is `score`. A mask leaves so many keys of the fourth row, and all
    of others; or there is a "bias" of numbers, or a "trained_bias", which has a gradient. Warnings of PyTorch say why it has no kernel.
    Control: none of these, and extents of 64."""
    rows, keys, width = extents
    words = [backend, called([extents]), *(str(score) if score else "").split(), *([] if left is None else [f"mask_{left}"]), *bias.split()]

    def run(world: World, backend: str, device: str, dtype: torch.dtype, operands: Sequence[Tensor], back: Tensor) -> List[Tensor]:
        backends = part_of("torch.nn.attention")
        q, k, v = leaves = [t.to(dtype).to(device).requires_grad_() for t in operands]
        mask: Any = None
        if bias:
            mask = torch.zeros(1, 2, rows, keys, dtype=dtype, device=device, requires_grad=bias == "trained_bias")
        elif left is not None:
            mask = torch.ones(rows, keys, dtype=torch.bool, device=device)
            mask[3, left:] = False
        warned: List[warnings.WarningMessage] = []
        kernel = backends.sdpa_kernel(getattr(backends.SDPBackend, backend.upper() + "_ATTENTION" * (backend != "math")))
        try:
            with kernel, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.125)
        finally:
            if warned:
                world.trial.note("warnings", "; ".join(str(warning.message) for warning in warned))
        out.backward(back.to(dtype).to(device))
        return [out.detach(), *(t.grad for t in (*leaves, mask) if t is not None and t.grad is not None)]

    def work(world: World) -> Seen:
        q, k = (torch.zeros(1, 2, n, width).double() for n in (rows, keys))
        q[..., 0], k[..., 0] = 8, score
        v, back = small_integers(world, 1, 2, keys, width), small_integers(world, 1, 2, rows, width)
        found = run(world, backend, device_of(world), torch.bfloat16, (q, k, v), back)
        wanted = run(world, "math", "cpu", torch.double, (q, k, v), back)
        # A probability, and what is behind it, is rounded to BF16; the gradient of q is their sum times a key.
        bands = [torch.tensor(0.05 + (abs(score) / 100 if i == 1 else 0)) for i in range(len(found))]
        if left != 0:
            return close(world, zip(found, wanted, bands))
        row = found[0][:, :, 3]
        result = "NaN" if bool(row.isnan().all()) else "numbers" if bool(row.any()) else "zeros"
        return close(world, [(found[0][:, :, 4:], wanted[0][:, :, 4:], bands[0])]), {"result": result}

    control = None if extents == PLAIN else attention(backend, PLAIN).work
    return Step("torch.nn.functional.scaled_dot_product_attention", "_".join(words), work, control, f"{backend}_{called([PLAIN])}_control")


EXTENTS, ODD, SQUARE = [(128, 128, 64), (157, 403, 8), (157, 403, 96), (157, 403, 256), (157, 6404, 64)], (157, 403, 128), (192, 192, 64)
ARMS: Dict[str, List[Step]] = {
    "attention_scores_of_160": [attention("cudnn", (n, n, 64), -160, left=n) for n in (128, 192)],
    "attention_scores_of_89": [attention("cudnn", SQUARE, score, left=192) for score in (-88, -89)],
    "attention_scores_unmasked": [attention(backend, SQUARE, -160) for backend in ("math", "flash", "efficient")],
    "attention_masked_row": [attention(backend, SQUARE, left=left) for backend in ("math", "efficient", "cudnn") for left in (1, 0)],
    "attention_flash": [attention("flash", extents) for extents in EXTENTS],
    **{"attention_" + backend: [
        *(attention(backend, extents) for extents in EXTENTS), attention(backend, ODD, left=403),
        *(attention(backend, ODD, bias=bias) for bias in ("bias", "trained_bias"))] for backend in ("cudnn", "math", "efficient")},
}
