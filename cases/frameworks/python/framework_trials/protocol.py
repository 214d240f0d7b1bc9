# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What a trial tells: frames on a descriptor, as harness/model/frame.hpp describes them."""
from __future__ import annotations

import contextlib
import ctypes
import json
import math
import mmap
import os
import re
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from framework_trials import errors
from framework_trials.forks import REPORT_FD

LARGEST_NOTE = 4096


class NotProvoked(Exception):
    """A precondition of the trial cannot be reached here."""


class SetUpFailed(Exception):
    """What the trial needs first did not work: it proves nothing."""


def mapped_files(name: str) -> List[str]:
    """Files in this process whose paths have the name."""
    with open("/proc/self/maps", "rb") as maps:
        return sorted({line.split(maxsplit=5)[-1] for line in os.fsdecode(maps.read()).split("\n") if name in line})


def error_of_shared_runtime() -> str:
    """cudaPeekAtLastError() of the CUDA runtime that this process has loaded; empty where it has none as a library."""
    with contextlib.suppress(OSError, AttributeError):
        for path in mapped_files("libcudart.so"):
            runtime = ctypes.CDLL(path)
            runtime.cudaGetErrorName.restype = ctypes.c_char_p
            return (runtime.cudaGetErrorName(runtime.cudaPeekAtLastError()) or b"").decode()
    return ""


class DriverLog:
    """The driver's error log (CUDA 12.9 and newer), from where this was made; told when the step ends, as harness/trial/driver_log.cpp keeps it. Empty where there is no driver, or none with a log."""

    LINE = re.compile(r"\[[\d:.]+\]\[(\d+)\]\[CUDA\]\[\w+\](?:\[(cu\w+)\])? ?(.*)")
    RETURN = re.compile(r"(?:(.*?)[,:]? )?Returning (\d+)(?: \((?:CUDA_ERROR_)?(\w+)\))? from (\w+)\.?\s*$")
    MOST_KEPT = 4

    def __init__(self, load: bool) -> None:
        self._driver: Optional[ctypes.CDLL] = None
        self._at: Optional[ctypes.c_uint] = ctypes.c_uint()
        if not load or os.environ.get("CUFAULT_DRIVER_LOG") == "off":
            return
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL("libcuda.so.1")  # as the first call of the CUDA runtime would
            if driver.cuLogsCurrent(ctypes.byref(self._at), 0) != 0:
                self._at = None  # the log has nothing yet
            self._driver = driver

    def text(self) -> str:
        """All that was said since. The driver keeps the last hundred messages."""
        size = ctypes.c_size_t(1 << 16)
        buffer = ctypes.create_string_buffer(size.value)
        at = None if self._at is None else ctypes.byref(self._at)
        if self._driver is None or self._driver.cuLogsDumpToMemory(at, buffer, ctypes.byref(size), 0) != 0:
            return ""
        return buffer.value.decode(errors="replace")

    def messages(self) -> List[Dict[str, Any]]:
        """The first different ones, with counts; reasons are joined with the message behind them that names the function."""
        found: List[Dict[str, Any]] = []
        reasons: Dict[str, List[str]] = {}
        own = str(ctypes.c_ulong(threading.get_ident()).value)

        def add(known: List[str], text: str) -> None:
            plain = "".join(c if " " <= c <= "~" and c != "\\" else "?" for c in text.strip()).replace('"', "'")
            if plain and plain[:8] not in "; ".join(known):
                known.append(plain)

        def keep(thread: str, **what: str) -> None:
            said: Dict[str, Any] = {name: value for name, value in {**what, "other_thread": thread != own}.items() if value}
            same = [each for each in found if {**each, "times": 1} == {**said, "times": 1}]
            if same:
                same[0]["times"] = same[0].get("times", 1) + 1
            elif len(found) < self.MOST_KEPT:
                found.append(said)

        for line in self.text().splitlines():
            parts = self.LINE.search(line)
            if parts is None:
                continue
            thread, function, message = parts.groups()
            returned = self.RETURN.match(message)
            if returned is None and function is None:
                # Reasons with the same beginning name one kernel after another.
                add(reasons.setdefault(thread, []), message)
                continue
            text, number, code, name = returned.groups() if returned else (message, "", "", function)
            known = reasons.pop(thread, [])
            add(known, text or "")
            keep(thread, function=name, code=code or number or "", text="; ".join(known)[:256])
        for thread, left in reasons.items():
            if left:
                keep(thread, text="; ".join(left)[:256])
        return found


class Trial:
    """One execution of an arm."""

    def __init__(self, case: str, arm: str, seed: int, device: int, report: int = REPORT_FD) -> None:
        self.case, self.arm, self.seed, self.device = case, arm, seed, device
        self._report = report
        self.on_gpu = not case.endswith(".on_the_cpu")
        self.expected: Optional[Dict[str, Any]] = None  # the identity of the framework, as the stack has it
        self.last_error: Callable[[], str] = error_of_shared_runtime
        self._in_step = mmap.mmap(-1, 1)  # shared with forked processes

    def send(self, frame: Dict[str, Any]) -> None:
        payload = json.dumps(frame).encode()
        data = b"CF1 %d\n%s\n" % (len(payload), payload)
        while data:
            data = data[os.write(self._report, data) :]

    def observe(self, api: str, variant: str, work: Callable[[], Any], kind_of_text: bool = False) -> bool:
        """Makes a step: `work` returns whether the numbers are right, or None where nobody looked; or this and facts of the step. Whether it
        raised nothing. `kind_of_text`: how the text of an exception begins is a fact."""
        self.send({"t": "begin", "api": api, "variant": variant})
        self._in_step[0] = 1
        log = DriverLog(self.on_gpu)
        start = time.monotonic()
        status, numbers, text = "OK", "unchecked", ""
        ok, facts = True, {}
        try:
            right = work()
            if isinstance(right, tuple):
                right, facts = right
            numbers = "unchecked" if right is None else "right" if right else "wrong"
        except NotProvoked:
            raise
        except BaseException as error:  # pylint: disable=broad-except
            ok = False
            status, facts = errors.describe(error)
            facts.update(getattr(error, "facts", {}))  # what the step had seen
            text = str(error)
            if kind_of_text:
                facts["text"] = re.sub(r"\d+", "N", re.sub(r"/\S+", "PATH", one_line(text)))[:40]
        taken = (time.monotonic() - start) * 1000
        for said in log.messages():
            self.send({"t": "driver", **said})
        self.end(status, facts, ok, numbers, self.last_error() if self.on_gpu else "", taken)
        if text:
            self.note((api + " " + variant).strip(), text)
        return ok

    def step_of_child_is_open(self) -> bool:
        """Whether a forked process, which has ended, ended inside of a step."""
        return bool(self._in_step[0])

    def end(self, status: str, facts: Dict[str, Any], ok: bool = False, numbers: str = "unchecked", last_error: str = "", ms: float = 0) -> None:
        """Ends the step; also that inside of which a forked process ended."""
        self._in_step[0] = 0
        frame = {"t": "end", "status": status, "ok": ok, "numbers": numbers, "last_error": last_error, "ms": ms}
        self.send({**frame, "facts": facts} if facts else frame)

    def apply(self, words: str) -> None:
        """From here on the steps are those of the remedy."""
        self.send({"t": "apply", "text": words})

    def measure(self, name: str, value: float, unit: str = "") -> None:
        if math.isfinite(value):
            self.send({"t": "measure", "name": name, "value": float(value), "unit": unit})

    def note(self, name: str, text: str) -> None:
        self.send({"t": "note", "name": name, "text": text[:LARGEST_NOTE]})

    def memory(self, at: str, free: int, total: int) -> None:
        self.send({"t": "memory", "at": at, "free": int(free), "total": int(total)})

    def context(self, state: str) -> None:
        self.send({"t": "context", "state": state})

    def not_provoked(self, why: str) -> None:
        self.send({"t": "not_provoked", "why": one_line(why)})

    def failed(self, why: str) -> None:
        self.send({"t": "harness_failed", "why": one_line(why)})

    def done(self) -> None:
        self.send({"t": "done"})


def one_line(text: str) -> str:
    return " ".join(str(text).split())[:500] or "no reason was given"
