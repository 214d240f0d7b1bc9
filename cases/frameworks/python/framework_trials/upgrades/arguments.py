# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that could be ignored: one is changed, and the result must change as float64 on the host says."""
from __future__ import annotations

import pydoc
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from framework_trials.cells import World
from framework_trials.pytorch_canaries import needs
from framework_trials.pytorch_numbers import device_of, small_integers
from framework_trials.upgrades.ground import Seen, Step, fn
from framework_trials.upgrades.routes import gradient

Call = Callable[..., Any]
Operands = Sequence[Union[Tuple[int, ...], List[int]]]
HALF, SINGLE = torch.float16, torch.float32


def argument(
    api: str, name: str, operands: Operands, before: Any, after: Any, call: Optional[Call] = None,
    wanted: Optional[Call] = None, dtype: Any = SINGLE, within: float = 2e-5, variant: str = "", **more: Any,
) -> Step:
    """Operands by shape, or indices as they are. The function takes the argument by name, and `more`; `call` takes it last. `wanted` is the
    right result where float64 on the host does not take it. `within`: of one and the number together. Control: the argument as it was."""

    def by_name(*given: Any) -> Any:
        found = pydoc.locate(api)(*given[:-1], **{name: given[-1]}, **more)  # type: ignore[operator]
        return found[0] if isinstance(found, tuple) else found

    by = call or by_name

    def at(value: Any) -> Callable[[World], Seen]:
        def work(world: World) -> Seen:
            numbers = [torch.tensor(n) if isinstance(n, list) else small_integers(world, *n) for n in operands]
            there = [(n.to(dtype) if n.is_floating_point() else n).to(device_of(world)) for n in numbers]

            def result(value: Any, by: Call, *given: torch.Tensor) -> torch.Tensor:
                found: torch.Tensor = by(*given, torch.tensor(value).to(given[0]) if isinstance(value, list) else value)
                return found.detach()

            found, plain, exact = result(value, by, *there), result(before, by, *there), result(value, wanted or by, *numbers).double()
            ignored = value is not before and found.dtype == plain.dtype and torch.equal(found, plain)
            return not ignored and found.shape == exact.shape and torch.allclose(found.cpu().double(), exact, within, within)

        return work

    return Step(api, variant or name, at(after), at(before))


def dropped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, p: float) -> torch.Tensor:
    attention = fn.scaled_dot_product_attention
    return ((attention(q, k, v, dropout_p=p) - attention(q, k, v)).abs() > 1e-3).any().double()


def padded_by(x: torch.Tensor, weight: torch.Tensor, mode: Any) -> Any:
    layer = torch.nn.Conv2d(4, 4, 3, padding=1, padding_mode=mode, bias=False).to(x)
    layer.weight.data = weight
    return layer(x)


def running_mean(x: torch.Tensor, momentum: float) -> torch.Tensor:
    mean, variance = x.new_zeros(4), x.new_ones(4)
    fn.batch_norm(x, mean, variance, training=True, momentum=momentum)
    return mean


def scaled(name: str, before: Any, after: Any, wanted: Call = lambda a, b, _: a @ b.t()) -> Step:
    """FP8, by scales of one."""

    def call(a: torch.Tensor, b: torch.Tensor, value: Any) -> torch.Tensor:
        given: Dict[str, Any] = {"scale_a": 1.0, "scale_b": 1.0, "out_dtype": torch.bfloat16, name: value.bfloat16() if name == "bias" else value}
        return torch._scaled_mm(a, b.t(), **{key: torch.tensor(v, device=a.device) if isinstance(v, float) else v for key, v in given.items()})

    return argument("torch._scaled_mm", name, [(32, 64), (32, 64)], before, after, call, wanted, getattr(torch, "float8_e4m3fn", None), 4e-3)


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


def positive(a: torch.Tensor) -> torch.Tensor:
    return a @ a.mT + 8 * torch.eye(len(a)).to(a)


F = "torch.nn.functional."
ATTENTION, CONV2D, EMBEDDING = F + "scaled_dot_product_attention", F + "conv2d", "torch.nn.Embedding"
QKV, SQUARE, IMAGES = [(1, 2, 16, 16)] * 3, [(6, 6)], [(2, 4, 9, 9), (4, 4, 3, 3)]
TERMS: Dict[str, Operands] = {
    "addmm": [(6, 7), (6, 5), (5, 7)], "baddbmm": [(3, 6, 7), (3, 6, 5), (3, 5, 7)], "addbmm": [(6, 7), (3, 6, 5), (3, 5, 7)],
    "addmv": [(6,), (6, 5), (5,)], "addr": [(6, 5), (6,), (5,)],
}
LABELLED: Operands = [(4, 5), [0, 1, 2, 1]]
TABLE: Operands = [(4, 8), [1, 2, 1, 0]]

ARMS: Dict[str, List[Step]] = {
    "attention_arguments": [
        argument(ATTENTION, "scale", QKV, 0.125, 0.25, within=1e-3),
        argument(ATTENTION, "is_causal", QKV, False, True, within=1e-3),
        argument(ATTENTION, "dropout_p", QKV, 0.0, 0.5, dropped),
        argument(ATTENTION, "scale", QKV, 0.03125, 0.0625, dtype=HALF, within=0.01, variant="scale_fp16"),
    ],
    "factors_of_products": [argument("torch." + function, name, TERMS[function], 1, 2) for function in TERMS for name in ("alpha", "beta")],
    "scaled_mm_arguments": [
        scaled("scale_a", 1.0, 2.0, lambda a, b, scale: scale * (a @ b.t())), scaled("scale_b", 1.0, 0.5, lambda a, b, scale: scale * (a @ b.t())),
        scaled("bias", [0] * 32, [column % 8 for column in range(32)], lambda a, b, bias: a @ b.t() + bias),
        scaled("out_dtype", torch.bfloat16, SINGLE), scaled("use_fast_accum", True, True),  # which need not change the result
    ],
    "conv2d_arguments": [
        argument(CONV2D, "stride", IMAGES, 1, 2), argument(CONV2D, "padding", IMAGES, 0, 1), argument(CONV2D, "dilation", IMAGES, 1, 2),
        argument(CONV2D, "groups", IMAGES, 1, 2, lambda x, weight, v: fn.conv2d(x, weight[:, : 4 // v], groups=v)),
        *(argument(CONV2D, "padding_mode", IMAGES, "zeros", mode, padded_by, variant="padding_mode_" + mode) for mode in ("reflect", "circular")),
    ],
    "norm_arguments": [
        argument(F + "layer_norm", "eps", [(8, 32)], 1e-5, 1.0, normalized_shape=(32,)),
        argument(F + "batch_norm", "momentum", [(8, 4, 3)], 0.125, 0.5, running_mean),
        argument(F + "group_norm", "num_groups", [(8, 8, 3)], 2, 4),
    ],
    "cross_entropy_arguments": [
        argument(F + "cross_entropy", name, LABELLED, before, after) for name, before, after in (
            ("weight", None, [1.0, 2, 3, 4, 5]), ("ignore_index", -100, 1), ("label_smoothing", 0.0, 0.25), ("reduction", "mean", "sum"))
    ],
    "embedding_arguments": [
        argument(EMBEDDING, "padding_idx", TABLE, None, 1, gradient(lambda t, i, v: fn.embedding(i, t, padding_idx=v))),
        argument(EMBEDDING, "scale_grad_by_freq", TABLE, False, True, gradient(lambda t, i, v: fn.embedding(i, t, scale_grad_by_freq=v))),
    ],
    "activation_arguments": [
        argument(F + "gelu", "approximate", [(64,)], "none", "tanh"),
        argument(F + "interpolate", "align_corners", [(1, 2, 5, 5)], False, True, scale_factor=2, mode="bilinear"),
    ],
    "reduction_arguments": [
        argument("torch.sum", "dtype", [(4, 3)], HALF, SINGLE, lambda x, v: torch.sum(x * 0 + 683, 1, dtype=v),
                 lambda x, v: x.new_full((4,), 2049.0).to(v), HALF),
        argument("torch.cumsum", "dtype", [(3,)], HALF, SINGLE, lambda x, v: torch.cumsum(x * 0 + 683, 0, dtype=v),
                 lambda x, v: (x * 0 + 683).cumsum(0).to(v), HALF),
        argument("torch.softmax", "dtype", [(4, 3)], HALF, SINGLE, lambda x, v: torch.softmax(x * 0, 1, dtype=v),
                 lambda x, v: torch.softmax(x * 0, 1).to(v), HALF),
        argument("torch.std", "correction", [(4, 8)], 1, 0, dim=1),
        argument("torch.sort", "descending", [(64,)], False, True, lambda x, v: torch.sort(x, stable=True, descending=v).indices),
        argument("torch.topk", "largest", [(64,)], True, False, k=5),
    ],
    "linalg_arguments": [
        argument("torch.linalg.eigvalsh", "UPLO", SQUARE, "L", "U"),
        argument("torch.linalg.solve", "left", SQUARE * 2, True, False, lambda a, b, v: torch.linalg.solve(positive(a), b, left=v)),
        argument("torch.linalg.cholesky", "upper", SQUARE, False, True, lambda a, v: torch.linalg.cholesky(positive(a), upper=v)),
        argument("torch.linalg.qr", "mode", [(6, 4)], "reduced", "complete",
                 lambda a, v: torch.linalg.qr(a + 9 * torch.eye(6, 4).to(a), mode=v).R.abs()),
        argument("torch.linalg.solve_triangular", "upper", SQUARE * 2, False, True,
                 lambda a, b, v: torch.linalg.solve_triangular(positive(a), b, upper=v)),
    ],
    "expandable_segments": [Step("torch.empty", "PYTORCH_CUDA_ALLOC_CONF", expandable)],
    "expandable_segments_by_the_new_name": [Step("torch.empty", "PYTORCH_ALLOC_CONF", expandable)],
    "memory_fraction": [Step("torch.empty", "8_gib_of_one_percent", fraction_of_memory(0.01, False), fraction_of_memory(1.0, True))],
}
