# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch: its operations, faults and remedies, and the examples of documents about it."""
from __future__ import annotations

import ctypes
import gc
import multiprocessing.pool
import os
import re
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from framework_trials import upgrades
from framework_trials.cells import FORKED_CHILD, Framework, Operation, Remedy, World, alone, attempt, in_thread, parsed
from framework_trials.driver import MIB
from framework_trials.faults import FAULTS, launch
from framework_trials.protocol import NotProvoked, SetUpFailed
from framework_trials.pytorch_canaries import CANARIES
from framework_trials.pytorch_numbers import device_of, generator_of, same, small_integers
from framework_trials.snippets import SNIPPETS
from framework_trials.tables import table_of
from framework_trials.upgrades.ground import stepwise


# ---- operations ----


class Product(Operation):
    """Operands on the device, and their numbers on the host."""

    shapes: Tuple[Tuple[int, ...], ...] = ((96, 112), (112, 80))
    dtype = torch.float32

    def __init__(self, world: World) -> None:
        super().__init__(world)
        device = device_of(world)
        failed = world.failed
        if isinstance(failed, Product) and (failed.shapes, failed.dtype) == (self.shapes, self.dtype):
            self.operands = failed.operands
        else:
            self.operands = [torch.empty(shape, dtype=self.dtype, device=device) for shape in self.shapes]
        self.numbers: List[torch.Tensor] = []
        self.refresh()

    def refresh(self) -> None:
        self.numbers = [small_integers(self.world, *shape) for shape in self.shapes]
        for operand, numbers in zip(self.operands, self.numbers):
            operand.copy_(numbers.to(self.dtype))

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        return same(torch.matmul(a, b), self.numbers[0] @ self.numbers[1])


class Matmul(Product):
    api, variant = "torch.matmul", "fp32"


class Tf32Matmul(Product):
    api, variant = "torch.matmul", "tf32"

    def __call__(self) -> Optional[bool]:
        torch.set_float32_matmul_precision("high")
        return super().__call__()


class ScaledMm(Product):
    """FP8: the second operand is stored by columns."""

    api, variant = "torch._scaled_mm", "e4m3"
    shapes = ((64, 96), (32, 96))
    dtype = getattr(torch, "float8_e4m3fn", None)

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        one = torch.ones((), dtype=torch.float32, device=a.device)
        found = torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        return same(found, self.numbers[0] @ self.numbers[1].t())


class LargeMatmul(Product):
    """Its result is larger than what is free. The library is ready: only the result needs memory."""

    api, variant, warm = "torch.matmul", "fp32_64_mib", True
    shapes = ((4096, 256), (256, 4096))


class SmallerMatmul(LargeMatmul):
    """The same work in eight parts, on the same operands."""

    variant, warm = "fp32_64_mib_in_parts", False

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        found = torch.cat([torch.matmul(rows, b).cpu() for rows in a.chunk(8)])
        return same(found, self.numbers[0] @ self.numbers[1])


class MovedMatmul(Product):
    """Operands that are placed by .to(device)."""

    api, variant = "torch.matmul", "moved_by_to"

    def __call__(self) -> Optional[bool]:
        device = device_of(self.world)
        a, b = [numbers.to(self.dtype).to(device) for numbers in self.numbers]
        return same(torch.matmul(a, b), self.numbers[0] @ self.numbers[1])


class Addmm(Product):
    api, variant = "torch.addmm", ""
    shapes = ((96, 112), (112, 80), (80,))

    def __call__(self) -> Optional[bool]:
        a, b, bias = self.operands
        x, y, z = self.numbers
        return same(torch.addmm(bias, a, b), x @ y + z)


class Linear(Product):
    api, variant = "torch.nn.Linear", ""
    shapes = ((96, 112), (80, 112), (80,))

    def __call__(self) -> Optional[bool]:
        x, weight, bias = self.operands
        a, b, c = self.numbers
        return same(torch.nn.functional.linear(x, weight, bias), a @ b.t() + c)


class Bmm(Product):
    api, variant = "torch.bmm", ""
    shapes = ((4, 48, 64), (4, 64, 32))

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        return same(torch.bmm(a, b), torch.bmm(*self.numbers))


class TrainingStep(Product):
    """A linear layer, the sum of its output as the loss, backward, and a step of SGD."""

    api, variant = "torch.optim.SGD", "training_step"
    shapes = ((64, 48), (32, 48))

    def forward(self, layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return layer(x)

    def __call__(self) -> Optional[bool]:
        x, weight = self.operands
        layer = torch.nn.Linear(48, 32, bias=False, device=x.device)
        with torch.no_grad():
            layer.weight.copy_(weight)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
        self.forward(layer, x.clone().requires_grad_()).sum().backward()
        optimizer.step()
        rows, before = self.numbers
        return same(layer.weight, before - 0.5 * rows.sum(0))


class CheckpointedStep(TrainingStep):
    variant = "training_step_checkpointed"

    def forward(self, layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        from torch.utils.checkpoint import checkpoint

        return checkpoint(layer, x, use_reentrant=False)


class EmbeddingLinear(Operation):
    """An embedding and the linear layer behind it."""

    api, variant = "torch.nn.Embedding", "and_linear"
    rows = 100
    too_high = 0  # added to one index

    def __init__(self, world: World) -> None:
        super().__init__(world)
        device = device_of(world)
        self.table, self.weight = small_integers(world, self.rows, 48), small_integers(world, 32, 48)
        self.on_device = [t.float().to(device) for t in (self.table, self.weight)]
        self.indices = torch.zeros(16, dtype=torch.int64, device=device)
        self.refresh()

    def refresh(self) -> None:
        self.wanted = torch.randint(0, self.rows, (16,), generator=generator_of(self.world))
        self.indices.copy_(self.wanted)

    def __call__(self) -> Optional[bool]:
        indices = self.indices
        if self.too_high:
            indices = indices + self.too_high
        rows = torch.nn.functional.embedding(indices, self.on_device[0])
        found = torch.nn.functional.linear(rows, self.on_device[1])
        return same(found, self.table[self.wanted] @ self.weight.t())


class CheckedEmbedding(EmbeddingLinear):
    """Indices beyond the table are found first, and taken as its last row."""

    variant = "index_checked"

    def refresh(self) -> None:
        super().refresh()
        self.wanted[0] = self.rows - 1
        self.indices[0] = 100_000

    def __call__(self) -> Optional[bool]:
        self.indices.clamp_(max=self.rows - 1)
        return super().__call__()


class Gather(Product):
    api, variant = "torch.gather", "index_out_of_range"
    shapes = ((64, 64),)

    def __call__(self) -> Optional[bool]:
        indices = torch.full((64, 64), 100_000, dtype=torch.int64, device=device_of(self.world))
        torch.gather(self.operands[0], 1, indices).cpu()
        return None


class Solve(Operation):
    api, variant = "torch.linalg.solve", ""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.matrix = small_integers(world, 64, 64) + 256 * torch.eye(64).double()
        self.wanted = small_integers(world, 64, 8)
        self.operands = [t.float().to(device_of(world)) for t in (self.matrix, self.matrix @ self.wanted)]

    def refresh(self) -> None:
        self.wanted = small_integers(self.world, 64, 8)
        self.operands[1].copy_((self.matrix @ self.wanted).float())

    def __call__(self) -> Optional[bool]:
        found = torch.linalg.solve(*self.operands).cpu().double()
        return bool(torch.allclose(found, self.wanted, atol=1e-3))


class GraphReplay(Product):
    """Warmed up beside, captured, replayed on other numbers."""

    api, variant = "torch.cuda.CUDAGraph", "replay"
    warm_up = True

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        if self.warm_up:
            beside = torch.cuda.Stream()
            beside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(beside):
                torch.matmul(a, b)
            torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            c = torch.matmul(a, b)
        self.refresh()
        graph.replay()
        return same(c, self.numbers[0] @ self.numbers[1])


class SecondThread(Product):
    api, variant = "torch.matmul", "second_thread"

    def __call__(self) -> Optional[bool]:
        def work() -> Optional[bool]:
            torch.cuda.set_device(self.world.trial.device)
            return Product.__call__(self)

        return in_thread(work)


class LargeEmpty(Operation):
    """One tensor that is larger than any hole, and fits into all holes together."""

    api, variant = "torch.empty", "larger_than_any_hole"

    def __call__(self) -> Optional[bool]:
        tensor = torch.empty(512 * MIB, dtype=torch.uint8, device=device_of(self.world))
        tensor.fill_(7)
        return bool((tensor == 7).all().cpu())


# ---- faults ----


def start(world: World) -> None:
    torch.cuda.set_device(world.trial.device)
    torch.zeros(1, device=device_of(world)).add_(1)
    torch.cuda.synchronize()


def prove(world: World) -> str:
    if not torch.cuda.is_initialized() or getattr(world, "only_in_children", False):
        return "none"
    gc.collect()
    torch.cuda.empty_cache()
    numbers = torch.arange(1000, device=device_of(world))
    return "usable" if int((numbers * 2).sum().cpu()) == 999_000 else "damaged"


def memory(world: World) -> Dict[str, float]:
    return {
        "memory allocated by PyTorch": torch.cuda.memory_allocated(world.trial.device),
        "memory reserved by PyTorch": torch.cuda.memory_reserved(world.trial.device),
    }


def bytes_on(world: World) -> Callable[[int], torch.Tensor]:
    return lambda size: torch.empty(size, dtype=torch.uint8, device=device_of(world))


def live_tensors(world: World) -> None:
    torch.cuda.empty_cache()
    world.leave_free(bytes_on(world))


def cached_tensors(world: World) -> None:
    world.leave_free(bytes_on(world))
    world.held.clear()
    gc.collect()
    remedied = "+" in world.trial.arm
    if torch.cuda.memory_reserved(world.trial.device) < 1024 * MIB and not remedied:
        raise NotProvoked("the allocator has not kept the freed tensors")


def fragmentation(world: World) -> None:
    """Four GiB in blocks of 8 MiB, of which every other is freed; all else is held."""
    small = 4096 * MIB
    hold = bytes_on(world)
    free = world.driver.memory()[0]
    if free < 2 * small:
        raise NotProvoked(f"only {free // MIB} MiB are free")
    world.held.append(hold((free - small - 64 * MIB) // (2 * MIB) * (2 * MIB)))
    blocks = []
    try:
        for _ in range(small // (8 * MIB)):
            blocks.append(hold(8 * MIB))
    except torch.OutOfMemoryError:
        pass
    world.held.extend(blocks[::2])
    del blocks
    device = world.trial.device
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    world.trial.measure("reserved and not allocated", unused, "bytes")
    if unused < 1024 * MIB:
        raise NotProvoked(f"only {unused // MIB} MiB are in holes")


def assertion(world: World) -> None:
    """An index that is too high, in an embedding whose result nobody waits for."""
    table = torch.zeros(10, 4, device=device_of(world))
    index = torch.full((4,), 100_000, device=device_of(world))
    try:
        world.make("torch.nn.Embedding", "index_out_of_range", lambda: [torch.nn.functional.embedding(index, table)])
    except RuntimeError as error:
        world.trial.note("the embedding", str(error))


def variables(world: World) -> None:
    FAULTS["variables"](world)
    if "deterministic" in parsed(world.trial.arm)[1]:
        torch.use_deterministic_algorithms(True)


def mixed_pair(world: World) -> None:
    """The loader has put the cuBLASLt of a second cuBLAS in front: calls of PyTorch's cuBLAS go there, though PyTorch loads its own, too."""
    function = ctypes.CDLL(None).cublasLtGetVersion
    function.restype = ctypes.c_size_t
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    with open("/proc/self/maps", encoding="utf-8") as maps:
        mapped = [line.split() for line in maps if "/libcublasLt.so" in line]
    called = {m[5] for m in mapped if int(m[0].split("-")[0], 16) <= address < int(m[0].split("-")[1], 16)}
    given = {os.path.realpath(path) for path in os.environ.get("LD_PRELOAD", "").split(":")}
    major = {re.findall(r"libcublasLt\.so\.(\d+)", m[5])[0] for m in mapped}
    if not called or not called <= given or len(major) != 1:
        raise NotProvoked("PyTorch does not call the cuBLASLt in LD_PRELOAD: it may be of another major version")
    world.trial.measure("version of cuBLASLt", function())
    world.trial.measure("cuBLASLt libraries in the process", len({m[5] for m in mapped}))


# ---- remedies ----


def drop(world: World) -> None:
    world.held.clear()
    gc.collect()


def drop_and_empty(world: World) -> None:
    drop(world)
    torch.cuda.empty_cache()


def half_the_batch(world: World) -> None:
    del world.held[::2]
    gc.collect()
    torch.cuda.empty_cache()


def half_precision(world: World) -> None:
    """Every tensor in half of the bytes."""
    sizes = [tensor.numel() // 2 for tensor in world.held]
    drop_and_empty(world)
    world.held.extend(bytes_on(world)(size) for size in sizes)


REMEDIES = {
    "retry": Remedy(),
    "del": Remedy(after=drop),
    "empty_cache": Remedy(after=lambda w: torch.cuda.empty_cache()),
    "del_and_empty_cache": Remedy(after=drop_and_empty),
    "smaller_batch": Remedy(after=half_the_batch),
    "half_precision": Remedy(after=half_precision),
    "to_device": Remedy(operation="moved_matmul"),
    "checkpointing": Remedy(operation="checkpointed_step"),
    "larger_batch": Remedy(operation="larger_step"),
    "in_parts": Remedy(operation="smaller_matmul"),
    "clear_workspaces": Remedy(after=lambda w: torch._C._cuda_clearCublasWorkspaces()),
    "cublaslt": Remedy(after=lambda w: torch.backends.cuda.preferred_blas_library("cublaslt") and None),
    "end_other_process": Remedy(after=lambda w: w.release()),
    "synchronize": Remedy(after=lambda w: wait_quietly()),
    "gc": Remedy(after=lambda w: (gc.collect(), torch.cuda.ipc_collect()) and None),
    "whole_pair": Remedy(),
    "first_product_first": Remedy(before=lambda w: Matmul(w)() and None),
}


def wait_quietly() -> None:
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        pass


# ---- arms of their own ----


def documented(api: str, variant: str, work: Callable[[World], Optional[bool]], then: str = "") -> Callable[[World], None]:
    """A step as a document prints it; then the next product, or the remedy and what follows it."""

    def arm(world: World) -> None:
        world.trial.observe(api, variant, lambda: work(world))
        if then:
            world.trial.apply(then)
        attempt(world, Matmul, "next")

    return arm


def too_large(world: World) -> Optional[bool]:
    torch.randn(1024, 1024, 1024, 1024, device=device_of(world))
    return None


def too_large_in_parts(world: World) -> None:
    world.trial.observe("torch.randn", "1024_4", lambda: too_large(world))
    world.trial.apply("a smaller tensor")
    world.trial.observe("torch.randn", "1024_3", lambda: None if torch.randn(1024, 1024, 1024, device=device_of(world)).sum().cpu() else None)
    attempt(world, Matmul, "next")


def product_of(first: Tuple[int, int], second: Tuple[int, int]) -> Callable[[World], Optional[bool]]:
    def work(world: World) -> Optional[bool]:
        a, b = small_integers(world, *first), small_integers(world, *second)
        found = torch.matmul(a.float().to(device_of(world)), b.float().to(device_of(world)))
        return same(found, a @ b)

    return work


def linear_on(world: World, features: int = 10) -> torch.nn.Linear:
    return torch.nn.Linear(features, 5).to(device_of(world))


def cpu_input(world: World) -> Optional[bool]:
    linear_on(world)(torch.randn(1, 10)).cpu()
    return None


def moved_input(world: World) -> Optional[bool]:
    layer, x = linear_on(world), torch.randn(1, 10)
    found = layer(x.to(device_of(world))).detach().cpu()
    return bool(torch.allclose(found, torch.nn.functional.linear(x, layer.weight.cpu(), layer.bias.cpu()), atol=1e-4))


def integer_model(world: World) -> Optional[bool]:
    linear_on(world).to(torch.int32)(torch.randn(1, 10, device=device_of(world))).cpu()
    return None


def integer_weights(world: World) -> Optional[bool]:
    layer = linear_on(world)
    weight = layer.weight.detach().to(torch.int32)
    torch.nn.functional.linear(torch.randn(1, 10, device=device_of(world)), weight).cpu()
    return None


def mixed_types(world: World) -> Optional[bool]:
    device = device_of(world)
    torch.matmul(torch.randn(8, 8, device=device), torch.randn(8, 8, device=device).double()).cpu()
    return None


def linear_of(*shape: int, features: int = 10) -> Callable[[World], Optional[bool]]:
    def work(world: World) -> Optional[bool]:
        layer, x = linear_on(world, features), small_integers(world, *shape).float()
        found = layer(x.to(device_of(world))).detach().cpu()
        return bool(torch.allclose(found, torch.nn.functional.linear(x, layer.weight.cpu(), layer.bias.cpu()), atol=1e-4))

    return work


def example_2(world: World) -> None:
    world.trial.observe("torch.nn.Linear", "1x20x10", lambda: linear_of(1, 20, 10)(world))
    world.trial.observe("torch.nn.Linear", "1x10x20", lambda: linear_of(1, 10, 20)(world))


def example_2_of_20_features(world: World) -> None:
    world.trial.observe("torch.nn.Linear", "1x20x10_for_20_features", lambda: linear_of(1, 20, 10, features=20)(world))
    world.trial.observe("torch.nn.Linear", "1x10x20_for_20_features", lambda: linear_of(1, 10, 20, features=20)(world))


def cublas_gemm(world: World) -> None:
    there = hasattr(torch.cuda, "cublas_gemm")
    world.trial.measure("torch.cuda.cublas_gemm exists", 1 if there else 0)
    world.trial.observe("torch.cuda.cublas_gemm", "", lambda: getattr(torch.cuda, "cublas_gemm") and None)
    attempt(world, Matmul, "next")


# Prints the microseconds of a linear layer with a bias: PyTorch reads its variable once in a process.
TIMED_LINEAR = """
import sys, torch
torch.cuda.set_device(int(sys.argv[1]))
x, weight, bias = [torch.ones(shape, dtype=torch.float16, device="cuda") for shape in ((512, 1024), (4096, 1024), (4096,))]
best = float("inf")
for _ in range(10):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(100):
        torch.nn.functional.linear(x, weight, bias)
    end.record()
    torch.cuda.synchronize()
    best = min(best, begin.elapsed_time(end) * 1000 / 100)
print(best)
"""


def printed_number(program: str, device: int, variable: str, value: str) -> float:
    """By a Python of its own with this variable, or without it where the value is empty."""
    environment = {**os.environ, variable: value}
    if not value:
        del environment[variable]
    words = [sys.executable, "-B", "-c", program, str(device)]
    ended = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    try:
        return float(ended.stdout)
    except ValueError:
        said = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise SetUpFailed(f"the process with {variable}={value}: {said}") from None


def cost_of_no_addmm_lt(world: World) -> None:
    """How long a linear layer takes with cuBLASLt and without, each in a process of its own."""
    for name, value in (("with", ""), ("without", "1")):
        time = printed_number(TIMED_LINEAR, world.trial.device, "DISABLE_ADDMM_CUDA_LT", value)
        world.trial.measure(f"time of a linear layer {name} cuBLASLt", time, "us")
    attempt(world, Linear)


# Prints the memory of PyTorch's allocator that a first product takes for cuBLAS's workspace: the variable is read once in a process.
TAKEN_BY_PRODUCT = """
import sys, torch
torch.cuda.set_device(int(sys.argv[1]))
x, y = [torch.ones(shape, device="cuda") for shape in ((96, 112), (112, 80))]
before = torch.cuda.memory_allocated()
z = torch.matmul(x, y)
print(torch.cuda.memory_allocated() - before)
"""
WORKSPACE_SETTINGS = ("unset", ":0:0", ":16:8", ":4096:8", ":many:8")


def workspace_footprints(world: World) -> None:
    """What the first product takes by CUBLAS_WORKSPACE_CONFIG, each setting in a process of its own, side by side."""
    with multiprocessing.pool.ThreadPool(len(WORKSPACE_SETTINGS)) as side_by_side:
        taken = side_by_side.map(
            lambda setting: printed_number(TAKEN_BY_PRODUCT, world.trial.device, "CUBLAS_WORKSPACE_CONFIG", setting.replace("unset", "")), WORKSPACE_SETTINGS)
    for setting, count in zip(WORKSPACE_SETTINGS, taken):
        world.trial.measure(f"memory taken by the first product, {setting}", count, "bytes")
    attempt(world, Matmul)


def memory_of_half_precision(world: World) -> None:
    """The most that a step of training takes: in FP32, in FP16, and by autocast, which keeps weights in FP32."""
    start(world)
    attempt(world, Matmul)  # so that no step pays for the workspace

    def step(dtype: torch.dtype, cast: bool) -> None:
        layers = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Linear(1024, 1024)).to(device_of(world), dtype)
        optimizer = torch.optim.SGD(layers.parameters(), lr=0.5)
        rows = torch.ones(4096, 1024, device=device_of(world), dtype=dtype)
        with torch.autocast("cuda", dtype=torch.float16, enabled=cast):
            loss = layers(rows).sum()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()

    for name, dtype, cast in (("in FP32", torch.float32, False), ("in FP16", torch.float16, False), ("by autocast", torch.float32, True)):
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        world.trial.observe("torch.optim.SGD", "step_" + name.lower().replace(" ", "_"), lambda: step(dtype, cast) and None)
        world.trial.measure(f"memory of a step of training {name}", torch.cuda.max_memory_allocated() - before, "bytes")


def index_on_cpu(world: World) -> Optional[bool]:
    torch.nn.functional.embedding(torch.tensor([11], device=device_of(world)), torch.zeros(10, 4, device=device_of(world)))
    return None


def remedied(api: str, variant: str, work: Callable[[World], Optional[bool]], words: str, second: str,
             then: Callable[[World], Optional[bool]]) -> Callable[[World], None]:
    """A step that fails, the remedy in words, and the step that follows it."""

    def arm(world: World) -> None:
        world.trial.observe(api, variant, lambda: work(world))
        world.trial.apply(words)
        world.trial.observe(api, second, lambda: then(world))

    return arm


def product_in_new_process(device: int, seed: int) -> bool:
    generator = torch.Generator().manual_seed(seed % (1 << 63))
    a, b = [torch.randint(-3, 4, (64, 64), generator=generator).double() for _ in range(2)]
    return same(torch.matmul(a.float().to(f"cuda:{device}"), b.float().to(f"cuda:{device}")), a @ b)


def captured(work: Callable[[torch.Tensor, torch.Tensor], Any], variant: str, words: str = "") -> Callable[[World], None]:
    """Something that a capture may not hold, behind a product that the process has made before."""

    def arm(world: World) -> None:
        start(world)
        product = Matmul(world)
        product()

        def capture() -> Optional[bool]:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                c = torch.matmul(*product.operands)
                work(product.operands[0], c)
            graph.replay()
            return same(c, product.numbers[0] @ product.numbers[1])

        world.trial.observe("torch.cuda.CUDAGraph", variant, capture)
        if words:
            world.trial.apply(words)
            attempt(world, GraphReplay)
        else:
            attempt(world, Matmul, "next")

    return arm


def copy_to_host(_: torch.Tensor, c: torch.Tensor) -> None:
    c.cpu()


def synchronise(_: torch.Tensor, __: torch.Tensor) -> None:
    torch.cuda.synchronize()


OPERATIONS: Dict[str, Any] = {
    "matmul": Matmul,
    "later_matmul": Matmul.like("fp32_later", warm=True),
    "matmul_half": Matmul.like("fp16", dtype=torch.float16),
    "matmul_bfloat16": Matmul.like("bf16", dtype=torch.bfloat16),
    "matmul_tf32": Tf32Matmul,
    "matmul_fp8": ScaledMm,
    "matmul_fp8_k_of_8": ScaledMm.like("e4m3_k_of_8", shapes=((64, 8), (32, 8))),
    "large_matmul": LargeMatmul,
    "smaller_matmul": SmallerMatmul,
    "moved_matmul": MovedMatmul,
    "addmm": Addmm,
    "linear": Linear,
    "bmm": Bmm,
    "training_step": TrainingStep,
    "checkpointed_step": CheckpointedStep,
    "larger_step": TrainingStep.like("training_step_of_twice_the_rows", shapes=((128, 48), (32, 48))),
    "embedding": EmbeddingLinear,
    "embedding_out_of_range": EmbeddingLinear.like("index_out_of_range", too_high=100_000),
    "checked_embedding": CheckedEmbedding,
    "gather_out_of_range": Gather,
    "solve": Solve,
    "graph_replay": GraphReplay,
    "cold_graph": GraphReplay.like("first_product_captured", warm_up=False),
    "second_thread": SecondThread,
    "large_empty": LargeEmpty,
}

ARMS: Dict[str, Callable[[World], None]] = {
    "documented_examples/too_large": documented("torch.randn", "1024_4", too_large),
    "documented_examples/too_large+catch": documented("torch.randn", "1024_4", too_large, "catch the exception and go on"),
    "documented_examples/too_large+smaller": too_large_in_parts,
    "documented_examples/ten_by_ten_times_ten_by_five": documented("torch.matmul", "10x10_by_10x5", product_of((10, 10), (10, 5))),
    "documented_examples/incompatible_shapes": documented("torch.matmul", "10x10_by_5x10", product_of((10, 10), (5, 10))),
    "documented_examples/cpu_input": documented("torch.nn.Linear", "cpu_input", cpu_input),
    "documented_examples/cpu_input+to_device": remedied(
        "torch.nn.Linear", "cpu_input", cpu_input, "move the input by .to(device)", "moved_input", moved_input),
    "documented_examples/integer_model": documented("torch.nn.Linear", "integer_model", integer_model),
    "documented_examples/integer_weights": documented("torch.nn.Linear", "integer_weights", integer_weights),
    "documented_examples/integer_weights+float": remedied(
        "torch.nn.Linear", "integer_weights", integer_weights, "a model of the type of its input", "float_model", moved_input),
    "documented_examples/example_2": example_2,
    "documented_examples/example_2_of_20_features": example_2_of_20_features,
    "documented_examples/cublas_gemm": cublas_gemm,
    "on_the_cpu/mixed_types": documented("torch.matmul", "fp32_by_fp64", mixed_types),
    "on_the_cpu/index_out_of_range": documented("torch.nn.Embedding", "index_out_of_range", index_on_cpu),
    "on_the_cpu/control": lambda world: attempt(world, Matmul) and None,
    "index_out_of_range/embedding": alone("embedding_out_of_range", sample=False),
    "index_out_of_range/embedding+check_index": alone("checked_embedding", then_next=False),
    "index_out_of_range/gather": alone("gather_out_of_range", sample=False),
    "variables/cost_of_no_addmm_lt": cost_of_no_addmm_lt,
    "variables/workspace_footprints": workspace_footprints,
    "operations/memory_of_half_precision": memory_of_half_precision,
    **FORKED_CHILD,
    "capture/copy_to_host": captured(copy_to_host, "copy_to_host"),
    "capture/copy_to_host+outside": captured(copy_to_host, "copy_to_host", "copy behind the replay"),
    "capture/synchronise": captured(synchronise, "synchronise"),
}
ARMS.update({f"on_the_cpu/{name}": ARMS[f"documented_examples/{name}"] for name in (
    "incompatible_shapes", "ten_by_ten_times_ten_by_five", "integer_model", "integer_weights", "integer_weights+float", "example_2")})
def snippet(api: str, work: Callable[[], Optional[bool]], words: str = "") -> Callable[[World], None]:
    """Code of a page; `words`: how it was corrected."""

    def arm(world: World) -> None:
        if words:
            world.trial.apply(words)
        with torch.cuda.device(device_of(world)):
            world.trial.observe(api, "snippet", work)

    return arm


for _name, (_api, _fails, _corrected, _words) in SNIPPETS.items():
    ARMS["snippets/" + _name] = snippet(_api, _fails)
    ARMS[f"snippets/{_name}_corrected"] = snippet(_api, _corrected, _words)
for _name in OPERATIONS:
    ARMS.setdefault("operations/" + _name, alone(_name, then_next=False))
for _name, _canary in CANARIES.items():
    ARMS["numbers/" + _name] = documented(*_canary)
for _case, _arms in upgrades.ARMS.items():
    ARMS.update({f"{_case}/{_name}": stepwise(_steps) for _name, _steps in _arms.items()})

FRAMEWORK = Framework(
    table_of("pytorch"),
    operations=OPERATIONS,
    faults={
        **FAULTS,
        "live_tensors": live_tensors,
        "cached_tensors": cached_tensors,
        "fragmentation": fragmentation,
        "index_out_of_range": assertion,
        "illegal_address": launch("cufault_illegal_address"),
        "capture": lambda world: None,
        "mixed_pair": mixed_pair,
        "variables": variables,
    },
    remedies=REMEDIES,
    arms=ARMS,
    start=start,
    prove=prove,
    memory=memory,
    next_product="matmul",
    why_no_gpu=lambda: why_no_gpu(),
    product_in_new_process=product_in_new_process,
    before_start=frozenset({"variables", "injected_at_start"}),
)


def why_no_gpu() -> str:
    if torch.version.cuda is None:
        return "this PyTorch was built without CUDA"
    if torch.cuda.is_available():
        return ""
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:  # pylint: disable=broad-except
        return str(error)
    return "PyTorch sees no GPU"
