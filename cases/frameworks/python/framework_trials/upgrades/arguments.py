# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that could be ignored: one is changed, and the result must change as float64 on the host says."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from framework_trials.cells import World
from framework_trials.pytorch_canaries import needs
from framework_trials.pytorch_numbers import device_of, same, small_integers
from framework_trials.upgrades.ground import Seen, Step, fn

Call = Callable[..., Any]
HALF, SINGLE = torch.float16, torch.float32
NEAR = 2e-5  # of one and the number together: sums of FP32


def near(found: torch.Tensor, wanted: torch.Tensor, within: float) -> bool:
    numbers, exact = found.detach().cpu().double(), wanted.detach().double()
    return numbers.shape == exact.shape and bool(((numbers - exact).abs() <= within * (1 + exact.abs())).all())


def argument(
    api: str, variant: str, shapes: Sequence[Tuple[int, ...]], call: Call, before: Any, after: Any, wanted: Optional[Call] = None,
    dtype: torch.dtype = SINGLE, within: float = NEAR,
) -> Step:
    """The call with its operands and the argument; `wanted` likewise, where float64 on the host does not take the argument. Control: the
    argument as it was before."""

    def by(value: Any) -> Callable[[World], Seen]:
        def work(world: World) -> Seen:
            numbers = [small_integers(world, *shape) for shape in shapes]
            operands = [n.to(dtype).to(device_of(world)) for n in numbers]
            found, plain = call(*operands, value), call(*operands, before)
            ignored = value is not before and found.dtype == plain.dtype and torch.equal(found, plain)
            return not ignored and near(found, (wanted or call)(*numbers, value), within)

        return work

    return Step(api, variant, by(after), by(before))


def attention(**of: Any) -> Call:
    return lambda q, k, v, value: fn.scaled_dot_product_attention(q, k, v, **{name: value for name in of})


def dropped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, p: float) -> torch.Tensor:
    of = fn.scaled_dot_product_attention
    return ((of(q, k, v, dropout_p=p) - of(q, k, v)).abs() > 1e-3).any().double()


def padded_by(x: torch.Tensor, weight: torch.Tensor, mode: Any) -> Any:
    layer = torch.nn.Conv2d(4, 4, 3, padding=1, padding_mode=mode, bias=False).to(x)
    layer.weight.data = weight
    return layer(x)


def running_mean(x: torch.Tensor, momentum: float) -> torch.Tensor:
    mean, variance = x.new_zeros(4), x.new_ones(4)
    fn.batch_norm(x, mean, variance, training=True, momentum=momentum)
    return mean


def loss(**of: Any) -> Call:
    def call(x: torch.Tensor, value: Any) -> Any:
        labels = torch.tensor([0, 1, 2, 1], device=x.device)
        named: Dict[str, Any] = {name: torch.arange(1.0, 6).to(x) if value == "counting" else value for name in of}
        return fn.cross_entropy(x, labels, **named)

    return call


def embedded(**of: Any) -> Call:
    def call(table: torch.Tensor, value: Any) -> torch.Tensor:
        table = table.clone().requires_grad_()
        fn.embedding(torch.tensor([1, 2, 1, 0], device=table.device), table, **{name: value for name in of}).sum().backward()
        assert table.grad is not None
        return table.grad

    return call


def scaled(variant: str, factor: float = 1.0, **named: Any) -> Step:
    """FP8, 32x64 by 64x32; arguments beside scales of one. `factor`: what they make of the product; a bias counts its columns."""

    def by(factor: float, named: Dict[str, Any]) -> Callable[[World], Seen]:
        def work(world: World) -> Seen:
            a, b = small_integers(world, 32, 64), small_integers(world, 32, 64)
            a[:, 8:] = 0  # so that BF16 holds the sums
            first, second = (n.to(torch.float8_e4m3fn).to(device_of(world)) for n in (a, b))
            given: Dict[str, Any] = {name: torch.tensor(value, device=first.device) if isinstance(value, float) else value for name, value in named.items()}
            wanted = a @ b.t() * factor
            if "bias" in named:
                given["bias"], wanted = torch.arange(32, device=first.device, dtype=torch.bfloat16), wanted + torch.arange(32)
            one = torch.ones((), device=first.device)
            found = torch._scaled_mm(first, second.t(), **{"out_dtype": torch.bfloat16, "scale_a": one, "scale_b": one, **given})
            return same(found, wanted) and found.dtype == named.get("out_dtype", torch.bfloat16)

        return work

    return Step("torch._scaled_mm", variant, by(factor, named), by(1.0, {}))


def expandable(world: World) -> Seen:
    """Whether segments of the allocator are, as the variable of the arm says."""
    kept = torch.zeros(1 << 20, device=device_of(world))
    segments = torch.cuda.memory_snapshot()
    return len(segments) > 0 and all(segment["is_expandable"] for segment in segments) and not bool(kept.any())


def fraction_of_memory(fraction: float, fits: bool) -> Callable[[World], Seen]:
    def work(world: World) -> Seen:
        needs(world, 9)
        torch.cuda.set_per_process_memory_fraction(fraction, world.trial.device)
        try:
            torch.empty(8 << 30, dtype=torch.uint8, device=device_of(world))
        except torch.cuda.OutOfMemoryError:
            return not fits
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0, world.trial.device)
        return fits

    return work


F = "torch.nn.functional."
QKV, SQUARE = [(1, 2, 16, 16)] * 3, [(6, 6)]
TERMS: Dict[str, Sequence[Tuple[int, ...]]] = {  # by function: shapes
    "addmm": [(6, 7), (6, 5), (5, 7)], "baddbmm": [(3, 6, 7), (3, 6, 5), (3, 5, 7)], "addbmm": [(6, 7), (3, 6, 5), (3, 5, 7)],
    "addmv": [(6,), (6, 5), (5,)], "addr": [(6, 5), (6,), (5,)],
}


def term(function: str, name: str) -> Step:
    return argument("torch." + function, name, TERMS[function], lambda *x: getattr(torch, function)(*x[:-1], **{name: x[-1]}), 1, 2)


def convolved(name: str, before: Any, after: Any) -> Step:
    def call(x: torch.Tensor, weight: torch.Tensor, value: Any) -> torch.Tensor:
        return fn.conv2d(x, weight[:, : 4 // value] if name == "groups" else weight, **{name: value})

    return argument(F + "conv2d", name, [(2, 4, 9, 9), (4, 4, 3, 3)], call, before, after)


def positive(a: torch.Tensor) -> torch.Tensor:
    return a @ a.mT + 8 * torch.eye(len(a)).to(a)


ARMS: Dict[str, List[Step]] = {
    "attention_arguments": [
        argument(F + "scaled_dot_product_attention", "scale", QKV, attention(scale=0), 0.125, 0.25, within=1e-3),
        argument(F + "scaled_dot_product_attention", "is_causal", QKV, attention(is_causal=0), False, True, within=1e-3),
        argument(F + "scaled_dot_product_attention", "dropout_p", QKV, dropped, 0.0, 0.5),
        argument(F + "scaled_dot_product_attention", "scale_fp16", QKV, attention(scale=0), 0.03125, 0.0625, dtype=HALF, within=0.01),
    ],
    "factors_of_products": [term(function, name) for function in TERMS for name in ("alpha", "beta")],
    "scaled_mm_arguments": [
        scaled("scale_a", 2.0, scale_a=2.0), scaled("scale_b", 0.5, scale_b=0.5), scaled("bias", bias=True),
        scaled("out_dtype", out_dtype=SINGLE), scaled("use_fast_accum", use_fast_accum=True),
    ],
    "bmm_out_dtype": [argument("torch.bmm", "out_dtype", [(2, 16, 4)], lambda a, t: torch.bmm(
        a.repeat(1, 1, 514) * 0 + torch.eye(1, 2056).to(a) + 1, a.new_ones(2, 2056, 16), out_dtype=t), HALF, SINGLE,
        lambda a, _: a.new_full((2, 16, 16), 2057.0), HALF, 1e-3 / 2)],
    "conv2d_arguments": [
        convolved("stride", 1, 2), convolved("padding", 0, 1), convolved("dilation", 1, 2), convolved("groups", 1, 2),
        *(argument(F + "conv2d", "padding_mode_" + mode, [(2, 4, 9, 9), (4, 4, 3, 3)], padded_by, "zeros", mode) for mode in ("reflect", "circular")),
    ],
    "norm_arguments": [
        argument(F + "layer_norm", "eps", [(8, 32)], lambda x, v: fn.layer_norm(x, (32,), eps=v), 1e-5, 1.0),
        argument(F + "batch_norm", "momentum", [(8, 4, 3)], running_mean, 0.125, 0.5),
        argument(F + "group_norm", "num_groups", [(8, 8, 3)], lambda x, v: fn.group_norm(x, v), 2, 4),
    ],
    "cross_entropy_arguments": [
        argument(F + "cross_entropy", name, [(4, 5)], loss(**{name: 0}), before, after)
        for name, before, after in (
            ("weight", None, "counting"), ("ignore_index", -100, 1), ("label_smoothing", 0.0, 0.25), ("reduction", "mean", "sum"))
    ],
    "embedding_arguments": [
        argument("torch.nn.Embedding", name, [(4, 8)], embedded(**{name: 0}), before, after)
        for name, before, after in (("padding_idx", None, 1), ("scale_grad_by_freq", False, True))
    ],
    "activation_arguments": [
        argument(F + "gelu", "approximate", [(64,)], lambda x, v: fn.gelu(x, approximate=v), "none", "tanh"),
        argument(F + "interpolate", "align_corners", [(1, 2, 5, 5)], lambda x, v: fn.interpolate(
            x, scale_factor=2, mode="bilinear", align_corners=v), False, True),
    ],
    "reduction_arguments": [
        argument("torch.sum", "dtype", [(4, 3)], lambda x, v: torch.sum(x * 0 + 683, 1, dtype=v), HALF, SINGLE,
                 lambda x, _: x.new_full((4,), 2049.0), HALF, 5e-4),
        argument("torch.cumsum", "dtype", [(3,)], lambda x, v: torch.cumsum(x * 0 + 683, 0, dtype=v), HALF, SINGLE,
                 lambda x, _: (x * 0 + 683).cumsum(0), HALF, 5e-4),
        argument("torch.softmax", "dtype", [(4, 8)], lambda x, v: torch.softmax(x, 1, dtype=v), HALF, SINGLE,
                 lambda x, _: torch.softmax(x, 1), HALF, 1e-3),
        argument("torch.std", "correction", [(4, 8)], lambda x, v: torch.std(x, 1, correction=v), 1, 0),
        argument("torch.sort", "descending", [(64,)], lambda x, v: torch.sort(x, stable=True, descending=v).indices, False, True),
        argument("torch.topk", "largest", [(64,)], lambda x, v: torch.topk(x, 5, largest=v).values, True, False),
    ],
    "linalg_arguments": [
        argument("torch.linalg.eigvalsh", "UPLO", SQUARE, lambda a, v: torch.linalg.eigvalsh(a, UPLO=v), "L", "U"),
        argument("torch.linalg.solve", "left", SQUARE * 2, lambda a, b, v: torch.linalg.solve(positive(a), b, left=v), True, False),
        argument("torch.linalg.cholesky", "upper", SQUARE, lambda a, v: torch.linalg.cholesky(positive(a), upper=v), False, True),
        argument("torch.linalg.qr", "mode", [(6, 4)], lambda a, v: torch.linalg.qr(a + 9 * torch.eye(6, 4).to(a), mode=v).R.abs(),
                 "reduced", "complete"),
        argument("torch.linalg.solve_triangular", "upper", SQUARE * 2,
                 lambda a, b, v: torch.linalg.solve_triangular(positive(a), b, upper=v), False, True),
    ],
    "expandable_segments": [Step("torch.empty", "PYTORCH_CUDA_ALLOC_CONF", expandable)],
    "expandable_segments_by_the_new_name": [Step("torch.empty", "PYTORCH_ALLOC_CONF", expandable)],
    "memory_fraction": [Step("torch.empty", "8_gib_of_one_percent", fraction_of_memory(0.01, False), fraction_of_memory(1.0, True))],
}
