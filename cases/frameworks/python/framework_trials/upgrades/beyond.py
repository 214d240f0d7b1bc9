# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""More than 2^31 elements, bytes, rows or a span of them: at the first size that can fail, and beforehand at the last one that cannot.
Whole numbers, exact in the type."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from framework_trials.cells import World
from framework_trials.pytorch_canaries import needs
from framework_trials.pytorch_numbers import close, device_of, same, small_integers
from framework_trials.upgrades.ground import Seen, Step, beside, cycle, differing, exactly, periodic, sized, fn

E = 1 << 31
N = -1  # in a shape: the size that is tried
FIVE, SEVEN, ELEVEN, THIRTEEN, RING = range(-2, 3), range(-3, 4), range(-5, 6), range(-6, 7), range(-63, 64)
HALF, BRAIN, SINGLE, BYTE, LONG, BOOL = torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int64, torch.bool
Work = Callable[[World, int], Seen]
Call = Callable[..., Any]


def compared(gib: int, operands: Sequence[Tuple[Any, ...]], dtype: torch.dtype, call: Call, wanted: Call, foreign: int = 0) -> Work:
    """The call with cycles of numbers: (shape, values) or, of another type, (shape, values, type). `wanted` has the rows and the operands.
    `foreign`: bytes of the result for each of N, where memory of others is beside it."""

    def work(world: World, size: int) -> Seen:
        needs(world, gib)
        made = [cycle(world, [size if n == N else n for n in shape], values, *(of or [dtype])) for shape, values, *of in operands]
        facts: Dict[str, Any] = {}
        with beside(world, foreign * size, facts):
            right = exactly(call(*made), lambda i, j: wanted(i, j, *made))
        return right, facts

    return work


def rows_far_apart(world: World, rows: int) -> Seen:
    """A matrix whose rows are 2^27 elements apart, in a storage that is full."""
    needs(world, 10)
    apart = E >> 4
    storage = cycle(world, (17 * apart,), SEVEN, HALF)
    a, b = storage.as_strided((rows, 64), (apart, 1)), cycle(world, (64, 64), ELEVEN, HALF)
    numbers = (torch.arange(rows)[:, None] * apart + torch.arange(64)) % 7 - 3
    return same(a @ b, numbers.double() @ b.cpu().double())


def pointwise(call: str, batch: int, channels: int, spatial: Tuple[int, ...]) -> Work:
    """By a kernel of one element: sums over channels."""

    def work(world: World, size: int) -> Seen:
        needs(world, 24)
        x = cycle(world, (batch, channels, size, *spatial), SEVEN, HALF)
        kernel = cycle(world, (4, channels), range(1, 4), HALF)
        found = getattr(fn, call)(x, kernel.view(4, channels, *[1] * (x.dim() - 2)))
        numbers = x.flatten(2)

        def sums(of: torch.Tensor, i: int, j: int) -> torch.Tensor:
            return torch.stack([(of[:, i:j] * weights[:, None]).float().sum(0) for weights in kernel], 1)

        return all(exactly(found[b].flatten(1).t(), functools.partial(sums, numbers[b]), 1 << 22) for b in range(batch))

    return work


def box(world: World, width: int) -> Seen:
    """BF16 by channels, a kernel of 3x3 of one number for each output."""
    needs(world, 16)
    x = cycle(world, (8, 4, 2048, width), (1, 0, 0, 1, 0, 1, 1), BRAIN)
    factor = torch.arange(64, device=x.device) % 3 + 1
    kernel = factor.to(BRAIN).view(64, 1, 1, 1).repeat(1, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    found = fn.conv2d(x.contiguous(memory_format=torch.channels_last), kernel, padding=1)
    padded = fn.pad(x.float().sum(1), (1, 1, 1, 1))
    boxes = sum(padded[:, i : i + 2048, j : j + width] for i in range(3) for j in range(3)).flatten(0, 1)
    return exactly(found.permute(0, 2, 3, 1).flatten(0, 1), lambda i, j: boxes[i:j, :, None] * factor)


def depthwise(world: World, size: int) -> Seen:
    """Two numbers of each kernel are not zero: the middle one and its right neighbour."""
    needs(world, 16)
    x = cycle(world, (2, 64, 4096, size), SEVEN, HALF)
    here, right = (torch.arange(64, device=x.device) % n + 1 for n in (3, 5))
    kernel = torch.zeros(64, 1, 3, 3, dtype=HALF, device=x.device)
    kernel[:, 0, 1, 1], kernel[:, 0, 1, 2] = here, right
    found = fn.conv2d(x, kernel, padding=1, groups=64).flatten(0, 1)
    images, here, right = x.flatten(0, 1), here.repeat(2)[:, None, None], right.repeat(2)[:, None, None]
    return exactly(found, lambda i, j: here[i:j] * images[i:j] + right[i:j] * fn.pad(images[i:j, :, 1:], (0, 1)))


def of_table(call: Call, dtype: torch.dtype, more: int = 0) -> Work:
    """The last, the first and a middle row of a table of 1024 columns; what the call adds to these rows, and to no others."""

    def work(world: World, rows: int) -> Seen:
        needs(world, 8)
        table, index = cycle(world, (rows, 1024), RING, dtype), torch.tensor([rows - 1, 0, rows // 2])
        numbers = (index[:, None] * 1024 + torch.arange(1024)) % len(RING) - 63 + more
        right = same(call(table, index.to(table.device)), numbers.double())
        return right and differing(table.view(-1), periodic(world, RING, dtype)) == (3 * 1024 if more else 0)

    return work


def gradient_of_table(world: World, rows: int) -> Seen:
    """Each row of the gradient is how often its index came."""
    needs(world, 16)
    table = torch.zeros(rows, 1024, dtype=BRAIN, device=device_of(world), requires_grad=True)
    index = torch.tensor([rows - 1, 1, rows - 1, rows // 2, rows - 1], device=table.device)
    fn.embedding(index, table).backward(torch.ones(5, 1024, dtype=BRAIN, device=table.device))
    times = torch.zeros(rows, 1, device=table.device)
    times[rows - 1], times[1], times[rows // 2] = 3, 1, 1
    return table.grad is not None and exactly(table.grad, lambda i, j: times[i:j])


def occurring(count: int, values: Sequence[int]) -> List[float]:
    """How often each value comes in so many elements of a cycle."""
    return [float(count // len(values) + (i < count % len(values))) for i in range(len(values))]


def planted(world: World, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Zeros; 3 at the end, 2 in the middle, 1 near the beginning."""
    made = torch.zeros(count, dtype=dtype, device=device_of(world))
    made[count - 1], made[count // 2], made[7] = 3, 2, 1
    return made


def of_values(*values: int) -> Call:
    return lambda world, count, dtype: cycle(world, (count,), values, dtype)


def told(make: Call, dtype: torch.dtype, call: Call, wanted: Callable[[int], List[float]], gib: int = 50) -> Work:
    """A few numbers of all elements."""

    def work(world: World, count: int) -> Seen:
        needs(world, gib)
        return torch.cat([found.flatten().cpu().double() for found in call(make(world, count, dtype))]).tolist() == wanted(count)

    return work


def in_order(i: int, j: int, x: torch.Tensor) -> torch.Tensor:
    """Of the sorted cycle."""
    ends = torch.tensor(occurring(len(x), RING), device=x.device).double().cumsum(0).long()
    return torch.bucketize(torch.arange(i, j, device=x.device), ends, right=True) - 63


def loss_backward(world: World, rows: int) -> Seen:
    """Each row has the gradient of one row alone: a number at its label, and another one elsewhere."""
    needs(world, 26)

    def gradient(labels: torch.Tensor) -> torch.Tensor:
        x = torch.zeros(len(labels), 1 << 17, dtype=BRAIN, device=labels.device, requires_grad=True)
        fn.cross_entropy(x, labels, reduction="sum").backward()
        assert x.grad is not None
        return x.grad

    labels = cycle(world, (rows,), range(1009), LONG)
    at, elsewhere = gradient(labels[:1])[0, :2]
    columns = torch.arange(1 << 17, device=labels.device)
    right = exactly(gradient(labels), lambda i, j: torch.where(columns == labels[i:j, None], at, elsewhere))
    return right and abs(float(elsewhere) * 2**17 - 1) < 0.05 and abs(float(at) + 1) < 0.01


def norm_gradients(weighted: bool) -> Work:
    """Gradients of weight and bias of many rows of 4x8, with memory of others. Rows are +1 and -1, so that sums are of whole numbers."""

    def work(world: World, rows: int) -> Seen:
        signs = torch.tensor([1.0, -1.0]).repeat(16).double().view(4, 8) * (torch.arange(rows) % 7 // 4 * 2 - 1)[:, None, None]
        arriving = small_integers(world, rows, 4, 8)
        x, g = (t.float().to(device_of(world)) for t in (signs, arriving))
        weight = torch.ones(4, 8, device=x.device, requires_grad=True) if weighted else None
        bias = torch.zeros(4, 8, device=x.device, requires_grad=True)
        facts: Dict[str, Any] = {}
        with beside(world, 1 << 20, facts):
            fn.layer_norm(x, (4, 8), weight, bias, eps=0.0).backward(g)
            assert bias.grad is not None
            pairs = [(bias.grad, arriving.sum(0), torch.full((), 0.5))]
            if weight is not None and weight.grad is not None:
                pairs.append((weight.grad, (arriving * signs).sum(0), torch.full((), 0.5)))
            right = close(world, pairs)
        return right, facts

    return work


def norm(call: Call, backward: bool) -> Work:
    """Rows of 2048, +1 and -1 in turn, are their own norm; a gradient of +1, +1, -1, -1 goes through as it is."""

    def work(world: World, rows: int) -> Seen:
        needs(world, 26)
        x, g = (torch.empty(rows, 2048, dtype=HALF, device=device_of(world)) for _ in range(2))
        signs = cycle(world, (rows, 1), (1, -1, -1), HALF)
        for of, pattern in ((x, (1, -1, 1, -1)), (g, (1, 1, -1, -1))):
            row = torch.tensor(pattern * 512, dtype=HALF, device=x.device)
            for first in range(0, rows, 1 << 14):
                of[first : first + (1 << 14)] = signs[first : first + (1 << 14)] * row
        found = call(x.requires_grad_(backward))
        if not backward:
            return exactly(found, lambda i, j: x[i:j])
        found.backward(g)
        return x.grad is not None and exactly(x.grad, lambda i, j: g[i:j])

    return work


def one_query(cudnn: bool) -> Work:
    """Of zero: all keys count alike, so that the result is the mean of v, whose rows are equal, and the query has no gradient."""

    def work(world: World, length: int) -> Seen:
        q = torch.zeros(1, 16, 1, 64, dtype=BRAIN, device=device_of(world), requires_grad=True)
        k = cycle(world, (1, 16, length, 64), SEVEN, BRAIN).requires_grad_()
        v = torch.arange(64, device=q.device).remainder(8).to(BRAIN).expand(1, 16, length, 64).contiguous().requires_grad_()
        attention = torch.nn.attention
        with attention.sdpa_kernel(attention.SDPBackend.CUDNN_ATTENTION) if cudnn else contextlib.nullcontext():
            found = fn.scaled_dot_product_attention(q, k, v)
        found.backward(torch.ones_like(found))
        wanted = torch.arange(64).remainder(8).double().expand(1, 16, 1, 64)
        assert q.grad is not None and v.grad is not None
        right = close(world, [(found, wanted), (q.grad, torch.zeros(q.shape).double(), torch.full((), 0.05))])
        return right and float((v.grad.float() * length - 1).abs().max()) < 0.01

    return work


def columns(count: int) -> List[float]:
    """Of a table of 32768 columns in which every 97th element is a one."""
    first = [row * 32768 % 97 for row in range(count >> 15)]
    times = [float(first.count(at)) for at in range(97)]
    return [times[-column % 97] for column in range(32768)]


def two_halves(dim: int) -> Work:
    def wanted(i: int, j: int, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cat([a[i:j], b[i:j]], 1) if dim else torch.cat([a[i:j], b[max(0, i - len(a)) : max(0, j - len(a))]])

    return compared(8, [((N, E >> 16), RING), ((N, E >> 16), ELEVEN)], BYTE, lambda *x: torch.cat(x, dim), wanted)


def by_stride(x: torch.Tensor, kernel: torch.Tensor, image: int) -> torch.Tensor:
    """What a kernel of 2x2 puts into an image of twice the size."""
    parts = [x[image // 16, c, :, None, :, None] * kernel[c, image % 16, None, :, None, :] for c in range(2)]
    return (parts[0] + parts[1]).reshape(2 * x.shape[2], 2 * x.shape[3])


BATCH, ROWS, TABLE = E >> 18, E >> 15, (E >> 10) + 1
COLUMN, ROW, LINE = ((N, 512, 1), SEVEN), ((N, 1, 512), ELEVEN), ((1, 32768), ELEVEN)
BMM, NORM, F = "torch.bmm", "torch.nn.functional.layer_norm", "torch.nn.functional."
ALL, EVERY_1009 = (N,), [int(i == E % 1009) for i in range(1009)]


def product(i: int, j: int, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a[i:j] * b[i:j]


def doubled(call: Call, i: int, j: int, x: torch.Tensor) -> torch.Tensor:
    """Of the two halves of a batch, one after the other."""
    return torch.cat([call(half) for half in x.tensor_split(2)])[i:j]


def in_halves(shape: Tuple[int, ...], call: Call) -> Work:
    return compared(1, [((N, *shape), SEVEN)], SINGLE, call, lambda i, j, x: doubled(call, i, j, x))


def outer(call: Call, dtype: torch.dtype, size: int) -> Work:
    return compared(24, [COLUMN, ROW], dtype, call, product, foreign=size)


# Name: the function, the variant, the first size that can fail, the last one that cannot, and what is done; several where one has several.
ROWS_OF_ARMS: Dict[str, List[Tuple[str, str, int, int, Work]]] = {
    "bmm_outer": [(BMM, "fp32_outer_8192x512x512", BATCH, BATCH - 1, outer(torch.bmm, SINGLE, 1 << 20))],
    "bmm_outer_bytes": [(BMM, "bf16_outer_4096x512x512", BATCH // 2, BATCH // 2 - 1, outer(torch.bmm, BRAIN, 1 << 19))],
    "bmm_inner": [(BMM, "fp32_inner_1048576x2048", 2048, 2047, compared(
        24, [((E >> 11, 1, N), SEVEN), ((E >> 11, N, 1), FIVE)], SINGLE, lambda a, b: torch.bmm(a, b)[:, 0].expand(-1, 2048),
        lambda i, j, a, b: (a[i:j, 0] * b[i:j, :, 0]).sum(1, keepdim=True)))],
    "baddbmm": [("torch.baddbmm", "fp32_outer_8192x512x512", BATCH, BATCH - 1, compared(
        32, [((N, 512, 512), THIRTEEN), COLUMN, ROW], SINGLE, torch.baddbmm, lambda i, j, c, a, b: c[i:j] + a[i:j] * b[i:j], foreign=1 << 20))],
    "einsum": [("torch.einsum", "fp32_outer_8192x512x512", BATCH, BATCH - 1, outer(
        lambda a, b: torch.einsum("bij,bkj->bik", a, b.transpose(1, 2)), SINGLE, 1 << 20))],
    "mm_outer": [("torch.matmul", "fp16_65536x1x32768", ROWS, ROWS - 1, compared(
        16, [((N, 1), SEVEN), LINE], HALF, torch.mm, lambda i, j, a, b: a[i:j] * b, foreign=1 << 16))],
    "addmm_outer": [("torch.addmm", "fp16_65536x1x32768", ROWS, ROWS - 1, compared(
        16, [((32768,), THIRTEEN), ((N, 1), SEVEN), LINE], HALF, torch.addmm, lambda i, j, c, a, b: c + a[i:j] * b, foreign=1 << 16))],
    "mm_of_rows_far_apart": [("torch.matmul", "fp16_17_rows_134217728_apart", 17, 16, rows_far_apart)],
    "mv": [("torch.mv", "fp32_32768x65536", ROWS // 2, ROWS // 2 - 1, compared(
        14, [((N, 65536), SEVEN), ((65536,), FIVE)], SINGLE, lambda a, b: torch.mv(a, b)[:, None].expand_as(a),
        lambda i, j, a, b: (a[i:j] * b).sum(1, keepdim=True)))],
    "conv2d_pointwise": [(F + "conv2d", "fp16_2x64x4096x4096_pointwise", E >> 19, (E >> 19) - 1, pointwise("conv2d", 2, 64, (4096,)))],
    "conv2d_by_channels": [(F + "conv2d", "bf16_8x64x2048x2048_by_channels", E >> 20, (E >> 20) - 1, box)],
    "conv3d_pointwise": [(F + "conv3d", "fp16_32x64x1024x1024_pointwise", E >> 25, (E >> 25) - 1, pointwise("conv3d", 1, 32, (1024, 1024)))],
    "conv_transpose2d": [(F + "conv_transpose2d", "fp16_2x16x8192x8192", E >> 19, (E >> 19) - 1, compared(
        16, [((2, 2, N, 4096), SEVEN), ((2, 16, 2, 2), ELEVEN)], HALF, lambda x, k: fn.conv_transpose2d(x, k, stride=2).flatten(0, 1),
        lambda i, j, x, k: torch.stack([by_stride(x, k, image) for image in range(i, j)])))],
    "conv2d_depthwise": [(F + "conv2d", "fp16_2x64x4096x4096_depthwise", E >> 19, (E >> 19) - 1, depthwise)],
    "index_select": [("torch.index_select", "int8_row_2097152", TABLE, TABLE - 1, of_table(lambda t, i: t.index_select(0, i), BYTE))],
    "embedding": [("torch.nn.Embedding", "bf16_row_2097152", TABLE, TABLE - 1, of_table(lambda t, i: fn.embedding(i, t), BRAIN))],
    "embedding_backward": [("torch.nn.Embedding", "bf16_row_2097152_backward", TABLE, TABLE - 1, gradient_of_table)],
    "index_add": [("torch.Tensor.index_add_", "int8_row_2097152", TABLE, TABLE - 1, of_table(
        lambda t, i: t.index_add_(0, i, torch.ones_like(t[:3]))[i], BYTE, more=1))],
    "index_put": [("torch.Tensor.index_put_", "int8_row_2097152", TABLE, TABLE - 1, of_table(
        lambda t, i: t.index_put_((i,), torch.ones_like(t[:1, :1]), accumulate=True)[i], BYTE, more=1))],
    "gather": [("torch.gather", "int8", E, E - 1, compared(
        24, [((1009,), RING), (ALL, [i * 365 % 1009 for i in range(1009)], LONG)], BYTE, lambda t, at: torch.gather(t, 0, at),
        lambda i, j, t, at: (at[i:j] % 127 - 63)))],
    "scatter_add": [("torch.Tensor.scatter_add_", "fp32", E, E - 1, told(
        of_values(*range(1021)), LONG,
        lambda at: [torch.zeros(1021, device=at.device).scatter_add_(0, at, torch.ones(1, device=at.device).expand_as(at))],
        lambda n: occurring(n, range(1021))))],
    "masked_select": [("torch.masked_select", "int8", E + 1, E - 1, compared(
        40, [(ALL, RING), (ALL, EVERY_1009, BOOL)], BYTE, torch.masked_select,
        lambda i, j, x, m: (torch.arange(i, j, device=x.device) * 1009 + E % 1009) % 127 - 63))],
    "nonzero": [("torch.nonzero", "int8", E + 1, E - 1, told(planted, BYTE, lambda x: [torch.nonzero(x)], lambda n: [7, n // 2, n - 1]))],
    "where": [("torch.where", "int8", E + 1, E - 1, compared(
        12, [(ALL, (1, 0, 0), BOOL), (ALL, RING), (ALL, ELEVEN)], BYTE, torch.where, lambda i, j, m, a, b: m[i:j] * a[i:j] + ~m[i:j] * b[i:j]))],
    "cat": [("torch.cat", f"int8_dim_{dim}", ROWS // 2, ROWS // 2 - 1, two_halves(dim)) for dim in (0, 1)],
    "permuted": [("torch.Tensor.contiguous", "int8_permuted", E >> 16, (E >> 16) - 1, compared(
        8, [((2, E >> 16, N), RING)], BYTE, lambda x: x.permute(2, 1, 0).contiguous(), lambda i, j, x: x.permute(2, 1, 0)[i:j]))],
    "sum": [("torch.sum", "int8", E, E - 1, told(
        of_values(*SEVEN), BYTE, lambda x: [torch.sum(x, dtype=LONG)], lambda n: [sum(c * v for c, v in zip(occurring(n, SEVEN), SEVEN))], 24))],
    "sum_of_dims": [
        ("torch.sum", "fp16_dim_0", E, E - 32768, told(of_values(1, *[0] * 96), HALF, lambda x: [x.view(-1, 32768).sum(0)], columns, 8)),
        ("torch.sum", "fp16_dim_1", ROWS, ROWS - 1, compared(
            8, [((N, 32768), [1] + [0] * 96)], HALF, lambda x: x.sum(1, keepdim=True).expand_as(x),
            lambda i, j, x: x[i:j].float().sum(1, keepdim=True)))],
    "argmax": [("torch.argmax", "int8", E + 1, E, told(planted, BYTE, lambda x: [torch.argmax(x)], lambda n: [n - 1], 6))],
    "max_of_dim": [("torch.max", "int8_dim_1", E + 1, E, told(planted, BYTE, lambda x: torch.max(x.view(1, -1), 1), lambda n: [3, n - 1], 6))],
    "cumsum": [("torch.cumsum", "uint8_to_int64", E, E - 1, compared(
        60, [(ALL, [1] + [0] * 6)], torch.uint8, lambda x: torch.cumsum(x, 0, dtype=LONG),
        lambda i, j, x: torch.arange(i, j, device=x.device).div(7, rounding_mode="floor") + 1))],
    "sort": [("torch.sort", variant, first, E // 2, compared(90, [(ALL, RING)], BYTE, lambda x: torch.sort(x, stable=True).values, in_order))
             for variant, first in (("int8_stable_below", E - 1), ("int8_stable", E))],
    "topk": [("torch.topk", "fp16_3", E, E - 1, told(planted, HALF, lambda x: torch.topk(x, 3), lambda n: [3, 2, 1, n - 1, n // 2, 7]))],
    "bincount": [("torch.bincount", "uint8", E, E - 1, told(
        of_values(*range(7)), torch.uint8, lambda x: [torch.bincount(x)], lambda n: occurring(n, SEVEN)))],
    "unique": [("torch.unique", "int8", E, E - 1, told(
        of_values(*SEVEN), BYTE, lambda x: torch.unique(x, return_counts=True), lambda n: [*SEVEN, *occurring(n, SEVEN)]))],
    "arange": [("torch.arange", "int32", E, E - 1, compared(
        14, [(ALL, [0])], BYTE, lambda x: torch.arange(len(x), dtype=torch.int32, device=x.device),
        lambda i, j, x: torch.arange(i, j, device=x.device)))],
    "elementwise": [
        ("torch.Tensor.fill_", "int8", E, E - 1, compared(10, [(ALL, SEVEN)], BYTE, lambda x: torch.empty_like(x).fill_(5), lambda i, j, x: 5, 1)),
        ("torch.Tensor.clone", "int8", E, E - 1, compared(10, [(ALL, SEVEN)], BYTE, lambda x: x.clone(), lambda i, j, x: x[i:j], 1)),
        ("torch.add", "int8", E, E - 1, compared(10, [(ALL, SEVEN)], BYTE, lambda x: x + 40, lambda i, j, x: x[i:j].int() + 40, 1))],
    "softmax": [("torch.softmax", "bf16_16384x131072", E >> 17, (E >> 17) - 1, compared(
        12, [((N, 1 << 17), [0])], BRAIN, lambda x: torch.softmax(x, 1), lambda i, j, x: torch.full((), 2.0**-17, device=x.device)))],
    "cross_entropy_backward": [(F + "cross_entropy", "bf16_16384x131072_backward", E >> 17, (E >> 17) - 1, loss_backward)],
    "layer_norm_gradients": [(NORM, "fp32_65537x4x8_backward", 65537, 65536, norm_gradients(True))],
    "layer_norm_gradient_of_bias": [(NORM, "fp32_65537x4x8_backward_bias", 65537, 65536, norm_gradients(False))],
    "layer_norm": [
        (NORM, "fp16_1048576x2048", E >> 11, (E >> 11) - 1, norm(lambda x: fn.layer_norm(x, (2048,)), False)),
        (NORM, "fp16_1048576x2048_backward", E >> 11, (E >> 11) - 1, norm(lambda x: fn.layer_norm(x, (2048,)), True))],
    "rms_norm_backward": [(F + "rms_norm", "fp16_1048576x2048_backward", E >> 11, (E >> 11) - 1, norm(
        lambda x: fn.rms_norm(x, (2048,), eps=1e-5), True))],
    "group_norm_backward": [(F + "group_norm", "fp16_1048576x2048_backward", E >> 11, (E >> 11) - 1, norm(lambda x: fn.group_norm(x, 32), True))],
    "batches_of_65536": [
        (BMM, "fp32_65536x8x8", 65536, 65535, in_halves((8, 8), lambda x: torch.bmm(x, x))),
        ("torch.triu", "fp32_65536x8x8", 65536, 65535, in_halves((8, 8), lambda x: torch.triu(x))),
        (F + "interpolate", "fp32_65536x4x4", 65536, 65535, in_halves((1, 4, 4), lambda x: fn.interpolate(x, scale_factor=2))),
        (F + "avg_pool2d", "fp32_65536x4x4", 65536, 65535, in_halves((1, 4, 4), lambda x: fn.avg_pool2d(x, 2))),
        ("torch.index_select", "fp32_65536x8x8", 65536, 65535, in_halves((8, 8), lambda x: x.index_select(2, torch.tensor([7, 0]).to(x.device))))],
    "one_query": [(F + "scaled_dot_product_attention", "bf16_1_by_65536_backward", 65536, 65535, one_query(False))],
    "one_query_by_cudnn": [(F + "scaled_dot_product_attention", "bf16_1_by_65536_backward", 65536, 1024, one_query(True))],
}
ARMS: Dict[str, List[Step]] = {
    name: [sized(api, variant, work, first, last) for api, variant, first, last, work in rows] for name, rows in ROWS_OF_ARMS.items()
}
