# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The injector of this process: its rules, and what it injected (harness/include/cufault/cufault_injector.h)."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypedDict

_START = "start it under the injector: cufault inject -- python SCRIPT"


class NotUnderInjector(RuntimeError):
    """This process runs without ``libcufault.so``, or with rules that it was started with. The message says how to start it."""


class RuleError(ValueError):
    """A rule is wrong. The message is the injector's own."""


class Rule(TypedDict, total=False):
    """A rule, as in the files that ``cufault inject --rules`` reads; ``cufault inject --help`` describes each key.

    ``return`` is a keyword of Python: write ``{"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"}``, which type checkers take as a
    plain mapping.
    """

    function: str
    fail: str
    drop_call: bool
    delay_ms: int
    spin: bool
    corrupt: str
    argument: int
    elements: int
    format: str
    kernel: str
    driver_version: int
    hide: bool
    budget_bytes: int
    log: bool
    when: str
    sticky: bool
    caller: str
    process: str
    environment: dict[str, str]
    pid: int
    began_before: float
    thread: int
    device: int
    min_bytes: int
    max_bytes: int
    skip: int
    hits: int
    every: int
    pattern: str
    once_per: str
    stack: bool | str
    then_any_stack: bool
    probability: float
    seed: int
    force: bool


@dataclass(frozen=True)
class Injection:
    """One call that a rule acted on."""

    function: str
    """With its version: ``"cuMemAlloc_v2"``."""
    ordinal: int
    """Which call of those that the rule holds for, from 1."""
    did: str | dict[str, int | str]
    """The code that was returned (``"CUDA_ERROR_OUT_OF_MEMORY"``), or what else was done: ``"dropped"``, ``{"delay_ms": 5}``."""
    caller: str
    """File name of the library that called."""
    offset: str | None
    """Of the call in that file, in hexadecimal; None if not known."""
    symbol: str | None
    """The function that called, if its file exports it; None if not."""
    stack: str | None
    """Hash of the call stack, for rules with ``stack`` or ``once_per``."""
    bytes: int | None
    """Asked for, by a function that allocates."""
    thread: int
    """From 1, in the order of their first driver call."""
    rule: int
    """From 0, as they were given."""
    pid: int
    time: float
    """Seconds since 1970."""


class _Library:
    """The copy of libcufault.so that was preloaded into this process. Another copy would see no calls."""

    def __init__(self) -> None:
        loaded = ctypes.CDLL(None)  # what dlsym(RTLD_DEFAULT) finds: never loads a file
        try:
            self.set_rules = loaded.cufault_set_rules
            self.set_log = loaded.cufault_set_log
            self.rules_error = loaded.cufault_rules_error
            self.injections = loaded.cufault_injections
        except AttributeError:
            raise NotUnderInjector(f"this process runs without the injector; {_START}") from None
        self.set_rules.argtypes, self.set_rules.restype = [ctypes.c_char_p], ctypes.c_int
        self.set_log.argtypes, self.set_log.restype = [ctypes.c_char_p], None
        self.rules_error.argtypes, self.rules_error.restype = [], ctypes.c_char_p
        self.injections.argtypes, self.injections.restype = [], ctypes.c_ulonglong


class _Log:
    """Where this process's injections are told: CUFAULT_LOG, or memory of this process."""

    def __init__(self, library: _Library) -> None:
        self.lost = 0
        self.path = os.environ.get("CUFAULT_LOG", "")
        if not self.path:
            # A forked child inherits it; a program that replaces this process tells standard error again.
            self.lost = library.injections()
            self.path = f"/proc/self/fd/{os.memfd_create('cufault-injections')}"
            library.set_log(self.path.encode())

    def size(self) -> int:
        return os.stat(self.path).st_size

    def injections(self, since: int = 0) -> list[Injection]:
        """Of this process, behind so many bytes."""
        with open(self.path, "rb") as lines:
            lines.seek(since)
            return [found for line in lines if (found := injection_of(line)) is not None and found.pid == os.getpid()]


def injection_of(line: bytes) -> Injection | None:
    """A line of a log; None for one that tells of no injection, or that was not written whole."""
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    if told.get("event") != "injected":
        return None
    values: dict[str, Any] = {name: told.get(name) for name in Injection.__dataclass_fields__}
    return Injection(**values)


_lock = threading.Lock()
_library: _Library | None = None
_log: _Log | None = None
_in_effect: Rules | None = None


def _connect() -> tuple[_Library, _Log]:
    global _library, _log
    with _lock:
        if _library is None:
            _library = _Library()
        if _log is None:
            _log = _Log(_library)
        return _library, _log


class Rules(contextlib.ContextDecorator):
    """Rules that hold for the whole process, each of its threads included, between entering and leaving. Made by :func:`inject` and
    :func:`rules`; also a decorator. Entering counts calls anew."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._since = 0
        self._log: _Log | None = None

    def __enter__(self) -> Rules:
        global _in_effect
        library, log = _connect()
        given = [name for name in ("CUFAULT_RULES", "CUFAULT_FAIL") if os.environ.get(name)]
        if given:
            raise NotUnderInjector(
                f"this process was started with rules of its own ({', '.join(given)}), which would be lost; {_START}"
            )
        with _lock:
            if _in_effect is not None:
                raise RuntimeError("rules are in effect already; leave that context first, or give all rules to one")
            since = log.size()
            if library.set_rules(self._text.encode()) != 0:
                raise RuleError(library.rules_error().decode(errors="replace"))
            _in_effect = self
        self._log, self._since = log, since
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _in_effect
        library, _ = _connect()
        with _lock:
            library.set_rules(None)
            _in_effect = None

    def injected(self) -> list[Injection]:
        """What was injected in this process since the context was entered. Empty before."""
        return self._log.injections(self._since) if self._log is not None else []


def inject(*fail: str) -> Rules:
    """Fail driver calls: ``FUNCTION[:N[+]]=CODE``, as ``cufault inject --fail``: the N-th call, with ``+`` each later one too, else all.

    Raises on entering: :class:`RuleError` for a wrong text, :class:`NotUnderInjector` in a process without the injector.
    """
    if not fail:
        raise RuleError("inject() needs what to fail, as in inject('cuMemAlloc:3=OUT_OF_MEMORY')")
    for text in fail:
        if not text or any(c.isspace() for c in text) or text[0] in "{[":
            raise RuleError(f"{text!r}: expected FUNCTION[:N[+]]=CODE, without spaces; rules() takes other rules")
    return Rules(" ".join(fail))


def rules(*given: Rule | Mapping[str, object]) -> Rules:
    """Rules of any kind: ``rules({"function": "cuMemcpy*", "delay_ms": 5}, {"budget_bytes": 1 << 30})``.

    Raises as :func:`inject` does.
    """
    if not given:
        raise RuleError("rules() needs a rule, as in rules({'function': 'cuMemcpy*', 'delay_ms': 5})")
    return Rules(json.dumps({"rules": given}))


def injected() -> list[Injection]:
    """What was injected in this process, in the order in which it happened.

    Without ``cufault inject --log FILE`` it is known from the first use of this module on; earlier injections were told on standard error.
    Raises :class:`NotUnderInjector` in a process without the injector, or where injections happened before they could be kept.
    """
    _, log = _connect()
    if log.lost:
        raise NotUnderInjector(
            f"{log.lost} calls were injected before this module was used, and told on standard error; start the process with "
            "a log: cufault inject --log FILE ... -- python SCRIPT"
        )
    return log.injections()
