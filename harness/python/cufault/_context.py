# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""A look at the CUDA contexts of this process, by the libraries that it has loaded. Loads none, creates no context, waits for no kernel."""

from __future__ import annotations

import ctypes
import os
import queue
import re
import threading
from dataclasses import dataclass, field
from typing import Any

LOST = frozenset({214, 700, 702, 710, 714, 715, 716, 717, 718, 719})
"""Codes after which a context cannot be used: `sticky` in cases/explain/errors.json, but for 709, after which a process may make another."""
_SECONDS = 5.0
# What is made and given back, by what the injector counts.
_MADE = {
    "streams": (("cuStreamCreate*",), ("cuStreamDestroy*",)),
    "events": (("cuEventCreate*",), ("cuEventDestroy*",)),
    "handles": tuple(tuple(f"{name}{what}" for name in ("cublas", "cublasLt", "cudnn", "cusolverDn")) for what in ("Create", "Destroy")),
}
_LOG_BYTES = 25600  # the most that the driver keeps


def _loaded(*names: str) -> Any:
    for name in names:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:
            pass
    return None


def _of(library: Any, name: str) -> Any:
    return getattr(library, name, None)


@dataclass
class State:
    """Of the process, between two tests. None: not known."""

    free: int | None = None
    last_error: int | None = None
    made: dict[str, int] = field(default_factory=dict)


class Contexts:
    """The current context of the thread that asks, and the primary contexts of all devices."""

    def __init__(self) -> None:
        self.hangs = False
        self._process = os.getpid()
        self._driver: Any = None
        self._runtime: Any = None
        self._log: ctypes.c_uint | None = None
        self._asked: queue.SimpleQueue[ctypes.c_void_p] | None = None
        self._told: queue.SimpleQueue[tuple[int, int | None]] = queue.SimpleQueue()

    def begin(self) -> None:
        """Words of the driver count from here."""
        self._log = None
        current = _of(self._found(), "cuLogsCurrent")
        log = ctypes.c_uint()
        if current is not None and current(ctypes.byref(log), 0) == 0:
            self._log = log

    def look(self) -> tuple[str, State]:
        """Why a context is lost, empty where none is; and the state, of which free memory is the current context's."""
        state = State()
        driver = self._found()
        here = ctypes.c_void_p()
        if self.hangs or driver is None or driver.cuCtxGetCurrent(ctypes.byref(here)) != 0:
            return "", state
        if self._asked is None:
            self._asked = queue.SimpleQueue()
            threading.Thread(target=self._ask, args=(driver, self._asked), name="cufault guard", daemon=True).start()
        self._asked.put(here)
        try:
            code, state.free = self._told.get(timeout=_SECONDS)
        except queue.Empty:
            self.hangs = True
            return f"cuMemGetInfo did not answer within {_SECONDS:.0f} s", state
        if code in LOST:
            return self._words(driver, code), state
        if here:
            self._runtime = self._runtime or _loaded(*(f"libcudart.so.{version}" for version in ("13", "12", "11.0")))
            peek = _of(self._runtime, "cudaPeekAtLastError")
            state.last_error = peek() if peek is not None else None
        calls = injector_calls()
        if calls is not None:
            state.made = {what: sum(map(calls, made)) - sum(map(calls, ended)) for what, (made, ended) in _MADE.items()}
        return "", state

    def _found(self) -> Any:
        if os.getpid() != self._process:
            return None  # forked: CUDA does not work there
        self._driver = self._driver or _loaded("libcuda.so.1")
        return self._driver

    def _ask(self, driver: Any, asked: queue.SimpleQueue[ctypes.c_void_p]) -> None:
        """In a thread of its own: a driver that hangs does not hang the tests, and the tests' current context stays theirs."""
        devices = ctypes.c_int()
        driver.cuDeviceGetCount(ctypes.byref(devices))
        while True:
            here = asked.get()
            code, free = self._answer(driver, here) if here else (0, None)
            for device in range(devices.value):
                if code in LOST:
                    break
                flags, active, primary = ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
                if driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) != 0 or not active:
                    continue
                code = driver.cuDevicePrimaryCtxRetain(ctypes.byref(primary), device)
                if code == 0:
                    if primary.value != here.value:
                        code, _ = self._answer(driver, primary)
                    driver.cuDevicePrimaryCtxRelease_v2(device)
            self._told.put((code, free))

    @staticmethod
    def _answer(driver: Any, context: ctypes.c_void_p) -> tuple[int, int | None]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        code: int = driver.cuCtxSetCurrent(context) or driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        driver.cuCtxSetCurrent(None)
        return code, free.value if code == 0 else None

    def _words(self, driver: Any, code: int) -> str:
        """The code's name and what the driver logged of it first since `begin`, else its text for the code."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        driver.cuGetErrorName(code, ctypes.byref(name))
        driver.cuGetErrorString(code, ctypes.byref(text))
        named = (name.value or str(code).encode()).decode()
        told = (text.value or b"").decode(errors="replace")
        dump = _of(driver, "cuLogsDumpToMemory")
        log, size = ctypes.create_string_buffer(_LOG_BYTES + 1), ctypes.c_size_t(_LOG_BYTES)
        if dump is not None and dump(ctypes.byref(self._log) if self._log is not None else None, log, ctypes.byref(size), 0) == 0:
            lines = [re.sub(r"^(\[[^]]*\] ?)+", "", line) for line in log.value.decode(errors="replace").splitlines()]
            first = next((number for number, line in enumerate(lines) if f"({named})" in line), None)
            if first is not None:
                reason = lines[first - 1 : first] if first else []
                told = "; ".join(line for line in [*reason, lines[first]] if line == lines[first] or "Returning " not in line)
        return f"{named} ({told})" if told else named


def injector_calls() -> Any:
    """How often functions that a glob names were called, by the injector in this process; None without one."""
    count = _of(ctypes.CDLL(None), "cufault_calls")
    if count is None:
        return None
    count.argtypes, count.restype = [ctypes.c_char_p], ctypes.c_ulonglong
    return lambda name: int(count(name.encode()))
