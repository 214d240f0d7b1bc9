# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""JAX: its operations, faults and remedies."""
from __future__ import annotations

import gc
from typing import Any, Callable, Dict, List, Optional, Tuple

import jax
import jax.numpy
import numpy

from framework_trials import injection
from framework_trials.cells import Framework, Operation, Remedy, World, attempt
from framework_trials.driver import OtherProcess
from framework_trials.numbers import same, small_integers
from framework_trials.protocol import NotProvoked


def device_of(world: World) -> Any:
    return jax.devices("gpu")[world.trial.device]


def put(world: World, numbers: numpy.ndarray) -> Any:
    there = jax.device_put(numbers, device_of(world)).block_until_ready()
    setattr(world, "started", True)
    return there


class Product(Operation):
    shapes: Tuple[Tuple[int, ...], ...] = ((96, 112), (112, 80))
    dtype: Any = numpy.float32

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.numbers: List[numpy.ndarray] = []
        self.operands: List[Any] = []
        self.refresh()

    def refresh(self) -> None:
        self.numbers = [small_integers(self.world, *shape) for shape in self.shapes]
        self.operands = [put(self.world, numbers.astype(self.dtype)) for numbers in self.numbers]

    def __call__(self) -> Optional[bool]:
        return same(jax.numpy.matmul(*self.operands), self.numbers[0] @ self.numbers[1])


class Matmul(Product):
    api, variant = "jax.numpy.matmul", "fp32"


class LaterMatmul(Matmul):
    variant, warm = "fp32_later", True


class HalfMatmul(Product):
    api, variant, dtype = "jax.numpy.matmul", "fp16", numpy.float16


class JitMatmul(Product):
    api, variant = "jax.jit", "matmul"

    def __call__(self) -> Optional[bool]:
        found = jax.jit(lambda a, b: a @ b)(*self.operands)
        return same(found, self.numbers[0] @ self.numbers[1])


class DotGeneral(Product):
    api, variant = "jax.lax.dot_general", "incompatible_shapes"
    shapes = ((10, 10), (5, 10))

    def __call__(self) -> Optional[bool]:
        jax.numpy.matmul(*self.operands).block_until_ready()
        return None


class Gradient(Product):
    api, variant = "jax.value_and_grad", "linear"
    shapes = ((64, 48), (32, 48))

    def __call__(self) -> Optional[bool]:
        x, weight = self.operands
        _, gradient = jax.value_and_grad(lambda w: (x @ w.T).sum())(weight)
        return same(gradient, numpy.broadcast_to(self.numbers[0].sum(0), (32, 48)))


class Solve(Operation):
    api, variant = "jax.numpy.linalg.solve", ""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.matrix = small_integers(world, 64, 64) + 256 * numpy.eye(64)
        self.refresh()

    def refresh(self) -> None:
        self.wanted = small_integers(self.world, 64, 8)
        self.operands = [put(self.world, n.astype(numpy.float32)) for n in (self.matrix, self.matrix @ self.wanted)]

    def __call__(self) -> Optional[bool]:
        found = numpy.asarray(jax.numpy.linalg.solve(*self.operands))
        return bool(numpy.allclose(found, self.wanted, atol=1e-2))


class Take(Product):
    """JAX has no error for it: what comes back is noted."""

    api, variant = "jax.numpy.take", "index_out_of_range"
    shapes = ((10, 4),)

    def __call__(self) -> Optional[bool]:
        rows = numpy.asarray(self.operands[0][jax.numpy.asarray([100_000])])
        last = bool(numpy.array_equal(rows[0], self.numbers[0][-1].astype(numpy.float32)))
        self.world.trial.measure("the last row came back", 1 if last else 0)
        return None


class LargeArray(Operation):
    api, variant = "jax.device_put", "one_gib"

    def __call__(self) -> Optional[bool]:
        array = put(self.world, numpy.full(1 << 30, 7, dtype=numpy.uint8))
        return bool((numpy.asarray(array[:1000]) == 7).all())


def start(world: World) -> None:
    put(world, numpy.zeros(1, dtype=numpy.float32))


def prove(world: World) -> str:
    if not getattr(world, "started", False):
        return "none"
    gc.collect()
    numbers = numpy.arange(1000, dtype=numpy.int32)
    return "usable" if int((put(world, numbers) * 2).sum()) == 999_000 else "damaged"


def memory(world: World) -> Dict[str, float]:
    stats = device_of(world).memory_stats() or {}
    return {
        "memory in use by JAX": float(stats.get("bytes_in_use", 0)),
        "limit of JAX's memory": float(stats.get("bytes_limit", 0)),
        "memory reserved by JAX": float(stats.get("pool_bytes", stats.get("bytes_reserved", 0))),
    }


def hold_on(world: World) -> Callable[[int], Any]:
    def hold(size: int) -> Any:
        with jax.default_device(device_of(world)):
            # In rows of a MiB: no extent needs more than 31 bits.
            return jax.numpy.zeros((size >> 20, 1 << 20), dtype=jax.numpy.uint8).block_until_ready()

    return hold


def live_arrays(world: World) -> None:
    """Up to the level, where arrays are plain allocations; else the pool that JAX has made for itself."""
    if world.has_level:
        world.leave_free(hold_on(world))
        return
    hold = hold_on(world)

    def left() -> int:
        stats = device_of(world).memory_stats() or {}
        return int(stats.get("bytes_limit", 0)) - int(stats.get("bytes_in_use", 0))

    if left() < 1 << 30:
        raise NotProvoked("JAX does not say how large its pool is")
    part = 8 << 30
    try:
        while part >= 256 << 20:
            if left() < part:  # so that fewer allocations fail: each may wait before it raises
                part //= 2
                continue
            try:
                world.held.append(hold(part))
            except Exception:  # pylint: disable=broad-except
                part //= 2
    finally:
        world.trial.measure("arrays held", len(world.held))


def other_process(world: World) -> None:
    """Before JAX begins."""
    world.driver.memory()
    world.other = OtherProcess(world.trial.device, world.level)
    world.require_level()


def kernel_trap(world: World) -> None:
    world.driver.launch("cufault_trap")


def drop(world: World) -> None:
    for array in world.held:
        array.delete()
    world.held.clear()
    gc.collect()


def alone(name: str) -> Callable[[World], None]:
    def arm(world: World) -> None:
        start(world)
        attempt(world, OPERATIONS[name])
        attempt(world, Matmul, "next")
        world.sample("after the operation")

    return arm


OPERATIONS: Dict[str, Any] = {
    "matmul": Matmul,
    "later_matmul": LaterMatmul,
    "matmul_half": HalfMatmul,
    "jit": JitMatmul,
    "incompatible_shapes": DotGeneral,
    "gradient": Gradient,
    "solve": Solve,
    "take": Take,
    "large_array": LargeArray,
}

REMEDIES = {
    "retry": Remedy("catch the exception and do it again"),
    "delete": Remedy("delete() the arrays", after=drop),
    "clear_caches": Remedy("jax.clear_caches()", after=lambda w: jax.clear_caches()),
    "end_other_process": Remedy("end the other process", after=lambda w: w.release()),
    "no_preallocation": Remedy("XLA_PYTHON_CLIENT_PREALLOCATE=false", in_place=True),
    "small_fraction": Remedy("XLA_PYTHON_CLIENT_MEM_FRACTION=.001", in_place=True),
    "platform_allocator": Remedy("XLA_PYTHON_CLIENT_ALLOCATOR=platform", in_place=True),
}


def why_no_gpu() -> str:
    try:
        jax.devices("gpu")
    except RuntimeError as error:
        return str(error)
    return ""


FRAMEWORK = Framework(
    package="jax",
    operations=OPERATIONS,
    faults={
        "live_arrays": live_arrays,
        "other_process": other_process,
        "kernel_trap": kernel_trap,
        "injected": injection.fault,
        "injected_at_start": injection.fault,
    },
    remedies=REMEDIES,
    arms={
        **{"operations/" + name: alone(name) for name in OPERATIONS},
        "index_out_of_range/take": alone("take"),
    },
    start=start,
    prove=prove,
    memory=memory,
    next_product="matmul",
    why_no_gpu=why_no_gpu,
    before_start=frozenset({"other_process", "injected_at_start"}),
)
