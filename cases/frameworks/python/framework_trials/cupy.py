# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""CuPy: its operations, faults and remedies. Only what needs no compiler: an environment may have none for kernels."""
from __future__ import annotations

import gc
from typing import Any, Callable, Dict, List, Optional, Tuple

import cupy
import cupy.linalg
import numpy

from framework_trials import injection
from framework_trials.cells import Framework, Operation, Remedy, World, attempt, in_thread
from framework_trials.driver import OtherProcess
from framework_trials.numbers import same, small_integers
from framework_trials.protocol import NotProvoked


class Product(Operation):
    shapes: Tuple[Tuple[int, ...], ...] = ((96, 112), (112, 80))
    dtype: Any = numpy.float32

    def __init__(self, world: World) -> None:
        super().__init__(world)
        cupy.cuda.Device(world.trial.device).use()
        self.operands = [cupy.empty(shape, dtype=self.dtype) for shape in self.shapes]
        self.numbers: List[numpy.ndarray] = []
        self.refresh()

    def refresh(self) -> None:
        self.numbers = [small_integers(self.world, *shape) for shape in self.shapes]
        for operand, numbers in zip(self.operands, self.numbers):
            operand.set(numbers.astype(self.dtype))

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        return same((a @ b).get(), self.numbers[0] @ self.numbers[1])


class Matmul(Product):
    api, variant = "cupy.matmul", "fp32"


class LaterMatmul(Matmul):
    variant, warm = "fp32_later", True


class HalfMatmul(Product):
    api, variant, dtype = "cupy.matmul", "fp16", numpy.float16


class SecondThread(Product):
    """Each thread has a handle of its own."""

    api, variant = "cupy.matmul", "second_thread"

    def __call__(self) -> Optional[bool]:
        def work() -> Optional[bool]:
            cupy.cuda.Device(self.world.trial.device).use()
            return Product.__call__(self)

        return in_thread(work)


class IncompatibleShapes(Product):
    api, variant = "cupy.matmul", "10x10_by_5x10"
    shapes = ((10, 10), (5, 10))

    def __call__(self) -> Optional[bool]:
        a, b = self.operands
        (a @ b).get()
        return None


class Solve(Operation):
    api, variant = "cupy.linalg.solve", ""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.matrix = small_integers(world, 64, 64) + 256 * numpy.eye(64)
        self.operands = [cupy.empty((64, 64), dtype=numpy.float32), cupy.empty((64, 8), dtype=numpy.float32)]
        self.refresh()

    def refresh(self) -> None:
        self.wanted = small_integers(self.world, 64, 8)
        for operand, numbers in zip(self.operands, (self.matrix, self.matrix @ self.wanted)):
            operand.set(numbers.astype(numpy.float32))

    def __call__(self) -> Optional[bool]:
        return bool(numpy.allclose(cupy.linalg.solve(*self.operands).get(), self.wanted, atol=1e-2))


class Take(Product):
    """CuPy has no error for it: what comes back is noted."""

    api, variant = "cupy.take", "index_out_of_range"
    shapes = ((10, 4),)

    def __call__(self) -> Optional[bool]:
        rows = cupy.take(self.operands[0], cupy.asarray(numpy.array([100_003])), axis=0).get()
        wrapped = bool(numpy.array_equal(rows[0], self.numbers[0][100_003 % 10].astype(numpy.float32)))
        self.world.trial.measure("the index was wrapped", 1 if wrapped else 0)
        return None


class LargeEmpty(Operation):
    api, variant = "cupy.empty", "one_gib"

    def __call__(self) -> Optional[bool]:
        array = cupy.empty(1 << 30, dtype=numpy.uint8)
        part = numpy.full(1000, 7, dtype=numpy.uint8)
        array[:1000].set(part)
        return bool(numpy.array_equal(array[:1000].get(), part))


def start(world: World) -> None:
    cupy.cuda.Device(world.trial.device).use()
    cupy.empty(1, dtype=numpy.float32).set(numpy.zeros(1, dtype=numpy.float32))
    setattr(world, "started", True)


def prove(world: World) -> str:
    if not getattr(world, "started", False):
        return "none"
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    numbers = small_integers(world, 1000)
    there = cupy.empty(1000, dtype=numpy.float64)
    there.set(numbers)
    cupy.cuda.runtime.deviceSynchronize()
    return "usable" if same(there.get(), numbers) else "damaged"


def memory(world: World) -> Dict[str, float]:
    pool = cupy.get_default_memory_pool()
    return {"memory used in CuPy's pool": pool.used_bytes(), "memory of CuPy's pool": pool.total_bytes()}


def hold(size: int) -> Any:
    return cupy.empty(size, dtype=numpy.uint8)


def live_arrays(world: World) -> None:
    world.leave_free(hold)


def cached_arrays(world: World) -> None:
    world.leave_free(hold)
    drop(world)
    if cupy.get_default_memory_pool().total_bytes() < 1 << 30 and "+" not in world.trial.arm:
        raise NotProvoked("the pool has not kept the freed arrays")


def other_process(world: World) -> None:
    world.other = OtherProcess(world.trial.device, world.level)
    world.require_level()


def kernel_trap(world: World) -> None:
    world.driver.launch("cufault_trap")


def drop(world: World) -> None:
    world.held.clear()
    gc.collect()


def drop_and_free(world: World) -> None:
    drop(world)
    cupy.get_default_memory_pool().free_all_blocks()


def half_of_the_arrays(world: World) -> None:
    del world.held[::2]
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()


def asynchronous_pool(world: World) -> None:
    setattr(world, "pool", cupy.cuda.MemoryAsyncPool())
    cupy.cuda.set_allocator(getattr(world, "pool").malloc)


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
    "second_thread": SecondThread,
    "incompatible_shapes": IncompatibleShapes,
    "solve": Solve,
    "take": Take,
    "large_empty": LargeEmpty,
}

REMEDIES = {
    "retry": Remedy("catch the exception and do it again"),
    "del": Remedy("del the arrays", after=drop),
    "free_all_blocks": Remedy("free_all_blocks()", after=lambda w: cupy.get_default_memory_pool().free_all_blocks()),
    "del_and_free_all_blocks": Remedy("del the arrays; free_all_blocks()", after=drop_and_free),
    "smaller_batch": Remedy("half of the arrays; free_all_blocks()", after=half_of_the_arrays),
    "end_other_process": Remedy("end the other process", after=lambda w: w.release()),
    "set_limit": Remedy(
        "set_limit(fraction=0.9)", in_place=True, before=lambda w: cupy.get_default_memory_pool().set_limit(fraction=0.9)
    ),
    "no_pool": Remedy("cupy.cuda.set_allocator(None)", in_place=True, before=lambda w: cupy.cuda.set_allocator(None)),
    "asynchronous_pool": Remedy("cupy.cuda.MemoryAsyncPool", in_place=True, before=asynchronous_pool),
    "first_product_first": Remedy("a product before the memory is filled", in_place=True, before=lambda w: Matmul(w)() and None),
    "handle_first": Remedy(
        "Device.cublas_handle before the memory is filled",
        in_place=True,
        before=lambda w: cupy.cuda.Device(w.trial.device).cublas_handle and None,
    ),
}


def why_no_gpu() -> str:
    try:
        return "" if cupy.cuda.runtime.getDeviceCount() > 0 else "CuPy sees no GPU"
    except Exception as error:  # pylint: disable=broad-except
        return str(error)


FRAMEWORK = Framework(
    package="cupy",
    operations=OPERATIONS,
    faults={
        "live_arrays": live_arrays,
        "cached_arrays": cached_arrays,
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
    before_start=frozenset({"injected_at_start"}),
)
