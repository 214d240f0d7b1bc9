# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Routes to the same numbers: compiled, captured, by autocast, in threads, by Triton. A row says which function, of what, in which type, by
which route and with which arguments; the reference is the function in float64 on the host, unless REFERENCES has another one."""
from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import pydoc
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union
from unittest.mock import patch

import torch

from framework_trials.cells import World, part_of
from framework_trials.protocol import NotProvoked
from framework_trials.pytorch_numbers import device_of, same, small_integers
from framework_trials.upgrades.ground import Seen, Step
from framework_trials.upgrades.values import (
    INF, NAN, Given, Tensor, around_448, denormals, few_ones, infinite_rows, matrix, nan_row, nan_values, on_device, random, system, whole)

Op = Callable[..., Any]
TYPES: Dict[str, Any] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8, "e4m3": getattr(torch, "float8_e4m3fn", None)}


# ---- functions ----


def rotated(x: Tensor, c: Tensor, s: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    y = torch.empty_like(x)
    y[..., :half] = x[..., :half] * c - x[..., half:] * s
    y[..., half:] = x[..., half:] * c + x[..., :half] * s
    return y


def woven(x: Tensor) -> Tensor:
    """Every n-th column of n tensors."""
    y, stride = x[0].clone(), len(x)
    for lane in range(1, stride):
        y[..., lane : 20 * stride : stride] = x[lane, ..., lane : 20 * stride : stride]
    return y


def window(x: Tensor, w: Tensor) -> Tensor:
    return torch.softmax(x @ x.mT / 8 + w, -1).sum(-2) + torch.nn.functional.layer_norm(x, x.shape[-1:]).sum(-1)


def gradient(op: Op) -> Op:
    """Of the sum of what `op` makes of its first argument."""
    return lambda x, *more: torch.autograd.grad(op(x.requires_grad_(), *more).sum(), x)[0]


def turn(cache: Tensor, x: Tensor) -> "tuple[Tensor, Tensor]":
    """A cache that turns and takes a row."""
    return cache.roll(1, 0).index_copy(0, torch.zeros(1, dtype=torch.long, device=cache.device), x), x @ x.t()


def six_turns(cache: Tensor, x: Tensor, by: Op = turn) -> Tensor:
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        made, norm = by(cache, x)
        cache, x = made.clone(), x.roll(1, 1) + norm.clone() % 3
    return cache


def hermitian(real: Tensor, imaginary: Tensor) -> Tensor:
    return torch.complex(real + real.mT, imaginary - imaginary.mT)


def eigenvectors(real: Tensor, imaginary: Tensor) -> Tensor:
    """What gives the matrices again, and what gives the unit matrix."""
    w, v = torch.linalg.eigh(hermitian(real, imaginary))
    return torch.view_as_real(torch.stack([(v * w[:, None]) @ v.mH, v.mH @ v]))


OWN: Dict[str, Op] = {
    "rotated": rotated,
    "woven": woven,
    "window": window,
    "six_turns": six_turns,
    "eigenvectors": eigenvectors,
    "pooled": lambda x: torch.nn.functional.avg_pool2d(torch.nn.functional.relu(x), 4, 2, 1).square(),
    "twice_and_one": lambda x: x * 2 + 1,
    "by_one": lambda x: x @ torch.eye(len(x)).to(x),
    "fp8_by_the_largest": lambda x: (x / (x.abs().amax(-1, keepdim=True) / 512))[:, 1:].to(torch.float8_e4m3fn).float(),
    "fp8": lambda x: x.to(torch.float8_e4m3fn).float(),
}
REFERENCES: Dict[str, Op] = {
    "torch.addmm": lambda c, a, b: a @ b,
    "torch._int_mm": torch.matmul,
    "torch.bmm": torch.matmul,
    "pooled": lambda x: gradient(OWN["pooled"])(x),
    "eigenvectors": lambda a, b: torch.view_as_real(torch.stack([hermitian(a, b), torch.eye(a.shape[-1]).expand(a.shape).to(torch.complex128)])),
    # Of triton_kernels.py:
    "three_dots": lambda a, b: 2 * (a @ a.T) @ (a @ b.T),
    "from_registers": torch.matmul,
    "padded": lambda x: torch.nn.functional.pad(x, (0, 0, 0, 32 - len(x))),
}


# ---- oracles ----

Oracle = Callable[[Tensor, Tensor, Callable[[float], None]], Seen]  # of what was found, and of the right result; it may measure a ratio
EXACT: Oracle = lambda found, wanted, _: same(found, wanted.expand_as(found))  # there may be several of a kind
IN_64THS: Oracle = lambda found, wanted, _: same(*((x * 64).round() / 64 for x in (found, wanted)))  # of what is nearly a whole number
WITH_TYPE: Oracle = lambda found, wanted, _: (same(found, wanted), {"type": str(found.dtype)})
REPORTED: Oracle = lambda found, *_: (None, {"result": " ".join(str(value) for value in found.flatten().tolist())})  # nothing is right or wrong


def kept(or_zeros: bool, found: Tensor, wanted: Tensor, _: Any) -> Seen:
    """Denormals, which may become zeros: which of both is told."""
    right, zeros = same(found, wanted), not bool(found.any())
    return right or (zeros and or_zeros), {"result": "kept" if right else "zeros" if zeros else "other"}


def near(found: Tensor, wanted: Tensor, measure: Callable[[float], None]) -> Seen:
    """By the error over that of the right result rounded once."""
    on_host = found.cpu()
    ratio = float((on_host.double() - wanted).norm() / (wanted.to(on_host.dtype).double() - wanted).norm())
    measure(ratio)
    return ratio < 16


# ---- routes ----


@contextlib.contextmanager
def cold_caches(**variables: str) -> Iterator[None]:
    """Of compilers: nothing that ran on this host before is found, and no process stays. With variables that Triton reads when it compiles;
    the environment is as before when it ends."""
    with tempfile.TemporaryDirectory(prefix="cufault_") as folder, patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=folder, **variables):
        importlib.import_module("torch._inductor.config").compile_threads = 1  # type: ignore[attr-defined]
        yield


def inside(context: Callable[[Tensor], Any]) -> Callable[[Op], Op]:
    """What a function makes in a context for its first argument."""

    def by(op: Op) -> Op:
        def run(*given: Tensor) -> Any:
            with context(given[0]):
                return op(*given)

        return run

    return by


def replayed(op: Op) -> Op:
    """Captured on other numbers, replayed on those, and replayed on the right ones."""

    def run(*given: Tensor) -> Tensor:
        torch.cuda.set_device(given[0].device)
        static = [t.flip(0).contiguous() for t in given]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            op(*static)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            found = op(*static)
        graph.replay()
        for operand, numbers in zip(static, given):
            operand.copy_(numbers)
        graph.replay()
        torch.cuda.synchronize()
        return found.clone()

    return run


def threaded(op: Op) -> Op:
    """500 times in each of four threads, on streams of their own."""

    def run(*given: Tensor) -> Tensor:
        device = given[0].device

        def one(_: int) -> Tensor:
            with torch.cuda.stream(torch.cuda.Stream(device)):
                found = torch.stack([op(*given) for _ in range(500)])
                torch.cuda.current_stream(device).synchronize()
                return found.cpu()

        torch.cuda.synchronize(device)
        with ThreadPoolExecutor(4) as threads:
            return torch.stack(list(threads.map(one, range(4))))

    return run


def by_channels(*given: Tensor) -> "list[Tensor]":
    return [t.contiguous(memory_format=torch.channels_last) for t in given]


compiled = inside(lambda _: cold_caches())
ROUTES: Dict[str, Callable[[Op], Op]] = {
    "eager": lambda op: op,
    "compiled": lambda op: compiled(torch.compile(op, dynamic=False)),
    "compiled_gradient": lambda op: gradient(compiled(torch.compile(op, dynamic=False))),
    "reduce_overhead": lambda op: compiled(partial(op, by=torch.compile(turn, mode="reduce-overhead", fullgraph=True))),
    "fullgraph": lambda op: torch.compile(op, fullgraph=True),
    "replayed": replayed,
    "threaded": threaded,
    "autocast_fp16": inside(lambda x: torch.autocast(x.device.type, torch.float16)),
    "autocast_bf16": inside(lambda x: torch.autocast(x.device.type, torch.bfloat16)),
    "channels_last": lambda op: lambda *given: op(*by_channels(*given)),
    "cold_caches": compiled,
    "gradient": gradient,
    "without_cudnn": inside(lambda _: torch.backends.cudnn.flags(enabled=False)),
    "tf32": inside(lambda _: torch.backends.cudnn.flags(enabled=True, allow_tf32=True)),
    "without_tf32": inside(lambda _: torch.backends.cudnn.flags(enabled=True, allow_tf32=False)),
}


# Of controls, where it is not the eager call.
ROUTES_OF_CONTROLS = {"compiled_gradient": "gradient", "tf32": "without_cudnn", "without_tf32": "without_cudnn"}


def step(api: str, function: str, given: Given, dtype: str, route: str, oracle: Oracle, plain: Optional[Given], named: Dict[str, Any]) -> Step:
    """Control: the eager call; of `plain` inputs where it may fail, too, or leaves what the route must not find."""

    def words(route: str, given: Given) -> List[str]:
        return [function, given.name, dtype, route]

    def work(world: World, route: str = route, given: Given = given) -> Seen:
        op: Any = OWN.get(function) or pydoc.locate(function)
        if op is None:
            raise NotProvoked(f"this PyTorch has no {function}")
        op, inputs = partial(op, **named), given.make(world)
        found = ROUTES[route](op)(*(on_device(world, t, TYPES[dtype]) for t in inputs))
        wanted = REFERENCES.get(function, op)(*(t.double() for t in inputs))
        found, wanted = (x[0] if isinstance(x, tuple) else x for x in (found, wanted))
        return oracle(found, wanted, partial(world.trial.measure, "error over one rounding, " + " ".join(words(route, given))))

    other = ROUTES_OF_CONTROLS.get(route, "eager")
    name, name_of_control = ("_".join(words(*of)[api == function :]) for of in ((route, given), (other, plain or given)))
    return Step(api, name, work, partial(work, route=other, given=plain or given), name_of_control + "_control" if plain else "")


def by_route(
    functions: str, given: Union[Given, Sequence[Given]], types: str = "fp32", routes: str = "eager", oracle: Oracle = EXACT, api: str = "",
    plain: Optional[Given] = None, **named: Any,
) -> List[Step]:
    """A step for each function, inputs, type and route. A function of OWN is one of torch.compile, or of `api`; of several results the first
    one is looked at."""
    every = itertools.product(functions.split(), [given] if isinstance(given, Given) else given, types.split(), routes.split())
    return [step(api or ("torch.compile" if f in OWN else f), f, inputs, dtype, route, oracle, plain, named) for f, inputs, dtype, route in every]


def by_triton(kernel: str, given: Given, dtype: str, *constants: Any, memory: bool = False) -> Step:
    """A kernel of triton_kernels.py: of many programs that do the same, the last of many launches. `memory`: what a program shares is told.
    Control: PyTorch in float64."""
    programs, times = 64, 20

    def work(world: World) -> Seen:
        part_of("triton")
        kernels = part_of("framework_trials.upgrades.triton_kernels")
        inputs = given.make(world)
        wanted = REFERENCES[kernel](*inputs)
        there = [on_device(world, t, TYPES[dtype]) for t in inputs]
        torch.cuda.set_device(there[0].device)
        with cold_caches():
            for _ in range(times):
                found = torch.full((programs, *wanted.shape), INF, device=there[0].device)
                made = getattr(kernels, kernel)[(programs,)](*there, found, *constants, num_warps=4)
        return same(found, wanted.expand_as(found)), {"result": f"{made.metadata.shared} bytes shared"} if memory else {}

    def by_torch(world: World) -> Seen:
        inputs, reference = given.make(world), REFERENCES[kernel]
        return same(reference(*(on_device(world, t, torch.double) for t in inputs)), reference(*inputs))

    return Step("triton.jit", "_".join(map(str, (kernel, given.name, dtype, *constants))), work, by_torch)


# ---- rows ----

F, BOTH, ALL = "torch.nn.functional.", "fp32 bf16", "fp32 fp16 bf16"
IMAGES = whole((2, 8, 33, 33), (16, 8, 3, 3))
CALLS: List[Tuple[str, Given, Dict[str, Any]]] = [
    ("torch.mm", whole((65, 96), (96, 80)), {}), ("torch.bmm", whole((4, 33, 48), (4, 48, 17)), {}),
    (F + "linear", whole((14, 512), (256, 512)), {}), (F + "conv2d", IMAGES, {"padding": 1}),
    (F + "mse_loss", whole((64, 64), (64, 64)), {}), ("torch.sum", whole((64, 100)), {"dim": -1}),
]
NANS, NEGATIVE = Given("nan_values", nan_values), Given("negative_nan_values", lambda world: nan_values(world, -NAN))
by_values = partial(by_route, types=ALL, plain=Given("values", partial(nan_values, nan=0)))

ARMS: Dict[str, List[Step]] = {
    "denormals": [each for exponent in (-126, -149)
                  for by in [partial(by_route, given=denormals(exponent), oracle=partial(kept, exponent == -149), plain=whole((32, 32)))]
                  for each in (*by("torch.clone"), *by("torch.add", other=0), *by("torch.mul", other=1), *by("by_one", api="torch.mm"))],
    "nan_in_a_row": by_route("torch.matmul torch.bmm", Given("nan_row", nan_row), BOTH, plain=whole((2, 65, 96), (2, 96, 80))),
    "nan_and_beta_0": by_route(
        "torch.addmm", Given("nan_sum", lambda world: (torch.full((65, 80), NAN), *CALLS[0][1].make(world))), BOTH,
        plain=whole((65, 80), (65, 96), (96, 80)), beta=0),
    "nan_wins": [
        *by_values("torch.amax torch.argmax torch.cummax", NANS, dim=-1), *by_values("torch.clamp", NANS, min=1, max=9),
        *by_values("torch.sort", [NANS, NEGATIVE], dim=-1), *by_values("torch.topk", [NANS, NEGATIVE], k=2)],
    "rows_of_infinity": by_route("torch.softmax torch.logsumexp", Given("infinite_rows", infinite_rows), BOTH, plain=Given(
        "finite_rows", lambda world: (infinite_rows(world)[0][1:2],)), dim=-1),
    "compiled_fp8_cast": [
        *by_route("fp8_by_the_largest", Given("around_448", around_448), routes="compiled"),
        *by_route("fp8", Given("beyond_448", lambda _: (torch.tensor([465.0, 480, INF]),)), routes="compiled", oracle=REPORTED)],
    "compiled_rotary": by_route("rotated", [whole((2, 8, 1000, n), (1000, n // 2), (1000, n // 2)) for n in (64, 96)], BOTH, "compiled"),
    "compiled_stride_3": by_route("woven", [whole((n, 257, 64)) for n in (2, 3)], "bf16", "compiled"),
    "compiled_bmm_out_dtype": by_route(
        "torch.bmm", Given("large_sums", lambda world: [small_integers(world, 1, 1024, 1024) + 3 for _ in range(2)]), "fp16", "compiled",
        out_dtype=torch.float32),
    "compile_disabled": by_route("twice_and_one", whole((100,)), routes="fullgraph"),
    "compiled_pooling": by_route("pooled", [whole((16, 64, n, n)) for n in (16, 112)], routes="compiled_gradient"),
    "compiled_window": by_route("window", [random((1024, n, 32), (n, n)) for n in (64, 49)], "bf16", "compiled", near),
    "compiled_graphs": by_route("six_turns", whole((8, 16), (1, 16)), routes="reduce_overhead"),
    "replayed_products": [each for function, given, named in CALLS[:4] for each in by_route(function, given, "fp16", "replayed", **named)],
    "autocast": [each for function, given, named in CALLS for each in by_route(
        function, given, routes="autocast_fp16 autocast_bf16", oracle=WITH_TYPE, **named)],
    "streams_of_threads": by_route("torch.mm", Given("few_ones", few_ones), "bf16", "threaded"),
    "int8_product": by_route("torch._int_mm", [whole((rows, 64), (64, 48)) for rows in (32, 33, 17, 16)], "int8", plain=whole((64, 64), (64, 48))),
    "linear_rounding": by_route(F + "linear", [random((rows, k), (n, k), (n,)) for rows, k, n in (
        (500, 1536, 2048), (500, 1536, 8960), (500, 8960, 1536), (16, 8960, 1536))], "bf16", oracle=near, plain=random((64, 64), (64, 64), (64,))),
    "eigenvectors": by_route("eigenvectors", [whole((batch, n, n), (batch, n, n)) for batch, n in ((1, 40), (512, 40), (8, 17), (2, 40))],
                             oracle=IN_64THS, api="torch.linalg.eigh", plain=whole((1, 4, 4), (1, 4, 4))),
    "unimodular": [
        *by_route("torch.linalg.inv torch.linalg.det", [matrix(n) for n in (32, 33, 512)], oracle=IN_64THS, plain=matrix(4)),
        *by_route("torch.linalg.solve", [system(n) for n in (32, 33, 512)], oracle=IN_64THS, plain=system(4))],
    "triton_three_dots": [by_triton("three_dots", Given("bits", lambda world: [
        small_integers(world, rows, 128).abs() % 2 for rows in (64, 32)]), "bf16", 64, 128, 32)],
    "triton_from_registers": [by_triton("from_registers", whole((64, 64 * parts), (64 * parts, 64)), "bf16", 64, parts, "tf32") for parts in (1, 8)],
    "triton_tf32x3": [by_triton("from_registers", whole((n, n), (n, n)), "fp32", n, 1, "tf32x3", memory=True) for n in (32, 64)],
    "triton_fp8_padded": [by_triton("padded", whole((rows, 32)), "e4m3", rows, 32) for rows in (32, 24)],
    **{name: by_route("torch.bmm", whole((1, 32, 1), (1, 1, 7)), routes="cold_caches", plain=CALLS[1][1]) for name in ("no_compiler", "cold_caches")},
    "no_cudnn": by_route(F + "conv2d", IMAGES, routes="without_cudnn", padding=1),
    "channels_last": by_route(F + "conv2d", [whole((2, 64, 33, 33), (32, 64, 3, 3)), whole((2, 3, 64, 64), (8, 3, 3, 3))], ALL, "channels_last", padding=1),
    "conv3d_tf32": [each for n, channels, stride in ((8, 8, 1), (9, 16, 2), (16, 64, 1), (17, 32, 1), (31, 16, 1), (32, 32, 2), (33, 16, 1))
                    for each in by_route(F + "conv3d", whole((2, channels, 8, n, n), (16, channels, 3, 3, 3)), routes="tf32 without_tf32",
                                         plain=whole((1, 4, 4, 4, 4), (4, 4, 3, 3, 3)), stride=stride, padding=1)],
}
