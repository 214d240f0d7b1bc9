# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What differs between hosts and not between GPUs: how processes start, two cuBLAS, warm caches, groups of one process, own kernels."""
from __future__ import annotations

import ctypes
import shutil
import tempfile
from typing import List

import torch

from framework_trials.cells import World, part_of
from framework_trials.protocol import NotProvoked, mapped_files
from framework_trials.pytorch_numbers import device_of, same, small_integers
from framework_trials.upgrades.ground import Seen
from framework_trials.upgrades.routes import by_route, cold_caches, rotated
from framework_trials.upgrades.values import Tensor, whole


ROWS = whole((2, 8, 1000, 96), (1000, 48), (1000, 48))  # and their cosines and sines


def own_kernel(world: World, by_bmm: bool = True) -> Seen:
    """The program's own in place of PyTorch's, or called by itself."""
    calls: List[int] = []

    def product(a: Tensor, b: Tensor) -> Tensor:
        calls.append(1)
        return (a[:, :, :, None] * b[:, None]).sum(2)

    library = torch.library.Library("aten", "IMPL")  # whose kernels go with it
    if by_bmm:
        library.impl("bmm", product, "CPU" if device_of(world) == "cpu" else "CUDA")
    a, b = whole((4, 33, 48), (4, 48, 17)).make(world)
    return same((torch.bmm if by_bmm else product)(a.to(device_of(world)), b.to(device_of(world))), a @ b) and bool(calls)


def second_cublas(world: World) -> Seen:
    """A copy of PyTorch's cuBLAS, loaded by a path of its own, makes a handle; then PyTorch multiplies."""
    product = by_route("torch.mm", whole((65, 96), (96, 80)))[0].work
    first = product(world)
    own = mapped_files("/libcublas.so")
    if not own:
        raise NotProvoked("PyTorch has loaded no cuBLAS as a library")
    with tempfile.TemporaryDirectory(prefix="cufault_") as folder:
        other = ctypes.CDLL(shutil.copy(own[0], folder), mode=ctypes.RTLD_GLOBAL)
    handle = ctypes.c_void_p()
    status = other.cublasCreate_v2(ctypes.byref(handle)) or other.cublasDestroy_v2(handle)
    return bool(first and product(world)), {"result": f"status {status}"}


def driver_of_triton(_: World) -> Seen:
    """Whether Triton calls it active, which must not begin CUDA."""
    return None, {"result": str(part_of("triton.backends").backends["nvidia"].driver.is_active())}


def group(world: World, backend: str, of_new: str) -> Seen:
    """Of this process alone, and a new one within. Of two devices: cuda=nccl+cpu=gloo."""
    distributed, backend = torch.distributed, backend.replace("=", ":").replace("+", ",")
    wanted = small_integers(world, 1000)
    found = wanted.float().to("cpu" if of_new == "gloo" else device_of(world))
    distributed.init_process_group(backend, store=distributed.HashStore(), rank=0, world_size=1)
    try:
        distributed.all_reduce(found, group=distributed.new_group([0], backend=of_new))
    finally:
        distributed.destroy_process_group()
    return same(found, wanted)


def cold_and_warm(world: World) -> Seen:
    """Compiled twice with one cache: the second time the first one's graph is read."""
    given, right = ROWS.make(world), True
    with cold_caches():
        for _ in range(2):
            torch.compiler.reset()
            right = right and same(torch.compile(rotated)(*(t.float().to(device_of(world)) for t in given)), rotated(*given))
    return right, {"result": "read" if torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"] else "not read"}
