# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What is compared beside right and wrong: memory, strides and types, exceptions, bits."""
from __future__ import annotations

import math
from functools import partial
from typing import Any, Callable, Dict, List, Tuple

import torch

from framework_trials.cells import World
from framework_trials.pytorch_canaries import needs
from framework_trials.pytorch_numbers import device_of, generator_of, small_integers
from framework_trials.upgrades.ground import Seen, Step, fn

Call = Callable[..., Any]
HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32
F = "torch.nn.functional."


def operand(world: World, *shape: int, dtype: torch.dtype = SINGLE) -> torch.Tensor:
    return small_integers(world, *shape).to(dtype).to(device_of(world))


def raising(call: Call) -> Callable[[World], Seen]:
    """With a matrix of 4x6; whatever it raises is compared."""

    def work(world: World) -> Seen:
        call(operand(world, 4, 6))
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return None

    return work


def peak(variant: str, shape: Tuple[int, ...], outputs: int, dtype: torch.dtype, backward: bool = False) -> Step:
    """The most memory that a convolution by 3x3x3 takes, over the size of its result."""

    def work(world: World) -> Seen:
        needs(world, 2 + outputs * math.prod(shape[2:]) // (1 << 23))  # 32 times the result in FP32
        x = torch.ones(shape, dtype=dtype, device=device_of(world), requires_grad=backward)
        kernel = torch.ones(outputs, shape[1], 3, 3, 3, dtype=dtype, device=x.device, requires_grad=backward)
        torch.cuda.reset_peak_memory_stats(x.device)
        before = torch.cuda.memory_allocated(x.device)
        found = fn.conv3d(x, kernel, padding=1)
        if backward:
            found.backward(found.detach())
        torch.cuda.synchronize(x.device)
        taken = torch.cuda.max_memory_allocated(x.device) - before
        world.trial.measure("peak memory over the result, " + variant.replace("_", " "), taken / (found.numel() * found.element_size()))
        return None

    return Step(F + "conv3d", variant, work)


def form(api: str, variant: str, call: Call, *shapes: Tuple[int, ...], dtype: torch.dtype = SINGLE) -> Step:
    """Strides and type of what the call makes; of a 4D operand by channels. Control: the numbers, by contiguous operands of FP32."""

    def work(world: World) -> Seen:
        operands = [operand(world, *shape, dtype=dtype) for shape in shapes]
        found = call(*(x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in operands))
        return None, {"strides": list(found.stride()), "type": str(found.dtype)}

    def numbers(world: World) -> Seen:
        operands = [operand(world, *shape) for shape in shapes]
        return torch.allclose(call(*operands).cpu().double(), call(*(x.cpu().double() for x in operands)).double(), 1e-2, 1e-2)

    return Step(api, variant, work, None if api == "torch.empty" else numbers)


def same_bits(api: str, variant: str, call: Call, *shapes: Tuple[int, ...], deterministic: bool = True) -> Step:
    """Of five runs; deterministic where that is asked for. Control: of ones, whose sums are exact in every order."""

    def work(world: World, ones: bool = False) -> Seen:
        made = (torch.ones(shape) if ones else torch.randn(shape, generator=generator_of(world)) for shape in shapes)
        operands = [x.to(device_of(world)) for x in made]
        torch.use_deterministic_algorithms(deterministic)
        try:
            first = call(*operands)
            return all(torch.equal(first, call(*operands)) for _ in range(4))
        finally:
            torch.use_deterministic_algorithms(False)

    return Step(api, variant + ("_deterministic" if deterministic else ""), work, partial(work, ones=True))


def at(x: torch.Tensor) -> torch.Tensor:
    """Few places for many elements."""
    return torch.arange(len(x), device=x.device) % 7


def attended(x: torch.Tensor) -> torch.Tensor:
    q = x.to(BRAIN).requires_grad_()
    fn.scaled_dot_product_attention(q, q, q).square().sum().backward()
    assert q.grad is not None
    return q.grad


IMAGES, VOLUME = (2, 8, 6, 6), (1, 128, 17, 256, 256)

ARMS: Dict[str, List[Step]] = {
    "conv3d_memory": [peak(name, VOLUME, 128, dtype) for name, dtype in (("fp32", SINGLE), ("bf16", BRAIN), ("fp16", HALF))],
    "conv3d_memory_of_training": [peak(f"fp32_{n}_backward", (1, 32, n, n, n), 16, SINGLE, True) for n in (96, 192)],
    "strides_and_types": [
        form(F + "conv2d", "by_channels", lambda x, k: fn.conv2d(x, k), IMAGES, (4, 8, 3, 3)),
        form(F + "conv2d", "bf16_by_channels", lambda x, k: fn.conv2d(x, k), IMAGES, (4, 8, 3, 3), dtype=BRAIN),
        form("torch.cat", "by_channels", lambda x, y: torch.cat([x, y], 1), IMAGES, IMAGES),
        form("torch.empty", "like_permuted", lambda x: torch.empty_like(x.permute(2, 0, 1)), (3, 4, 5)),
        form("torch.Tensor.clone", "every_second", lambda x: x[:, ::2].clone(), (3, 8, 5)),
        form("torch.einsum", "ijk_kl", lambda x, y: torch.einsum("ijk,kl->lij", x, y), (3, 4, 5), (5, 6)),
        form("torch.matmul", "transposed", lambda x, y: torch.matmul(x.mT, y), (2, 4, 5), (4, 6)),
        form("torch.bmm", "of_one_row", lambda x, y: torch.bmm(x, y), (2, 1, 5), (2, 5, 6)),
        form(F + "layer_norm", "by_channels", lambda x: fn.layer_norm(x, (6, 6)), IMAGES),
        form(F + "interpolate", "by_channels", lambda x: fn.interpolate(x, scale_factor=2), IMAGES),
        form(F + "scaled_dot_product_attention", "fp16", lambda x: fn.scaled_dot_product_attention(*[x.transpose(1, 2)] * 3), (2, 8, 6, 16), dtype=HALF),
        form("torch.sum", "int8", lambda x: x.sum(1), (3, 4), dtype=torch.int8),
        form("torch.add", "fp16_and_0d_fp32", lambda x: x.half() + x.sum(), (3, 4)),
        form("torch.linalg.solve", "batched", lambda x, y: torch.linalg.solve(x + 40 * torch.eye(4).to(x), y), (2, 4, 4), (2, 4, 3)),
    ],
    "same_bits": [
        same_bits("torch.matmul", "split_k", lambda a, b: a @ b, (16, 16384), (16384, 256), deterministic=False),
        same_bits("torch.matmul", "split_k", lambda a, b: a @ b, (16, 16384), (16384, 256)),
        same_bits("torch.Tensor.index_add_", "fp32", lambda x: torch.zeros(7, 64).to(x).index_add_(0, at(x), x), (4096, 64)),
        same_bits("torch.Tensor.scatter_add_", "fp32", lambda x: torch.zeros(7).to(x).scatter_add_(0, at(x), x), (4096,)),
        same_bits("torch.Tensor.index_put_", "fp32", lambda x: torch.zeros(7, 64).to(x).index_put_((at(x),), x, accumulate=True), (4096, 64)),
        same_bits(F + "scaled_dot_product_attention", "bf16_backward", attended, (2, 4, 256, 64)),
        same_bits(F + "conv2d", "fp32", lambda x, k: fn.conv2d(x, k, padding=1), (4, 64, 32, 32), (64, 64, 3, 3)),
    ],
    "errors": [
        Step("torch.matmul", "4x6_by_4x6", raising(lambda x: x @ x)),
        Step("torch.matmul", "fp32_by_fp64", raising(lambda x: x @ x.double().t())),
        Step("torch.matmul", "by_the_cpu", raising(lambda x: x @ x.cpu().t())),
        Step("torch.linalg.solve", "singular", raising(lambda x: torch.linalg.solve(x[:, :4] * 0, x))),
        Step("torch.empty", "2_48_bytes", raising(lambda x: x.new_empty(1 << 46))),
        Step("torch.gather", "index_on_the_cpu", raising(lambda x: x.gather(0, torch.zeros(4, 6, dtype=torch.int64)))),
        Step("torch.gather", "out_of_range", raising(lambda x: x.gather(0, torch.full((4, 6), 4, device=x.device)))),
    ],
}
