# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Routes to the same numbers: compiled, captured, by autocast, in threads, by Triton. Rows of pytorch.json say which function, of what, in which
type, by which route and with which arguments; the reference is the function in float64 on the host, unless REFERENCES has another one."""
from __future__ import annotations

import contextlib
import importlib
import os
import pydoc
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, Dict, Iterator
from unittest.mock import patch

import torch

from framework_trials.cells import World, part_of
from framework_trials.protocol import NotProvoked
from framework_trials.upgrades.ground import Seen
from framework_trials.upgrades.values import INF, Tensor, alike, inputs_of, on_device

Op = Callable[..., Any]
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8, "e4m3": getattr(torch, "float8_e4m3fn", None)}
BRAIN = torch.bfloat16


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
    "fp8_by_the_largest": lambda x: (x / (x.abs().amax(-1, keepdim=True) / 512))[:, 1:].to(torch.float8_e4m3fn).float(),
    "fp8": lambda x: x.to(torch.float8_e4m3fn).float(),
}
REFERENCES: Dict[str, Op] = {
    "torch.addmm": lambda c, a, b: a @ b,
    "torch._int_mm": torch.matmul,
    "torch.bmm": torch.matmul,
    "eigenvectors": lambda a, b: torch.view_as_real(torch.stack([hermitian(a, b), torch.eye(a.shape[-1]).expand(a.shape).to(torch.complex128)])),
    # Of triton_kernels.py:
    "turned": lambda x, y, z: (x @ y.T).T @ z,
    "three_dots": lambda a, b: 2 * (a @ a.T) @ (a @ b.T),
    "from_registers": torch.matmul,
    "by_tf32x3": torch.matmul,
    "padded": lambda x: torch.nn.functional.pad(x, (0, 0, 0, 32 - len(x))),
}


# ---- routes ----


@contextlib.contextmanager
def cold_caches(**variables: str) -> Iterator[None]:
    """Of compilers: nothing that ran on this host before is found, and no process stays. With variables that Triton reads when it compiles;
    the environment is as before when it ends."""
    with tempfile.TemporaryDirectory(prefix="cufault_") as folder, patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=folder, **variables):
        importlib.import_module("torch._inductor.config").compile_threads = 1  # type: ignore[attr-defined]
        yield


def within(context: Callable[[Tensor], Any]) -> Callable[[Op], Op]:
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
        for place, numbers in zip(static, given):
            place.copy_(numbers)
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


compiled = within(lambda _: cold_caches())
ROUTES: Dict[str, Callable[[Op], Op]] = {
    "eager": lambda op: op,
    "compiled": lambda op: compiled(torch.compile(op, dynamic=False)),
    "compiled_gradient": lambda op: gradient(compiled(torch.compile(op, dynamic=False))),
    "reduce_overhead": lambda op: compiled(partial(op, by=torch.compile(turn, mode="reduce-overhead", fullgraph=True))),
    "fullgraph": lambda op: torch.compile(op, fullgraph=True),
    "replayed": replayed,
    "threaded": threaded,
    "autocast_fp16": within(lambda x: torch.autocast(x.device.type, torch.float16)),
    "autocast_bf16": within(lambda x: torch.autocast(x.device.type, BRAIN)),
    "rounded": lambda op: op,
    "channels_last": lambda op: lambda *given: op(*by_channels(*given)),
    "cold_caches": compiled,
    "without_cudnn": within(lambda _: torch.backends.cudnn.flags(enabled=False)),
}


def by_route(world: World, api: str, given: str, dtype: str = "fp32", route: str = "eager", named: "Dict[str, Any] | None" = None) -> Seen:
    """Of several results the first one. What is nearly a whole number is rounded to it where the route says so. Denormals may become zero, which
    is told, as is what there is no right result of."""
    function: Any = OWN.get(api) or pydoc.locate(api)
    if function is None:
        raise NotProvoked(f"this PyTorch has no {api}")
    arguments = {name: TYPES.get(value, value) if name.endswith("dtype") else value for name, value in (named or {}).items()}
    inputs = inputs_of(world, given)
    found = ROUTES[route](partial(function, **arguments))(*(on_device(world, t, TYPES[dtype]) for t in inputs))
    reference = REFERENCES.get(api) or partial(function, **arguments)
    wanted = (gradient(reference) if route.endswith("gradient") else reference)(*(t.double() for t in inputs))
    found, wanted = (x[0] if isinstance(x, tuple) else x for x in (found, wanted))
    if given.startswith("random"):
        error = float((found.cpu().double() - wanted).square().mean().sqrt() / torch.finfo(found.dtype).eps)
        world.trial.measure(f"error over one rounding, {api} of {given}, {route}", error)
        return error < 4
    if given.startswith("beyond"):
        return None, {"result": " ".join(str(value) for value in found.flatten().tolist())}
    if route == "rounded":
        found, wanted = ((x * 64).round() / 64 for x in (found, wanted))
    right = alike(found, wanted)
    if given.startswith("denormals"):
        zeros = not bool(found.any())
        return right or (zeros and "-149" in given), {"result": "kept" if right else "zeros" if zeros else "other"}
    return (right, {"type": str(found.dtype)}) if route.startswith("autocast") else right


def by_triton(world: World, kernel: str, given: str, dtype: str, *constants: int) -> Seen:
    """A kernel of triton_kernels.py: of many programs that do the same, the last of many launches."""
    programs, times = 64, 20
    part_of("triton")
    kernels = part_of("framework_trials.upgrades.triton_kernels")
    inputs = inputs_of(world, given)
    wanted = REFERENCES[kernel](*inputs)
    on_device = [on_device(world, t, TYPES[dtype]) for t in inputs]
    torch.cuda.set_device(on_device[0].device)
    with cold_caches():
        for _ in range(times):
            found = torch.full((programs, *wanted.shape), INF, device=on_device[0].device)
            made = getattr(kernels, kernel)[(programs,)](*on_device, found, *constants, num_warps=4)
    right = alike(found, wanted.expand(programs, *wanted.shape))
    return (right, {"result": f"{made.metadata.shared} bytes shared"}) if kernel == "by_tf32x3" else right
