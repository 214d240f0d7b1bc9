# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver by ctypes, for what no framework has: memory of the whole device, plain allocations, kernels that fail."""
from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import List, Tuple

from framework_trials.protocol import NotProvoked, mapped_files

MIB = 1 << 20
# The smallest allocation of cuMemAlloc.
GRANULE = 2 * MIB

KERNELS = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry cufault_trap()
{
  trap;
  ret;
}
.visible .entry cufault_illegal_address()
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 16;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""


class Driver:
    """Calls in the primary context of a device, which the frameworks use too. It is made current for the call alone."""

    def __init__(self, device: int) -> None:
        try:
            self._lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NotProvoked(f"there is no CUDA driver: {error}") from None
        self._context = ctypes.c_void_p()
        number = ctypes.c_int()
        self._require("cuInit", 0)
        self._require("cuDeviceGet", ctypes.byref(number), device)
        self._require("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), number)

    def _require(self, name: str, *arguments: object) -> None:
        code = getattr(self._lib, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._lib.cuGetErrorName(code, ctypes.byref(text))
            raise NotProvoked(f"{name} returns {(text.value or b'an unknown error').decode()}")

    def _inside(self, name: str, *arguments: object) -> None:
        self._require("cuCtxPushCurrent_v2", self._context)
        try:
            self._require(name, *arguments)
        finally:
            self._lib.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def memory(self) -> Tuple[int, int]:
        """Free and total bytes of the device."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._inside("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> int:
        """A plain allocation. Raises NotProvoked."""
        pointer = ctypes.c_uint64()
        self._inside("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value

    def free(self, pointer: int) -> None:
        self._inside("cuMemFree_v2", ctypes.c_uint64(pointer))

    def fill(self, leave: int) -> List[int]:
        """Plain allocations, until at most `leave` bytes and a granule are free."""
        held: List[int] = []
        size = self.memory()[0]
        while size >= GRANULE:
            size = min(size, self.memory()[0] - leave) // GRANULE * GRANULE
            if size < GRANULE:
                break
            try:
                held.append(self.allocate(size))
            except NotProvoked:
                size //= 2
        return held

    def launch(self, kernel: str) -> None:
        """Launches a kernel of KERNELS on the legacy stream, and does not wait for it."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._inside("cuModuleLoadData", ctypes.byref(module), KERNELS)
        self._inside("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        self._inside("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None)


def has_begun() -> bool:
    """Whether this process has called cuInit: then no process that is forked from it can use a GPU."""
    try:
        paths = mapped_files("/libcuda.so")
        not_initialized = 3
        return any(ctypes.CDLL(path).cuDeviceGetCount(ctypes.byref(ctypes.c_int())) != not_initialized for path in paths)
    except (OSError, AttributeError):
        return False


class OtherProcess:
    """Another process that holds device memory, so that `leave` bytes stay free. It ends with this object, or with this process."""

    def __init__(self, device: int, leave: int) -> None:
        words = [sys.executable, "-B", sys.argv[0], "hold", "--device", str(device), "--leave-free", str(leave)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = self._process.stdout.readline().decode(errors="replace") if self._process.stdout else ""
        if not said.startswith("held"):
            self.release()
            raise NotProvoked(f"another process could not take device memory: {said.strip() or 'it said nothing'}")

    def release(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()


def hold(device: int, leave: int) -> int:
    """What the other process does: fills, tells, and holds until its standard input ends."""
    try:
        driver = Driver(device)
        driver.fill(leave)
        print("held", driver.memory()[0], flush=True)
    except NotProvoked as error:
        print(error, flush=True)
        return 1
    sys.stdin.read()
    return 0
