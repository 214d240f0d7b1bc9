"""More than 2^31 elements, bytes, rows or a span of them: after a smaller size, the control, most have 2^31 elements and the first
size with an offset beyond 31 bits. Whole numbers, exact in the type."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from framework_trials.cells import World
from framework_trials.pytorch_canaries import needs
from framework_trials.pytorch_numbers import close, device_of, same, small_integers
from framework_trials.upgrades.ground import Seen, Step, beside, cycle, differing, exactly, periodic, sized, fn

LIMIT = 1 << 31
SIZE = -1  # in a shape: the size that is tried
UP_TO_2, UP_TO_3, UP_TO_5, UP_TO_6, UP_TO_63 = range(-2, 3), range(-3, 4), range(-5, 6), range(-6, 7), range(-63, 64)
HALF, BRAIN, SINGLE, BYTE, LONG, BOOL = torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int64, torch.bool
Work = Callable[[World, int], Seen]
Call = Callable[..., Any]


def compared(
    gib: int, operands: Sequence[Tuple[Any, ...]], dtype: torch.dtype, call: Call, wanted: Optional[Call] = None, bytes_of_result: int = 0,
    length: Optional[Callable[[int], int]] = None,
) -> Work:
    """The call with cycles of numbers: (shape, values) or, of another type, (shape, values, type). `wanted` has the rows and the operands.
    Without it the result must be that of the call with pieces of the first operand, which are too small to fail. `bytes_of_result`: for each of
    SIZE, where memory of others is beside it. `length`: of the result, where it depends on values."""

    def work(world: World, size: int) -> Seen:
        needs(world, gib + (2 if bytes_of_result else 0))
        made = [cycle(world, [size if n == SIZE else n for n in shape], values, *(of or [dtype])) for shape, values, *of in operands]
        facts: Dict[str, Any] = {}
        with beside(world, bytes_of_result * size, facts):
            found = call(*made)
            if wanted:
                right = exactly(found, lambda i, j: wanted(i, j, *made))
            else:
                right = exactly(found, lambda i, j: call(made[0][i:j], *made[1:]), made[0])
            right = right and (length is None or len(found) == length(size))
        return right, facts

    return work


def rows_far_apart(world: World, rows: int) -> Seen:
    """A matrix whose rows are 2^27 elements apart, in a storage that is full."""
    needs(world, 10)
    apart = LIMIT >> 4
    storage = cycle(world, (17 * apart,), UP_TO_3, HALF)
    a, b = storage.as_strided((rows, 64), (apart, 1)), cycle(world, (64, 64), UP_TO_5, HALF)
    numbers = (torch.arange(rows)[:, None] * apart + torch.arange(64)) % 7 - 3
    return same(a @ b, numbers.double() @ b.cpu().double())


def of_table(call: Call, dtype: torch.dtype, more: int = 0) -> Work:
    """The last, the first and a middle row of a table of 1024 columns; what the call adds to these rows, and to no others (of bytes, with memory
    of others)."""

    def work(world: World, rows: int) -> Seen:
        needs(world, 8)
        index = torch.tensor([rows - 1, 0, rows // 2])
        numbers = (index[:, None] * 1024 + torch.arange(1024)) % len(UP_TO_63) - 63 + more
        facts: Dict[str, Any] = {}
        with beside(world, rows * 1024 * more, facts):
            table = cycle(world, (rows, 1024), UP_TO_63, dtype)
            right = same(call(table, index.to(table.device)), numbers.double())
            right = right and differing(table.view(-1), periodic(world, UP_TO_63, dtype)) == 3 * 1024 * more
        return right, facts

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


def few_numbers(make: Call, dtype: torch.dtype, call: Call, wanted: Callable[[int], List[float]], gib: int = 6) -> Work:
    """A few numbers of all elements."""

    def work(world: World, count: int) -> Seen:
        needs(world, gib)
        return torch.cat([found.flatten().cpu().double() for found in call(make(world, count, dtype))]).tolist() == wanted(count)

    return work


def in_order(i: int, j: int, x: torch.Tensor) -> torch.Tensor:
    """Of the sorted cycle."""
    ends = torch.tensor(occurring(len(x), UP_TO_63), device=x.device).double().cumsum(0).long()
    return torch.bucketize(torch.arange(i, j, device=x.device), ends, right=True) - 63


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


def one_query(cudnn: bool) -> Work:
    """Of zero: all keys count alike, so that the result is the mean of v, whose rows are equal, and the query has no gradient."""

    def work(world: World, length: int) -> Seen:
        q = torch.zeros(1, 16, 1, 64, dtype=BRAIN, device=device_of(world), requires_grad=True)
        k = cycle(world, (1, 16, length, 64), UP_TO_3, BRAIN).requires_grad_()
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

    return compared(8, [((SIZE, 32768), UP_TO_63), ((SIZE, 32768), UP_TO_5)], BYTE, lambda *x: torch.cat(x, dim), wanted, 65536)


def cumsum_at_the_end(x: torch.Tensor) -> torch.Tensor:
    """Of int64 at the end of pages of 2 MiB, which were taken last: a kernel that reads on meets no rest of a page."""
    found = torch.empty(len(x), dtype=LONG, device=x.device)
    storage = torch.empty(-(-len(x) // PAGE) * PAGE, dtype=LONG, device=x.device)
    return torch.cumsum(storage[len(storage) - len(x) :].copy_(x), 0, out=found)


def gradient_of_loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(fn.cross_entropy(x.requires_grad_(), labels, reduction="sum"), x)[0]


def by_depth(volume: torch.Tensor) -> torch.Tensor:
    return volume[0].transpose(0, 1)


def around(size: int) -> Tuple[int, int, int]:
    return size - 1, size, size + 1


BATCHES = (8191, 8192, 8209)  # Triton's kernel of pytorch#196431 works up to 8208
PAGE = (2 << 20) // 8  # numbers of 8 bytes
TABLE = around(LIMIT >> 10)
COLUMN, ROW, LINE = ((SIZE, 512, 1), UP_TO_3), ((SIZE, 1, 512), UP_TO_5), ((1, 32768), UP_TO_5)
BMM, LAYER_NORM, FUNCTIONAL = "torch.bmm", "torch.nn.functional.layer_norm", "torch.nn.functional."
ALL, EVERY_1009 = (SIZE,), [int(i == LIMIT % 1009) for i in range(1009)]
# Rows of 2048, +1 and -1 in turn, are their own norm; a gradient of +1, +1, -1, -1 goes through as it is. Two of three rows change their signs.
NORMED, ARRIVING = (((SIZE, 2048), [sign * n for sign in (1, -1, -1) for n in row * 512]) for row in ((1, -1, 1, -1), (1, 1, -1, -1)))


def outer(call: Call, dtype: torch.dtype, bytes_of_result: int) -> Work:
    return compared(24, [COLUMN, ROW], dtype, call, lambda i, j, a, b: a[i:j] * b[i:j], bytes_of_result)


def norm_backward(op: Call) -> Work:
    return compared(
        26, [NORMED, ARRIVING], HALF, lambda x, g: torch.autograd.grad(op(x.requires_grad_()), x, g)[0], lambda i, j, _, g: g[i:j], 4096)


def many(shape: Tuple[int, ...], call: Call, bytes_of_result: int) -> Work:
    return compared(1, [((SIZE, *shape), UP_TO_3)], SINGLE, call, None, bytes_of_result)


# Name: the function, the variant, the sizes, of which the first one cannot fail, and what is done; several where one has several.
ROWS_OF_ARMS: Dict[str, List[Tuple[str, str, Tuple[int, ...], Work]]] = {
    "bmm_outer": [(BMM, "fp32_outer_{}x512x512", BATCHES, outer(torch.bmm, SINGLE, 1 << 20))],
    "bmm_outer_bytes": [(BMM, "bf16_outer_{}x512x512", around(4096), outer(torch.bmm, BRAIN, 1 << 19))],
    "bmm_inner": [(BMM, "fp32_inner_1048576x{}", around(2048), compared(
        24, [((LIMIT >> 11, 1, SIZE), UP_TO_3), ((LIMIT >> 11, SIZE, 1), UP_TO_2)], SINGLE, lambda a, b: torch.bmm(a, b)[:, 0].expand(-1, 2048),
        lambda i, j, a, b: (a[i:j, 0] * b[i:j, :, 0]).sum(1, keepdim=True)))],
    "baddbmm": [("torch.baddbmm", "fp32_outer_{}x512x512", BATCHES, compared(
        32, [((SIZE, 512, 512), UP_TO_6), COLUMN, ROW], SINGLE, torch.baddbmm, lambda i, j, c, a, b: c[i:j] + a[i:j] * b[i:j], 1 << 20))],
    "einsum": [("torch.einsum", "fp32_outer_{}x512x512", BATCHES, outer(
        lambda a, b: torch.einsum("bij,bkj->bik", a, b.transpose(1, 2)), SINGLE, 1 << 20))],
    "mm_outer": [("torch.matmul", "fp16_{}x1x32768", around(65536), compared(
        16, [((SIZE, 1), UP_TO_3), LINE], HALF, torch.mm, lambda i, j, a, b: a[i:j] * b, 1 << 16))],
    "addmm_outer": [("torch.addmm", "fp16_{}x1x32768", around(65536), compared(
        16, [((32768,), UP_TO_6), ((SIZE, 1), UP_TO_3), LINE], HALF, torch.addmm, lambda i, j, c, a, b: c + a[i:j] * b, 1 << 16))],
    "mm_of_rows_far_apart": [("torch.matmul", "fp16_{}_rows_134217728_apart", (16, 17), rows_far_apart)],
    "mv": [("torch.mv", "fp32_{}x65536", around(32768), compared(
        14, [((SIZE, 65536), UP_TO_3), ((65536,), UP_TO_2)], SINGLE, lambda a, b: torch.mv(a, b)[:, None].expand_as(a),
        lambda i, j, a, b: (a[i:j] * b).sum(1, keepdim=True)))],
    "conv2d_pointwise": [(FUNCTIONAL + "conv2d", "fp16_8x64x{}x2048_pointwise", around(2048), compared(
        24, [((8, 64, SIZE, 2048), UP_TO_3), ((4, 64, 1, 1), range(1, 4))], HALF, lambda x, k: fn.conv2d(x, k), None, 1 << 17))],
    "conv2d_by_channels": [(FUNCTIONAL + "conv2d", "bf16_8x64x{}x2048_by_channels", around(2048), compared(
        16, [((8, SIZE, 2048, 4), (1, 0, 0, 1, 0, 1, 1)), ((64, 3, 3, 4), range(1, 4))], BRAIN,
        lambda *x: fn.conv2d(*(t.permute(0, 3, 1, 2) for t in x), padding=1), None, 1 << 21))],
    "conv3d_pointwise": [(FUNCTIONAL + "conv3d", "fp16_32x{}x1024x1024_pointwise", around(64), compared(
        24, [((1, 32, SIZE, 1024, 1024), UP_TO_3), ((4, 32, 1, 1, 1), range(1, 4))], HALF, lambda x, k: by_depth(fn.conv3d(x, k)),
        lambda i, j, x, k: by_depth(fn.conv3d(x[:, :, i:j].contiguous(), k)), 1 << 23))],
    "conv_transpose2d": [(FUNCTIONAL + "conv_transpose2d", "fp16_8x2x{}x2048", around(2048), compared(
        16, [((8, 2, SIZE, 2048), UP_TO_3), ((2, 16, 2, 2), UP_TO_5)], HALF, lambda x, k: fn.conv_transpose2d(x, k, stride=2), None, 1 << 21))],
    "conv2d_depthwise": [(FUNCTIONAL + "conv2d", "fp16_8x64x{}x2048_depthwise", around(2048), compared(
        16, [((8, 64, SIZE, 2048), UP_TO_3), ((64, 1, 3, 3), UP_TO_3)], HALF, lambda x, k: fn.conv2d(x, k, padding=1, groups=64), None, 1 << 21))],
    "index_select": [("torch.index_select", "int8_{}_rows", TABLE, of_table(lambda t, i: t.index_select(0, i), BYTE))],
    "embedding_backward": [("torch.nn.Embedding", "bf16_{}_rows_backward", TABLE, gradient_of_table)],
    "index_add": [("torch.Tensor.index_add_", "int8_{}_rows", TABLE, of_table(
        lambda t, i: t.index_add_(0, i, torch.ones_like(t[:3]))[i], BYTE, more=1))],
    "index_put": [("torch.Tensor.index_put_", "int8_{}_rows", TABLE, of_table(
        lambda t, i: t.index_put_((i,), torch.ones_like(t[:1, :1]), accumulate=True)[i], BYTE, more=1))],
    "gather": [("torch.gather", "int8_{}", around(LIMIT), compared(
        24, [((1009,), UP_TO_63), (ALL, [i * 365 % 1009 for i in range(1009)], LONG)], BYTE, lambda t, at: torch.gather(t, 0, at),
        lambda i, j, t, at: (at[i:j] % 127 - 63), 1))],
    "scatter_add": [("torch.Tensor.scatter_add_", "fp32_{}", around(LIMIT), few_numbers(
        of_values(*range(1021)), LONG,
        lambda at: [torch.zeros(1021, device=at.device).scatter_add_(0, at, torch.ones(1, device=at.device).expand_as(at))],
        lambda n: occurring(n, range(1021)), 24))],
    "masked_select": [("torch.masked_select", "int8_{}", around(LIMIT), compared(
        40, [(ALL, UP_TO_63), (ALL, EVERY_1009, BOOL)], BYTE, torch.masked_select,
        lambda i, j, x, m: (torch.arange(i, j, device=x.device) * 1009 + LIMIT % 1009) % 127 - 63,
        length=lambda n: len(range(LIMIT % 1009, n, 1009))))],
    "nonzero": [("torch.nonzero", "int8_{}", around(LIMIT), few_numbers(
        planted, BYTE, lambda x: [torch.nonzero(x)], lambda n: [7, n // 2, n - 1]))],
    "where": [("torch.where", "int8_{}", around(LIMIT), compared(
        12, [(ALL, (1, 0, 0), BOOL), (ALL, UP_TO_63), (ALL, UP_TO_5)], BYTE, torch.where,
        lambda i, j, m, a, b: m[i:j] * a[i:j] + ~m[i:j] * b[i:j], 1))],
    "cat": [("torch.cat", f"int8_{{}}_dim_{dim}", around(32768), two_halves(dim)) for dim in (0, 1)],
    "permuted": [("torch.Tensor.contiguous", "int8_2x32768x{}_permuted", around(32768), compared(
        8, [((2, 32768, SIZE), UP_TO_63)], BYTE, lambda x: x.permute(2, 1, 0).contiguous(), lambda i, j, x: x.permute(2, 1, 0)[i:j], 65536))],
    "sum": [("torch.sum", "int8_{}", around(LIMIT), few_numbers(
        of_values(*range(-2, 5)), BYTE, lambda x: [torch.sum(x, dtype=LONG)],
        lambda n: [sum(c * v for c, v in zip(occurring(n, range(7)), range(-2, 5)))], 24))],
    "sum_of_dims": [
        ("torch.sum", "fp16_{}_dim_0", (LIMIT - 32768, LIMIT, LIMIT + 32768), few_numbers(
            of_values(1, *[0] * 96), HALF, lambda x: [x.view(-1, 32768).sum(0)], columns, 8)),
        ("torch.sum", "fp16_{}x32768_dim_1", around(65536), compared(
            8, [((SIZE, 32768), [1] + [0] * 96)], HALF, lambda x: x.sum(1, keepdim=True).expand_as(x),
            lambda i, j, x: x[i:j].float().sum(1, keepdim=True)))],
    "argmax": [("torch.argmax", "int8_{}", around(LIMIT), few_numbers(planted, BYTE, lambda x: [torch.argmax(x)], lambda n: [n - 1]))],
    "cumsum": [("torch.cumsum", "int64_{}", (LIMIT // 2, LIMIT // 2 + 1, LIMIT + 1), compared(
        60, [(ALL, [1] + [0] * 6)], torch.uint8, cumsum_at_the_end,
        lambda i, j, x: torch.arange(i, j, device=x.device).div(7, rounding_mode="floor") + 1))],
    "sort": [("torch.sort", "int8_{}_stable", (LIMIT // 2, *around(LIMIT)), compared(
        72, [(ALL, UP_TO_63)], BYTE, lambda x: torch.sort(x, stable=True).values, in_order))],
    "topk": [("torch.topk", "fp16_{}_3", around(LIMIT), few_numbers(
        planted, HALF, lambda x: torch.topk(x, 3), lambda n: [3, 2, 1, n - 1, n // 2, 7], 12))],
    "bincount": [("torch.bincount", "uint8_{}", around(LIMIT), few_numbers(
        of_values(*range(7)), torch.uint8, lambda x: [torch.bincount(x)], lambda n: occurring(n, range(7))))],
    "unique": [("torch.unique", "int8_{}", around(LIMIT), few_numbers(
        of_values(*UP_TO_3), BYTE, lambda x: torch.unique(x, return_counts=True), lambda n: [*UP_TO_3, *occurring(n, UP_TO_3)], 50))],
    "arange": [("torch.arange", "int32_{}", around(LIMIT), compared(
        14, [(ALL, [0])], BYTE, lambda x: torch.arange(-1, len(x) - 1, dtype=torch.int32, device=x.device),
        lambda i, j, x: torch.arange(i - 1, j - 1, device=x.device), 4))],
    "elementwise": [("torch.add", "int8_{}", around(LIMIT), compared(
        10, [(ALL, UP_TO_3)], BYTE, lambda x: x + 40, lambda i, j, x: x[i:j].int() + 40, 1))],
    "softmax": [("torch.softmax", "bf16_{}x131072", around(16384), compared(
        12, [((SIZE, 1 << 17), UP_TO_3)], BRAIN, lambda x: torch.softmax(x, 1), None, 1 << 18))],
    "cross_entropy_backward": [(FUNCTIONAL + "cross_entropy", "bf16_{}x131072_backward", around(16384), compared(
        26, [((SIZE, 1 << 17), [0]), (ALL, range(1009), LONG)], BRAIN, gradient_of_loss,
        lambda i, j, x, labels: gradient_of_loss(x[i:j], labels[i:j]), 1 << 18))],
    "layer_norm_gradients": [(LAYER_NORM, "fp32_{}x4x8_backward", (65536, 65537), norm_gradients(True))],
    "layer_norm_gradient_of_bias": [(LAYER_NORM, "fp32_{}x4x8_backward_bias", (65536, 65537), norm_gradients(False))],
    "layer_norm": [
        (LAYER_NORM, "fp16_{}x2048", around(1 << 20), compared(
            26, [NORMED], HALF, lambda x: fn.layer_norm(x, (2048,)), lambda i, j, x: x[i:j], 4096)),
        (LAYER_NORM, "fp16_{}x2048_backward", around(1 << 20), norm_backward(lambda x: fn.layer_norm(x, (2048,))))],
    "rms_norm_backward": [(FUNCTIONAL + "rms_norm", "fp16_{}x2048_backward", around(1 << 20), norm_backward(
        lambda x: fn.rms_norm(x, (2048,), eps=1e-5)))],
    "group_norm_backward": [(FUNCTIONAL + "group_norm", "fp16_{}x2048_backward", around(1 << 20), norm_backward(lambda x: fn.group_norm(x, 32)))],
    "batches_of_65536": [
        (BMM, "fp32_{}x8x8", (65535, 65536), many((8, 8), lambda x: torch.bmm(x, x), 256)),
        ("torch.triu", "fp32_{}x8x8", (65535, 65536), many((8, 8), lambda x: torch.triu(x), 256)),
        (FUNCTIONAL + "interpolate", "fp32_{}x4x4", (65535, 65536), many((1, 4, 4), lambda x: fn.interpolate(x, scale_factor=2), 256)),
        (FUNCTIONAL + "avg_pool2d", "fp32_{}x4x4", (65535, 65536), many((1, 4, 4), lambda x: fn.avg_pool2d(x, 2), 16)),
        ("torch.index_select", "fp32_{}x8x8", (65535, 65536), many((8, 8), lambda x: x.index_select(2, torch.tensor([7, 0]).to(x.device)), 64))],
    "one_query": [(FUNCTIONAL + "scaled_dot_product_attention", "bf16_1_by_{}_backward", (65535, 65536), one_query(False))],
    "one_query_by_cudnn": [(FUNCTIONAL + "scaled_dot_product_attention", "bf16_1_by_{}_backward", (1024, 65536), one_query(True))],
}
ARMS: Dict[str, List[Step]] = {
    name: [step for api, variant, sizes, work in rows for step in sized(api, variant, work, *sizes)] for name, rows in ROWS_OF_ARMS.items()
}
