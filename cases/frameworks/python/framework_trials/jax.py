# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""JAX: its operations, faults and remedies."""
from __future__ import annotations

import gc
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import jax
import jax.numpy
import numpy

from framework_trials.cells import FORKED_CHILD, Framework, Operation, Remedy, World, alone, by_arguments, in_thread
from framework_trials.faults import FAULTS
from framework_trials.numbers import dot_beyond, generator_of, same, small_integers, sum_beyond, take_beyond, where_free
from framework_trials.protocol import NotProvoked
from framework_trials.tables import table_of


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


class Tf32Matmul(Product):
    api, variant = "jax.numpy.matmul", "tf32"

    def __call__(self) -> Optional[bool]:
        found = jax.numpy.matmul(*self.operands, precision="tensorfloat32")
        return same(found, self.numbers[0] @ self.numbers[1])


class Fp8Matmul(Product):
    """Which library multiplies is XLA's choice."""

    api, variant = "jax.lax.dot_general", "e4m3"
    shapes = ((64, 96), (96, 32))
    dtype = getattr(jax.numpy, "float8_e4m3fn", None)

    def __call__(self) -> Optional[bool]:
        over_columns_and_rows = (((1,), (0,)), ((), ()))
        found = jax.lax.dot_general(*self.operands, over_columns_and_rows, preferred_element_type=jax.numpy.bfloat16)
        return same(found, self.numbers[0] @ self.numbers[1])


class IntegerWeights(Product):
    """JAX converts the second operand itself."""

    api, variant = "jax.numpy.matmul", "fp32_by_int32"

    def refresh(self) -> None:
        super().refresh()
        self.operands[1] = put(self.world, self.numbers[1].astype(numpy.int32))


class Embedding(Operation):
    """Rows of a table, and a product behind them."""

    api, variant = "jax.numpy.take", "and_matmul"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.table, self.weight = small_integers(world, 100, 48), small_integers(world, 48, 32)
        self.operands = [put(world, numbers.astype(numpy.float32)) for numbers in (self.table, self.weight)]
        self.refresh()

    def refresh(self) -> None:
        self.wanted = generator_of(self.world).integers(0, 100, size=16)
        self.indices = put(self.world, self.wanted.astype(numpy.int32))

    def __call__(self) -> Optional[bool]:
        rows = jax.numpy.take(self.operands[0], self.indices, axis=0)
        return same(jax.numpy.dot(rows, self.operands[1]), self.table[self.wanted] @ self.weight)


class SecondThread(Product):
    api, variant = "jax.numpy.matmul", "second_thread"

    def __call__(self) -> Optional[bool]:
        return in_thread(lambda: Product.__call__(self))


class TrainingStep(Product):
    """The sum of a linear layer's output as the loss, its gradient, and a step of SGD, compiled."""

    api, variant = "jax.value_and_grad", "training_step"
    shapes = ((64, 48), (32, 48))

    def __call__(self) -> Optional[bool]:
        def step(weight: Any, x: Any) -> Any:
            _, gradient = jax.value_and_grad(lambda w: (x @ w.T).sum())(weight)
            return weight - 0.5 * gradient

        x, weight = self.operands
        rows, before = self.numbers
        return same(jax.jit(step)(weight, x), before - 0.5 * rows.sum(0))


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
            # Rows of a MiB: no extent needs more than 31 bits.
            return jax.numpy.zeros((size >> 20, 1 << 20), dtype=jax.numpy.uint8).block_until_ready()

    return hold


def left_in_pool(world: World) -> int:
    """0 where JAX has no pool."""
    stats = device_of(world).memory_stats() or {}
    return int(stats.get("bytes_limit", 0)) - int(stats.get("bytes_in_use", 0))


def live_arrays(world: World) -> None:
    """Up to the level, where arrays are plain allocations; else the pool that JAX has made for itself."""
    if world.has_level:
        world.leave_free(hold_on(world))
        return
    hold = hold_on(world)
    left = left_in_pool(world)
    if left <= 0:
        raise NotProvoked("JAX does not say how large its pool is")
    if left < 1 << 30:
        raise NotProvoked(f"JAX's pool has {left >> 20} MiB, and the array that is to fail 1024")
    part = 8 << 30
    try:
        while part >= 256 << 20:
            if left_in_pool(world) < part:  # so that fewer allocations fail: each may wait before it raises
                part //= 2
                continue
            try:
                world.held.append(hold(part))
            except Exception:  # pylint: disable=broad-except
                part //= 2
    finally:
        world.trial.measure("arrays held", len(world.held))


def cached_arrays(world: World) -> None:
    """A deleted array, whose memory JAX keeps. What JAX has not taken is filled by plain allocations."""
    array = hold_on(world)(4 << 30)
    setattr(world, "plain_allocations", world.driver.fill(world.level))
    array.delete()
    if "+" not in world.trial.arm:
        world.require_level()


def fragmentation(world: World) -> None:
    """JAX's pool in blocks of 8 MiB, of which every other one is deleted; 2.25 GiB of them where there is no pool, so that more than 1 GiB is
    in holes."""
    hold, block = hold_on(world), 8 << 20
    has_pool = left_in_pool(world) > 0
    while left_in_pool(world) >= 2 * block if has_pool else len(world.held) * block < 9 << 28:
        world.held.append(hold(block))
    in_holes = world.held[1::2]
    del world.held[1::2]
    for array in in_holes:
        array.delete()
    world.trial.measure("bytes in holes", len(in_holes) * block, "bytes")
    if len(in_holes) * block < 1 << 30:
        raise NotProvoked(f"only {len(in_holes) * block >> 20} MiB are in holes")


def product_in_new_process(device: int, seed: int) -> bool:
    generator = numpy.random.default_rng(seed)
    a, b = [generator.integers(-3, 4, size=(64, 64)).astype(numpy.float64) for _ in range(2)]
    there = [jax.device_put(numbers.astype(numpy.float32), jax.devices("gpu")[device]) for numbers in (a, b)]
    return same(jax.numpy.matmul(*there), a @ b)


def other_process(world: World) -> None:
    """Before JAX begins."""
    world.driver.memory()
    FAULTS["other_process"](world)


def drop(world: World) -> None:
    for array in world.held:
        array.delete()
    world.held.clear()
    gc.collect()


# ---- what an upgrade may change: a function, and by which arguments it cannot and can fail ----


def batch_of_products(batch: int) -> bool:
    a, b = (numpy.arange(batch * 32).reshape(batch, *shape) * step % 7 - 3.0 for shape, step in (((4, 8), 3), ((8, 4), 5)))
    found = jax.vmap(lambda x, y: jax.lax.dot_general(x, y, (((1,), (0,)), ((), ()))))(*(jax.numpy.asarray(n, numpy.float32) for n in (a, b)))
    return same(found, a @ b)


def by_precision(precision: str) -> Any:
    """Factors of 13 bits: TF32 keeps 11 of them."""
    a, b = numpy.full((64, 64), 1 + 2.0**-12), numpy.eye(64)
    found = numpy.asarray(jax.numpy.dot(*(jax.numpy.asarray(n, numpy.float32) for n in (a, b)), precision=precision))
    kept = same(found, a)
    return kept or precision != "highest" and same(found, numpy.ones((64, 64))), {"result": "kept" if kept else "rounded"}


# The function, what is done with it, by which arguments, and how many GiB must be free.
UPGRADES: Dict[str, Tuple[str, Callable[[Any], Any], Tuple[Any, ...], int]] = {
    "upgrades_beyond/dot": ("jax.numpy.dot", partial(dot_beyond, jax.numpy), (65535, 65536), 16),
    "upgrades_beyond/sum": ("jax.numpy.sum", partial(sum_beyond, jax.numpy), (65535, 65536), 8),
    "upgrades_beyond/take": ("jax.numpy.take", partial(take_beyond, jax.numpy), ((1 << 21) - 9, 1 << 21), 32),
    "upgrades/vmap": ("jax.lax.dot_general", batch_of_products, (65535, 65536), 0),
    "upgrades/precision": ("jax.numpy.dot", by_precision, ("highest", "tensorfloat32", "bfloat16"), 0),
}

OPERATIONS: Dict[str, Any] = {
    "matmul": Matmul,
    "later_matmul": Matmul.like("fp32_later", warm=True),
    "matmul_half": Matmul.like("fp16", dtype=numpy.float16),
    "matmul_bfloat16": Matmul.like("bf16", dtype=jax.numpy.bfloat16),
    "matmul_tf32": Tf32Matmul,
    "matmul_fp8": Fp8Matmul,
    "batched_matmul": Matmul.like("batched", shapes=((4, 48, 64), (4, 64, 32))),
    "integer_weights": IntegerWeights,
    "embedding": Embedding,
    "second_thread": SecondThread,
    "training_step": TrainingStep,
    "jit": JitMatmul,
    "incompatible_shapes": DotGeneral,
    "gradient": Gradient,
    "solve": Solve,
    "take": Take,
    "large_array": LargeArray,
}

REMEDIES = {
    "retry": Remedy(),
    "delete": Remedy(after=drop),
    "clear_caches": Remedy(after=lambda w: jax.clear_caches()),
    "end_other_process": Remedy(after=lambda w: w.release()),
    "first_product_first": Remedy(before=lambda w: Matmul(w)() and None),
}


def why_no_gpu() -> str:
    try:
        jax.devices("gpu")
    except RuntimeError as error:
        return str(error)
    return ""


FRAMEWORK = Framework(
    table_of("jax"),
    operations=OPERATIONS,
    faults={
        **FAULTS,
        "live_arrays": live_arrays,
        "cached_arrays": cached_arrays,
        "fragmentation": fragmentation,
        "other_process": other_process,
    },
    remedies=REMEDIES,
    arms={
        **{"operations/" + name: alone(name) for name in OPERATIONS},
        "index_out_of_range/take": alone("take"),
        **{name: where_free(gib, by_arguments(api, work, arguments, on=lambda world: jax.default_device(device_of(world))))
           for name, (api, work, arguments, gib) in UPGRADES.items()},
        **FORKED_CHILD,
    },
    start=start,
    prove=prove,
    memory=memory,
    next_product="matmul",
    why_no_gpu=why_no_gpu,
    product_in_new_process=product_in_new_process,
    before_start=frozenset({"other_process", "injected_at_start", "variables"}),
)
