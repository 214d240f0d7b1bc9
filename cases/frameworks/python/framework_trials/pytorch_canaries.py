# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Shapes for which issues of PyTorch report wrong numbers, a refusal or a crash of a product. Nothing is predicted: each is compared with a
float64 reference on the host. Whole numbers, so that sums in FP32 are exact, unless the function says otherwise."""
from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional

import torch

from framework_trials.cells import World, in_thread
from framework_trials.pytorch_numbers import close, device_of, generator_of, small_integers
from framework_trials.protocol import NotProvoked

GIB = 1 << 30
FP32_ROUNDING = 2.0**-24


class Canary(NamedTuple):
    api: str
    variant: str
    work: Callable[[World], Optional[bool]]


def needs(world: World, gib: int) -> None:
    free = torch.cuda.mem_get_info(world.trial.device)[0]
    if free < gib * GIB:
        raise NotProvoked(f"{free // GIB} GiB are free, and {gib} are needed")


def on_device(world: World, numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return numbers.to(dtype).to(device_of(world))


def product(first: "tuple[int, ...]", second: "tuple[int, ...]", dtype: torch.dtype) -> Callable[[World], bool]:
    def work(world: World) -> bool:
        a, b = small_integers(world, *first), small_integers(world, *second)
        return close(world, [(on_device(world, a, dtype) @ on_device(world, b, dtype), a @ b)])

    return work


def linear(rows: int, features: int, outputs: int, dtype: torch.dtype, bias: bool) -> Callable[[World], bool]:
    def work(world: World) -> bool:
        x, weight = small_integers(world, rows, features), small_integers(world, outputs, features)
        added = small_integers(world, outputs) if bias else None
        wanted = x @ weight.t()
        if added is not None:
            wanted += added
        operands = [None if t is None else on_device(world, t, dtype) for t in (x, weight, added)]
        return close(world, [(torch.nn.functional.linear(*operands), wanted)])

    return work


def matrix_of_more_than_31_bits(as_vector: bool) -> Callable[[World], bool]:
    """A matrix of ones, but for its last row, of more than 2^31 - 1 elements."""

    def work(world: World) -> bool:
        needs(world, 12)
        rows, columns = 35783, 65133
        matrix = torch.ones(rows, columns, device=device_of(world))
        matrix[-1] = 2
        numbers = small_integers(world, columns)
        vector = on_device(world, numbers, torch.float32)
        found = torch.matmul(matrix, vector if as_vector else vector.unsqueeze(1)).reshape(rows)
        wanted = numbers.sum().repeat(rows)
        wanted[-1] *= 2
        return close(world, [(found, wanted)])

    return work


def column_of_more_than_31_bits(world: World) -> bool:
    """A column of such a matrix, multiplied by itself: zeros and ones, whose sum is below 2^24."""
    needs(world, 12)
    rows, columns = 16909322, 127
    matrix = torch.zeros(rows, columns, device=device_of(world))
    numbers = torch.randint(0, 3, (rows,), generator=generator_of(world)) == 0
    matrix[:, 0] = numbers.to(device_of(world))
    column = matrix[:, :1]
    return close(world, [(torch.matmul(column.t(), column), numbers.sum().double().reshape(1, 1))])


def outer_products_of_more_than_31_bits(world: World) -> bool:
    """A batch of outer products whose result has more than 2^31 - 1 elements, of which the first, a middle and the last one are compared."""
    needs(world, 12)
    batch, extent = 8209, 512
    a, b = small_integers(world, batch, extent, 1), small_integers(world, batch, 1, extent)
    found = torch.bmm(on_device(world, a, torch.float32), on_device(world, b, torch.float32))
    compared = [0, batch // 2, batch - 1]
    return close(world, [(found[compared], a[compared] @ b[compared])])


def scores(world: World) -> bool:
    shape = (13269, 8, 22, 64)
    query = small_integers(world, *shape)
    key = query.flip(0, -1)
    found = on_device(world, query, torch.float16) @ on_device(world, key, torch.float16).transpose(-1, -2)
    return close(world, [(found, query @ key.transpose(-1, -2))])


def cancelling(dtype: torch.dtype, reduced: Optional[bool] = None, bias: bool = False) -> Callable[[World], bool]:
    """Half of a long sum is beyond the largest FP16, and the other half takes it back. `reduced`: whether partial sums may be in FP16 or
    BF16; PyTorch's default where it is None. With a bias the product is torch.addmm."""

    def work(world: World) -> bool:
        if reduced is not None:
            name = "allow_fp16_reduced_precision_reduction" if dtype == torch.float16 else "allow_bf16_reduced_precision_reduction"
            setattr(torch.backends.cuda.matmul, name, reduced)
        rows, half = 64, 8192
        a = torch.cat([torch.full((rows, half), 4.0), torch.full((rows, half), -4.0)], dim=1).double()
        b = torch.full((2 * half, rows), 4.0).double()
        a[:, ::64] += small_integers(world, rows, 2 * half // 64)
        on_gpu = [on_device(world, t, dtype) for t in (a, b)]
        if not bias:
            return close(world, [(on_gpu[0] @ on_gpu[1], a @ b)])
        added = small_integers(world, rows)
        return close(world, [(torch.addmm(on_device(world, added, dtype), *on_gpu), a @ b + added)])

    return work


def padded_linear(world: World) -> bool:
    """A layer of BF16, and the same with more outputs, whose weights are zero: numbers from 0 to 1, whose sums round. What both have in
    common is compared with each other, too."""
    features, more = 3584, 1024
    weight = torch.rand(features, features, generator=generator_of(world)).bfloat16()
    bias = torch.rand(features, generator=generator_of(world)).bfloat16()
    pairs, differing = [], 0
    for rows in (1661, 1711, 1760):
        x = torch.rand(rows, features, generator=generator_of(world)).bfloat16()
        on_gpu = [t.to(device_of(world)) for t in (x, weight, bias)]
        alone = torch.nn.functional.linear(*on_gpu)
        with_zeros = torch.nn.functional.linear(
            on_gpu[0], torch.cat([on_gpu[1], on_gpu[1].new_zeros(more, features)]), torch.cat([on_gpu[2], on_gpu[2].new_zeros(more)])
        )[:, :features]
        differing += int((alone != with_zeros).sum().cpu())
        wanted = torch.nn.functional.linear(x.double(), weight.double(), bias.double())
        # Error bound of such a sum in FP32; the bias may be added after rounding.
        beyond = (features * FP32_ROUNDING + torch.finfo(torch.bfloat16).eps) * wanted
        pairs += [(alone, wanted, beyond), (with_zeros, wanted, beyond)]
    world.trial.measure("values that differ between the layers", differing)
    return close(world, pairs)


def unaligned(world: World) -> bool:
    """Operands and bias that begin 0 to 2 elements behind the beginning of a storage, in every combination."""
    rows, inner, columns = 64, 96, 128

    def placed(numbers: torch.Tensor, offset: int) -> torch.Tensor:
        storage = torch.zeros(numbers.numel() + offset, dtype=torch.float16, device=device_of(world))
        view = storage[offset:].view(numbers.shape)
        view.copy_(numbers)
        return view

    pairs = []
    for number in range(27):
        a, b, bias = small_integers(world, rows, inner), small_integers(world, inner, columns), small_integers(world, columns)
        operands = [placed(t, number // 3**i % 3) for i, t in enumerate((bias, a, b))]
        pairs.append((torch.addmm(*operands), a @ b + bias))
    return close(world, pairs)


def odd_row_counts(world: World) -> bool:
    """Rows around powers of two beyond 2^21, by a matrix of 2 x 2."""
    pairs = []
    for rows in (0b01000000000000000000001, 0b01000000000000000000010, 0b10000010010000010001110, 0b11000000000000000000000):
        a, b = small_integers(world, rows, 2), small_integers(world, 2, 2)
        pairs.append((torch.matmul(on_device(world, a, torch.float32), on_device(world, b, torch.float32)), a @ b))
    return close(world, pairs)


def graphs_of_one_stream(world: World) -> bool:
    """Two graphs that were captured on one stream. One is replayed after the other was reset, and memory was emptied and filled."""
    rows, width = 32768, 640
    torch.cuda.set_device(world.trial.device)
    stream = torch.cuda.Stream()

    def captured(a: torch.Tensor, b: torch.Tensor) -> "tuple[torch.cuda.CUDAGraph, torch.Tensor]":
        with torch.cuda.stream(stream):
            a.t() @ b  # by a workspace of the stream
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            found = a.t() @ b
        return graph, found

    x, y = small_integers(world, rows, width), small_integers(world, rows, width)
    kept, found = captured(on_device(world, x, torch.bfloat16), on_device(world, y, torch.bfloat16))
    kept.replay()
    zeros = torch.zeros(rows, width, dtype=torch.bfloat16, device=device_of(world))
    other, _ = captured(zeros, zeros)
    other.replay()
    torch.cuda.synchronize()
    other.reset()
    torch.cuda.empty_cache()
    filler = [torch.full((1 << 22,), 3.0, device=device_of(world)) for _ in range(16)]
    kept.replay()
    torch.cuda.synchronize()
    del filler
    return close(world, [(found, x.t() @ y)])


def graph_of_ended_thread(world: World) -> bool:
    """A graph that was captured in a thread which has ended, replayed after memory was emptied and filled."""
    rows, width = 32768, 640
    x, y = small_integers(world, rows, width), small_integers(world, rows, width)
    a, b = on_device(world, x, torch.bfloat16), on_device(world, y, torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    kept: List[torch.Tensor] = []

    def capture() -> None:
        torch.cuda.set_device(world.trial.device)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            a.t() @ b  # by a workspace of the thread
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            kept.append(a.t() @ b)

    in_thread(capture)
    torch.cuda.empty_cache()
    filler = [torch.full((1 << 22,), 3.0, device=device_of(world)) for _ in range(16)]
    graph.replay()
    torch.cuda.synchronize()
    del filler
    return close(world, [(kept[0], x.t() @ y)])


def scaled(shape: "tuple[int, int, int]", types: "tuple[str, str]" = ("e4m3fn", "e4m3fn"), by: str = "row_by_column",
           scales: str = "one") -> Callable[[World], bool]:
    """A product of FP8, rows x inner by inner x columns. `by`: how the operands lie. `scales`: one for each operand, one for each of its rows
    ("rowwise"), or one for 32 values ("blocks"), in the form that cuBLAS takes. All are 1."""
    rows, inner, columns = shape

    def scale(world: World, extent: int, row: bool) -> torch.Tensor:
        if scales == "one":
            return torch.ones((), device=device_of(world))
        if scales == "rowwise":
            return torch.ones((extent, 1) if row else (1, extent), device=device_of(world))
        count = -(-extent // 128) * 128 * (-(-inner // 128) * 4)
        return torch.full((count,), 127, dtype=torch.uint8, device=device_of(world)).view(torch.float8_e8m0fnu)

    def placed(world: World, numbers: torch.Tensor, dtype: str, by_columns: bool) -> torch.Tensor:
        fp8 = getattr(torch, "float8_" + dtype)
        return on_device(world, numbers.t().contiguous(), fp8).t() if by_columns else on_device(world, numbers, fp8)

    def work(world: World) -> bool:
        first_by, second_by = by.split("_by_")
        a, b = small_integers(world, rows, inner), small_integers(world, inner, columns)
        first = placed(world, a, types[0], first_by == "column")
        second = placed(world, b, types[1], second_by == "column")
        found = torch._scaled_mm(
            first, second, scale_a=scale(world, rows, True), scale_b=scale(world, columns, False), out_dtype=torch.bfloat16)
        return close(world, [(found, a @ b)])

    return work


LARGE_FP8 = (4096, 3072, 3072)
HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32

# By the word in an arm's name; pytorch.json names the issue with this shape.
CANARIES: Dict[str, Canary] = {
    "mv_beyond_31_bits": Canary("torch.matmul", "fp32_35783x65133_by_65133", matrix_of_more_than_31_bits(True)),
    "mm_beyond_31_bits": Canary("torch.matmul", "fp32_35783x65133_by_65133x1", matrix_of_more_than_31_bits(False)),
    "column_beyond_31_bits": Canary("torch.matmul", "fp32_column_of_16909322x127", column_of_more_than_31_bits),
    "bmm_beyond_31_bits": Canary("torch.bmm", "fp32_outer_8209x512x512", outer_products_of_more_than_31_bits),
    "linear_14x4096": Canary("torch.nn.Linear", "fp16_14x4096", linear(14, 4096, 4096, HALF, False)),
    "matmul_20x4096": Canary("torch.matmul", "fp16_20x4096x2048", product((20, 4096), (4096, 2048), HALF)),
    "matmul_64x14688": Canary("torch.matmul", "fp16_64x14688x1536", product((64, 14688), (14688, 1536), HALF)),
    "matmul_32x116": Canary("torch.matmul", "fp16_32x116x116x128", product((32, 116, 116), (32, 116, 128), HALF)),
    "bmm_65536": Canary("torch.bmm", "fp16_65536x8x64x8", product((65536, 8, 64), (65536, 64, 8), HALF)),
    "scores_13269": Canary("torch.matmul", "fp16_13269x8x22x64", scores),
    "linear_655360x10": Canary("torch.nn.Linear", "fp32_655360x10", linear(655360, 10, 10, SINGLE, True)),
    "rows_beyond_21_bits": Canary("torch.matmul", "fp32_rows_beyond_21_bits", odd_row_counts),
    "padded_linear": Canary("torch.nn.Linear", "bf16_padded_3584", padded_linear),
    "unaligned_addmm": Canary("torch.addmm", "fp16_unaligned", unaligned),
    "half_cancelling": Canary("torch.matmul", "fp16_cancelling", cancelling(HALF)),
    "half_cancelling+no_reduced_precision": Canary("torch.matmul", "fp16_cancelling", cancelling(HALF, False)),
    "bfloat16_cancelling": Canary("torch.matmul", "bf16_cancelling", cancelling(BRAIN)),
    "bfloat16_cancelling+no_reduced_precision": Canary("torch.matmul", "bf16_cancelling", cancelling(BRAIN, False)),
    "half_cancelling_addmm": Canary("torch.addmm", "fp16_cancelling", cancelling(HALF, bias=True)),
    "half_cancelling_addmm+no_reduced_precision": Canary("torch.addmm", "fp16_cancelling", cancelling(HALF, False, bias=True)),
    "graph_of_ended_thread": Canary("torch.cuda.CUDAGraph", "of_ended_thread", graph_of_ended_thread),
    "fp8_row_by_column": Canary("torch._scaled_mm", "4096x3072x3072", scaled(LARGE_FP8)),
    "fp8_row_by_row": Canary("torch._scaled_mm", "4096x3072x3072_row_by_row", scaled(LARGE_FP8, by="row_by_row")),
    "fp8_column_by_column": Canary("torch._scaled_mm", "4096x3072x3072_column_by_column", scaled(LARGE_FP8, by="column_by_column")),
    "fp8_column_by_row": Canary("torch._scaled_mm", "4096x3072x3072_column_by_row", scaled(LARGE_FP8, by="column_by_row")),
    "fp8_blocks": Canary("torch._scaled_mm", "4096x3072x3072_blocks", scaled(LARGE_FP8, scales="blocks")),
    "fp8_rowwise": Canary("torch._scaled_mm", "256x4096x4096_rowwise", scaled((256, 4096, 4096), scales="rowwise")),
    "fp8_e4m3_by_e5m2": Canary("torch._scaled_mm", "16x16x16_e4m3_by_e5m2", scaled((16, 16, 16), ("e4m3fn", "e5m2"))),
    "fp8_e5m2_by_e4m3": Canary("torch._scaled_mm", "16x16x16_e5m2_by_e4m3", scaled((16, 16, 16), ("e5m2", "e4m3fn"))),
    "fp8_e5m2_by_e5m2": Canary("torch._scaled_mm", "16x16x16_e5m2_by_e5m2", scaled((16, 16, 16), ("e5m2", "e5m2"))),
    "fp8_7x7": Canary("torch._scaled_mm", "7x7x7", scaled((7, 7, 7))),
    "fp8_17_rows": Canary("torch._scaled_mm", "17x16x16", scaled((17, 16, 16))),
    "graphs_of_one_stream": Canary("torch.cuda.CUDAGraph", "two_of_one_stream", graphs_of_one_stream),
}
