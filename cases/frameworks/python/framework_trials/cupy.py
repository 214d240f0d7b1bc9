# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""CuPy: its operations, faults and remedies. Only what needs no compiler: an environment may have none for kernels."""
from __future__ import annotations

import gc
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import cupy
import cupy.linalg
import numpy

from framework_trials.cells import FORKED_CHILD, Framework, Operation, Remedy, World, alone, attempt, by_arguments, in_thread
from framework_trials.faults import FAULTS
from framework_trials.numbers import dot_beyond, same, small_integers, sum_beyond, take_beyond, where_free
from framework_trials.protocol import NotProvoked, error_of_shared_runtime
from framework_trials.tables import table_of


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


class BFloat16Matmul(Product):
    """CuPy takes the type of ml_dtypes, which it does not install."""

    api, variant = "cupy.matmul", "bf16"

    def __init__(self, world: World) -> None:
        try:
            import ml_dtypes
        except ImportError:
            raise NotProvoked("bfloat16 is a type of ml_dtypes, which this environment lacks") from None
        self.dtype = ml_dtypes.bfloat16
        super().__init__(world)


class Tf32Matmul(Product):
    """What CUPY_TF32=1 asks for, for one product."""

    api, variant = "cupy.matmul", "tf32"

    def __call__(self) -> Optional[bool]:
        from cupy._core import _routines_linalg as routines

        before = routines.get_compute_type(numpy.float32)
        routines.set_compute_type(numpy.float32, routines.COMPUTE_TYPE_TF32)
        try:
            return super().__call__()
        finally:
            routines.set_compute_type(numpy.float32, before)


class IntegerWeights(Product):
    """CuPy converts the second operand itself, by a kernel that it compiles."""

    api, variant = "cupy.matmul", "fp32_by_int32"

    def refresh(self) -> None:
        super().refresh()
        self.operands[1] = cupy.empty(self.shapes[1], dtype=numpy.int32)
        self.operands[1].set(self.numbers[1].astype(numpy.int32))


class GraphReplay(Product):
    """Warmed up, captured, replayed on other numbers."""

    api, variant = "cupy.cuda.Graph", "replay"
    warm_up = True

    def work(self, c: Any) -> None:
        cupy.matmul(self.operands[0], self.operands[1], out=c)

    def expected(self) -> Any:
        return self.numbers[0] @ self.numbers[1]

    def __call__(self) -> Optional[bool]:
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            c = cupy.empty(self.expected().shape, dtype=self.dtype)
            if self.warm_up:
                self.work(c)
                stream.synchronize()
            graph = graph_of(stream, lambda: self.work(c))
        self.refresh()
        cupy.cuda.runtime.deviceSynchronize()
        graph.launch(stream)
        stream.synchronize()
        return same(c.get(), self.expected())


class KernelReplay(GraphReplay):
    """A kernel of CuPy's own, since CuPy 14.2 makes no product in a capture."""

    variant = "kernel_replay"

    def work(self, c: Any) -> None:
        cupy.multiply(self.operands[0], 2, out=c)

    def expected(self) -> Any:
        return 2 * self.numbers[0]


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


def graph_of(stream: Any, work: Callable[[], Any]) -> Any:
    """What `work` does on the stream, captured. No capture is left open."""
    stream.begin_capture()
    try:
        work()
    except BaseException:
        try:
            stream.end_capture()
        except Exception:  # pylint: disable=broad-except
            pass
        raise
    return stream.end_capture()


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


def last_error() -> str:
    """CuPy contains a CUDA runtime of its own. Where it has no function for its last error (14.2.0 has none), that of a shared one."""
    peek = getattr(cupy.cuda.runtime, "peekAtLastError", None)
    if peek is None:
        return error_of_shared_runtime()
    code = peek()
    return str(cupy.cuda.runtime.CUDARuntimeError(code)).split(":", 1)[0] if code else "cudaSuccess"


def product_in_new_process(device: int, seed: int) -> bool:
    cupy.cuda.Device(device).use()
    generator = numpy.random.default_rng(seed)
    a, b = [generator.integers(-3, 4, size=(64, 64)).astype(numpy.float64) for _ in range(2)]
    there = [cupy.empty((64, 64), dtype=numpy.float32) for _ in range(2)]
    for array, numbers in zip(there, (a, b)):
        array.set(numbers.astype(numpy.float32))
    return same((there[0] @ there[1]).get(), a @ b)


def captured(work: Callable[[KernelReplay, Any], Any], variant: str, words: str = "", then: Any = None) -> Callable[[World], None]:
    """`work` on a kernel and its result, in a capture, after the process has run the kernel. `then`: after the remedy."""

    def arm(world: World) -> None:
        start(world)
        kernel = KernelReplay(world)

        def capture() -> Optional[bool]:
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                c = cupy.empty(kernel.expected().shape, dtype=kernel.dtype)
                kernel.work(c)
                stream.synchronize()
                graph = graph_of(stream, lambda: work(kernel, c))
            graph.launch(stream)
            stream.synchronize()
            return same(c.get(), kernel.expected())

        world.trial.observe("cupy.cuda.Graph", variant, capture)
        if words:
            world.trial.apply(words)
            attempt(world, then)
        else:
            attempt(world, Matmul, "next")

    return arm


def copy_to_host(kernel: KernelReplay, c: Any) -> None:
    kernel.work(c)
    c.get()


def synchronise(kernel: KernelReplay, c: Any) -> None:
    kernel.work(c)
    cupy.cuda.runtime.deviceSynchronize()


def allocate(kernel: KernelReplay, c: Any) -> None:
    """More than any block that the pool has."""
    cupy.empty(1 << 28, dtype=numpy.uint8)
    kernel.work(c)


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


# ---- what an upgrade may change: a function, and by which arguments it cannot and can fail ----


def argmax_beyond(size: int) -> bool:
    x = cupy.zeros(size, numpy.int8)
    x[-1] = 1
    return int(x.argmax()) == size - 1


def cumsum_beyond(size: int) -> bool:
    found = cupy.ones(size, numpy.int8).cumsum(dtype=numpy.int64)
    return int(found[-1]) == size and same(found[:: 1 << 16].get(), numpy.arange(1, size + 1, 1 << 16))


def einsum_layout(names: str) -> Any:
    """Of two operands and the result."""
    subscripts = "{},{}->{}".format(*names.split("_"))
    numbers = [numpy.arange(33 * 48).reshape(33, 48) % 7 - 3.0, numpy.arange(48 * 17).reshape(48, 17) % 5 - 2.0]
    found = cupy.einsum(subscripts, *(cupy.asarray(n.astype(numpy.float32)) for n in numbers))
    return same(found.get(), numpy.einsum(subscripts, *numbers)), {"strides": list(found.strides), "type": str(found.dtype)}


class Exported:
    """An array of another package, which has the memory of `array` and tells no more of it."""

    def __init__(self, array: Any) -> None:
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


def imported(which: str) -> bool:
    numbers = numpy.arange(33 * 48.0).reshape(33, 48)
    array = cupy.asarray(numbers)
    pair = (array[::2, ::-3], numbers[::2, ::-3]) if which == "strided" else (array, numbers)
    return same((cupy.asarray(Exported(pair[0])) * 2).get(), 2 * pair[1])


# The function, what is done with it, by which arguments, and how many GiB must be free.
UPGRADES: Dict[str, Tuple[str, Callable[[Any], Any], Tuple[Any, ...], int]] = {
    "upgrades_beyond/dot": ("cupy.dot", partial(dot_beyond, cupy), (65535, 65536), 10),
    "upgrades_beyond/sum": ("cupy.sum", partial(sum_beyond, cupy), (65535, 65536), 4),
    "upgrades_beyond/argmax": ("cupy.argmax", argmax_beyond, ((1 << 31) - 1, (1 << 31) + 1), 4),
    "upgrades_beyond/cumsum": ("cupy.cumsum", cumsum_beyond, ((1 << 31) - 1, 1 << 31), 24),
    "upgrades_beyond/take": ("cupy.take", partial(take_beyond, cupy), ((1 << 21) - 9, 1 << 21), 24),
    "upgrades/einsum": ("cupy.einsum", einsum_layout, ("ij_jk_ik", "ij_jk_ki", "ij_jk_i"), 0),
    "upgrades/array_interface": ("cupy.asarray", imported, ("dense", "strided"), 0),
}

OPERATIONS: Dict[str, Any] = {
    "matmul": Matmul,
    "later_matmul": Matmul.like("fp32_later", warm=True),
    "matmul_half": Matmul.like("fp16", dtype=numpy.float16),
    "matmul_bfloat16": BFloat16Matmul,
    "matmul_tf32": Tf32Matmul,
    "batched_matmul": Matmul.like("batched", shapes=((4, 48, 64), (4, 64, 32))),
    "integer_weights": IntegerWeights,
    "graph_replay": GraphReplay,
    "cold_graph": GraphReplay.like("first_product_captured", warm_up=False),
    "second_thread": SecondThread,
    "incompatible_shapes": IncompatibleShapes,
    "solve": Solve,
    "take": Take,
    "large_empty": LargeEmpty,
}

REMEDIES = {
    "retry": Remedy(),
    "del": Remedy(after=drop),
    "free_all_blocks": Remedy(after=lambda w: cupy.get_default_memory_pool().free_all_blocks()),
    "del_and_free_all_blocks": Remedy(after=drop_and_free),
    "smaller_batch": Remedy(after=half_of_the_arrays),
    "end_other_process": Remedy(after=lambda w: w.release()),
    "set_limit": Remedy(before=lambda w: cupy.get_default_memory_pool().set_limit(fraction=0.9)),
    "no_pool": Remedy(before=lambda w: cupy.cuda.set_allocator(None)),
    "asynchronous_pool": Remedy(before=asynchronous_pool),
    "first_product_first": Remedy(before=lambda w: Matmul(w)() and None),
    "handle_first": Remedy(before=lambda w: cupy.cuda.Device(w.trial.device).cublas_handle and None),
}


def why_no_gpu() -> str:
    try:
        return "" if cupy.cuda.runtime.getDeviceCount() > 0 else "CuPy sees no GPU"
    except Exception as error:  # pylint: disable=broad-except
        return str(error)


FRAMEWORK = Framework(
    table_of("cupy"),
    operations=OPERATIONS,
    faults={**FAULTS, "live_arrays": live_arrays, "cached_arrays": cached_arrays, "capture": lambda world: None},
    remedies=REMEDIES,
    arms={
        **{"operations/" + name: alone(name) for name in OPERATIONS},
        "index_out_of_range/take": alone("take"),
        "capture/copy_to_host": captured(copy_to_host, "copy_to_host"),
        "capture/copy_to_host+outside": captured(copy_to_host, "copy_to_host", "copy behind the replay", KernelReplay),
        "capture/synchronise": captured(synchronise, "synchronise"),
        "capture/allocation": captured(allocate, "allocation"),
        "capture/allocation+before": captured(allocate, "allocation", "make the arrays before the capture", KernelReplay),
        **{name: where_free(gib, by_arguments(api, work, arguments)) for name, (api, work, arguments, gib) in UPGRADES.items()},
        **FORKED_CHILD,
    },
    start=start,
    prove=prove,
    memory=memory,
    next_product="matmul",
    why_no_gpu=why_no_gpu,
    last_error=last_error,
    product_in_new_process=product_in_new_process,
    before_start=frozenset({"injected_at_start", "variables"}),
)
