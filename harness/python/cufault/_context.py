# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""A look at the CUDA contexts of this process, by the libraries that it has loaded. Loads none, creates no context, waits for no kernel."""

from __future__ import annotations

import ctypes
import functools
import os
import queue
import re
import threading
from ctypes import byref
from typing import Any

LOST = frozenset({214, 700, 702, 710, 714, 715, 716, 717, 718, 719})
"""Codes after which a context cannot be used: `sticky` in cases/explain/errors.json, but for 709, after which a process may make another."""
_SECONDS = 5.0
_LOG_BYTES = 25600  # the most that the driver keeps
# What the injector counts: made, less given back.
_MADE = {
    "streams": ("cuStreamCreate*", "cuStreamDestroy*"),
    "events": ("cuEventCreate*", "cuEventDestroy*"),
    "handles of cuBLAS": ("cublasCreate", "cublasDestroy"),
    "handles of cuDNN": ("cudnnCreate", "cudnnDestroy"),
}


_found: dict[str, Any] = {}


def _loaded(*names: str) -> Any:
    for name in names:
        try:
            _found[name] = _found.get(name) or ctypes.CDLL(name, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
            return _found[name]
        except OSError:
            pass
    return None


@functools.cache  # the injector is preloaded or never there; a search of all libraries takes long
def injector_calls() -> Any:
    """How often functions that a glob names were called, by the injector of this process; None without one."""
    count = getattr(ctypes.CDLL(None), "cufault_calls", None)
    if count is not None:
        count.argtypes, count.restype = [ctypes.c_char_p], ctypes.c_ulonglong
    return count


class Contexts:
    """The current context of the thread that asks, and the primary contexts of all devices."""

    def __init__(self) -> None:
        self.hangs = False
        self._process = os.getpid()
        self._log: ctypes.c_uint | None = None
        self._asked: queue.SimpleQueue[Any] | None = None
        self._answered: queue.SimpleQueue[None] = queue.SimpleQueue()

    def begin(self) -> None:
        """Words of the driver count from here."""
        log, current = ctypes.c_uint(), getattr(_loaded("libcuda.so.1"), "cuLogsCurrent", None)
        self._log = log if current is not None and current(byref(log), 0) == 0 else None

    def look(self) -> tuple[str, dict[str, int]]:
        """Why a context is lost, empty where none is; and numbers that grow where a test leaves something behind."""
        here, numbers, codes = ctypes.c_void_p(), dict[str, int](), list[int]()
        driver = _loaded("libcuda.so.1") if os.getpid() == self._process else None  # CUDA does not work in a forked child
        if self.hangs:
            return f"the driver did not answer within {_SECONDS:.0f} s", numbers
        if driver is None or driver.cuCtxGetCurrent(byref(here)) != 0:
            return "", numbers
        # In a thread of its own: a driver that hangs does not hang the tests, and their current context stays theirs.
        if self._asked is None:
            self._asked = queue.SimpleQueue()
            threading.Thread(target=self._answer_all, args=(driver, self._asked), name="cufault guard", daemon=True).start()
        self._asked.put((here, numbers, codes))
        try:
            self._answered.get(timeout=_SECONDS)
        except queue.Empty:
            self.hangs = True
            return self.look()
        lost = next((code for code in codes if code in LOST), None)
        if lost is not None:
            return self._words(driver, lost), numbers
        peek = getattr(_loaded("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"), "cudaPeekAtLastError", None)
        if here and peek is not None:
            numbers["last error of the runtime"] = peek()
        calls = injector_calls()
        if calls is not None:
            numbers.update({what: calls(make.encode()) - calls(end.encode()) for what, (make, end) in _MADE.items()})
        return "", numbers

    def _answer_all(self, driver: Any, asked: queue.SimpleQueue[Any]) -> None:
        while True:
            try:
                _ask(driver, *asked.get())
            finally:
                self._answered.put(None)

    def _words(self, driver: Any, code: int) -> str:
        """The code's name and what the driver logged of it first since `begin`, else its text for the code."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        driver.cuGetErrorName(code, byref(name))
        driver.cuGetErrorString(code, byref(text))
        named, told = (name.value or str(code).encode()).decode(), (text.value or b"").decode(errors="replace")
        log, size = ctypes.create_string_buffer(_LOG_BYTES + 1), ctypes.c_size_t(_LOG_BYTES)
        dump = getattr(driver, "cuLogsDumpToMemory", None)
        if dump is not None and dump(byref(self._log) if self._log is not None else None, log, byref(size), 0) == 0:
            before = ""
            for line in log.value.decode(errors="replace").splitlines():
                line = re.sub(r"^(\[[^]]*\] ?)+", "", line)
                if f"({named})" in line:
                    told = f"{before}; {line}" if before and "Returning " not in before else line
                    break
                before = line
        return f"{named} ({told})" if told else named


def _ask(driver: Any, here: ctypes.c_void_p, numbers: dict[str, int], codes: list[int]) -> None:
    def answer(context: ctypes.c_void_p) -> int:
        code: int = driver.cuCtxSetCurrent(context) or driver.cuMemGetInfo_v2(byref(free), byref(total))
        codes.append(code)
        driver.cuCtxSetCurrent(None)
        return code

    free, total, devices, flags, active = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    if here and answer(here) == 0:
        numbers["bytes in use on the device by any process"] = total.value - free.value
    driver.cuDeviceGetCount(byref(devices))
    for device in range(devices.value):
        if driver.cuDevicePrimaryCtxGetState(device, byref(flags), byref(active)) == 0 and active:
            primary = ctypes.c_void_p()
            codes.append(driver.cuDevicePrimaryCtxRetain(byref(primary), device))
            if codes[-1] == 0:
                if primary.value != here.value:
                    answer(primary)
                driver.cuDevicePrimaryCtxRelease_v2(device)
