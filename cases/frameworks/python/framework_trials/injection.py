# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the driver and of libraries that libcufault.so fails while one operation of a framework runs. What follows is made up: it does
not show that this happens without cufault."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Optional

from framework_trials.cells import World, parsed
from framework_trials.protocol import NotProvoked, SetUpFailed
from framework_trials.tables import INJECTION

Rules = List[Dict[str, Any]]


# Rules by the word in an arm's name. Rules without "hits" hold until the operation ends. "caller": the library that makes the call.
RULES: Dict[str, Rules] = {
    word: [{"function": function, **{key: value for key, value in rule.items() if key not in ("summary", "functions")}} for function in rule["functions"]]
    for group in INJECTION.values()
    for word, rule in group.items()
}
# Libraries by the beginning of a function's name; the first match counts. All other functions are the driver's.
LIBRARIES = {"cublasLt": "cublasLt", "cublas": "cublas", "cuda": "cudart"}


def libraries_of(rules: Rules) -> List[str]:
    beginnings = [next((begin for begin in LIBRARIES if rule["function"].startswith(begin)), None) for rule in rules]
    return sorted({LIBRARIES[begin] for begin in beginnings if begin})


class Injector:
    """What libcufault.so offers to the process that it is preloaded into."""

    def __init__(self, libraries: List[str]) -> None:
        process = ctypes.CDLL(None)
        try:
            self._set, self._error, self._acted = (
                process.cufault_set_rules,
                process.cufault_rules_error,
                process.cufault_injections,
            )
        except AttributeError:
            raise NotProvoked(
                "libcufault.so is not preloaded: it was not built, or lies where the loader cannot name it (a path with ':' or a space)"
            ) from None
        for library in libraries:
            if not hasattr(process, "cufault_front_" + library):
                raise NotProvoked(f"libcufault_{library}.so is not preloaded: it was not built, or lies where the loader cannot name it")
        self._set.argtypes = [ctypes.c_char_p]
        self._error.restype = ctypes.c_char_p
        self._acted.restype = ctypes.c_ulonglong

    def set_rules(self, rules: Optional[Rules]) -> None:
        text = json.dumps({"rules": rules}).encode() if rules else None
        if self._set(text) != 0:
            raise SetUpFailed("libcufault.so: " + (self._error() or b"").decode(errors="replace"))

    def acted(self) -> int:
        """Calls of this process that rules acted on so far."""
        return int(self._acted())


def fault(world: World) -> None:
    """The rules hold for one operation. Where they acted on none of its calls, nothing was provoked."""
    word = next((word for word in parsed(world.trial.arm)[1] if word in RULES), None)
    if word is None:
        raise SetUpFailed("the name of the arm has no rule")
    libraries = libraries_of(RULES[word])
    calls = "library calls" if libraries else "driver calls"
    injector = Injector(libraries)
    before = injector.acted()
    world.trial.note("rules", json.dumps(RULES[word]))
    injector.set_rules(RULES[word])

    def over() -> None:
        injector.set_rules(None)
        acted = injector.acted() - before
        world.trial.measure(f"{calls} of this process that rules acted on", acted)
        if acted == 0:
            raise NotProvoked(f"the operation made no {calls[:-1]} that the rule is for")

    world.at_end_of_fault.append(over)
