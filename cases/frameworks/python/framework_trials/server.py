# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The commands of run_trials.py, which cufault starts."""
from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import importlib.util
import json
import os
import platform
import signal
import sys
import traceback
from types import ModuleType
from typing import Any, Dict, List, NoReturn, Optional, Set

from framework_trials import cells, driver, forks, identity, injection
from framework_trials.forks import REPORT_FD
from framework_trials.protocol import NotProvoked, SetUpFailed, Trial
from framework_trials.tables import FAMILIES, arms_of


def tie_to_parent() -> None:
    """This process dies with the one that started it, and no other gets the channel."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    os.set_inheritable(REPORT_FD, False)


def tell(found: Any) -> None:
    """A lone surrogate, as of a path that is no UTF-8, would not be JSON."""
    data = (found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)).encode(errors="replace")
    while data:
        data = data[os.write(REPORT_FD, data) :]


# ---- what the environment has ----


def cublas_folder() -> str:
    """Where the environment has a cuBLAS of its own: of a wheel, else of conda; empty where it has none: the system's is found by the loader."""
    of_wheels = (each for name, each in identity.named() if name.startswith("nvidia-cublas"))
    places = [str(each.locate_file(file).parent) for each in of_wheels for file in each.files or [] if file.name.startswith("libcublas.so")]
    for place in (*places, os.path.join(sys.prefix, "lib")):
        if os.path.isdir(place) and any(name.startswith("libcublas.so") for name in os.listdir(place)):
            return os.path.realpath(place)
    return ""


def probe() -> int:
    """What can be read without importing a framework."""
    found = {
        "python": platform.python_version(),
        "prefix": sys.prefix,
        "packages": {name: each.version for name, each in sorted(identity.distributions().items()) if identity.matters(name)},
        "cublas": cublas_folder(),
        "absent": [family for family, package in FAMILIES.items() if importlib.util.find_spec(package) is None],
    }
    tell(found)
    return 0


def probe_import(family: str) -> int:
    """Imports a framework, and says why it has no GPU, and what was imported."""
    name = FAMILIES[family]
    try:
        framework = framework_of(family)
    except BaseException as error:  # pylint: disable=broad-except
        tell({"error": f"import {name} raises {type(error).__name__}: {error}"})
        return 0
    try:
        why = framework.why_no_gpu()
    except BaseException as error:  # pylint: disable=broad-except
        why = f"{type(error).__name__}: {error}"
    try:
        tell({"no_gpu": why, "is": identity.identity(family)})
    except ImportError as error:
        tell({"error": str(error)})
    return 0


class StandIn(ModuleType):
    """In place of a package: whatever is asked for is there."""

    def __getattr__(self, name: str) -> "StandIn":
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name)

    def __call__(self, *_: Any, **__: Any) -> "StandIn":
        return StandIn(self.__name__)


def check(family: str) -> int:
    """Tells what arms of the table name and Python lacks, and what Python has and no arm names. No framework is imported; nothing can run."""
    for package in (*FAMILIES.values(), "cupy.linalg", "jax.numpy", "numpy"):
        sys.modules[package] = StandIn(package)
    framework = framework_of(family)
    has = {"operation": framework.operations, "fault": framework.faults, "remedy": framework.remedies, "rule": injection.RULES}
    used: Dict[str, Set[str]] = {kind: set() for kind in has}
    arms = {f"{case}/{arm}" for case, arm in arms_of(framework.table)}
    for arm in arms - set(framework.arms):
        case, _, cell = arm.partition("/")
        operation, words, remedies = cells.parsed(cell)
        used["operation"].add(operation)
        used["fault"].add(case)
        used["remedy"].update(set(remedies) - {"new_process"})  # the server's own
        used["rule"].update(words if case.startswith("injected") else [])
    wrong = [f"no {kind} {name}" for kind, names in used.items() for name in sorted(names - set(has[kind]))]
    for remedy in framework.remedies.values():
        used["operation"].add(remedy.operation)
    used["operation"].update([framework.next_product, *(getattr(framework.arms[arm], "operation", "") for arm in arms & set(framework.arms))])
    made = {"operations/" + name for name in framework.operations}  # an arm of Python's for each
    wrong += [f"no arm for {kind} {name}" for kind in ("operation", "fault", "remedy") for name in sorted(set(has[kind]) - used[kind])]
    wrong += [f"no row for arm {name}" for name in sorted(set(framework.arms) - arms - made) if not name.endswith("/control")]
    called = [what.api for what in (*framework.operations.values(), *framework.remedies.values()) if what.api]
    called += [step.api for arm in framework.arms.values() for step in getattr(arm, "steps", ())]
    wrong += [f"no function {api}" for api in dict.fromkeys(called) if api not in framework.table["functions"]]
    tell("\n".join(wrong))
    return 0


# ---- trials ----


def framework_of(family: str) -> cells.Framework:
    return importlib.import_module("framework_trials." + family).FRAMEWORK


def work_of(world: cells.World, case: str) -> None:
    free_form = world.framework.arms.get(case + "/" + world.trial.arm)
    if free_form is not None:
        free_form(world)
    else:
        cells.run_cell(world, case)


def level_of(arm: str) -> Optional[int]:
    for word in cells.parsed(arm)[1]:
        if word.isdigit():
            return int(word)
    return None


def part(trial: Trial, only: str = "") -> int:
    """The trial, or a part of it: all up to the remedy ("fault"), or what comes after it ("again"). 0: nothing stopped it."""
    family, case = trial.case.split(".", 1)
    world = None
    code = 1
    try:
        framework = framework_of(family)
        identity.require(family, trial.expected)
        trial.last_error = framework.last_error
        world = cells.World(trial, framework, level_of(trial.arm))
        if only == "fault":
            cells.fail(world, case, None)
        elif only == "again":
            framework.start(world)
            cells.attempt(world, framework.operations[cells.parsed(trial.arm)[0]])
        else:
            work_of(world, case)
        identity.require(family, trial.expected, used=True)
        code = 0
    except NotProvoked as error:
        trial.not_provoked(str(error))
    except SetUpFailed as error:
        trial.failed(str(error))
    except BaseException as error:  # pylint: disable=broad-except
        # E.g. an attribute that this version lacks: this arm fails, the others continue.
        where = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in where if "framework_trials" in frame.filename]
        at = f" ({os.path.basename(ours[-1].filename)}:{ours[-1].lineno})" if ours else ""
        trial.failed(f"{type(error).__name__}{at}: {error}")
    if world is not None:
        world.release()
    if only != "fault":
        trial.context(context_of(world))
    return code


def context_of(world: Optional[cells.World]) -> str:
    try:
        return world.framework.prove(world) if world is not None else "none"
    except BaseException:  # pylint: disable=broad-except
        return "damaged"


def run_trial(case: str, arm: str, seed: int, device: int, expected: Optional[Dict[str, Any]]) -> NoReturn:
    trial = Trial(case, arm, seed, device)
    trial.expected = expected
    if arm.endswith("+new_process"):
        # The fault happens in a forked process: this one has not used CUDA when it continues.
        if cells.in_forked_child(trial, lambda: part(trial, "fault")) in (0, None):
            trial.apply("do it in a new process")
            trial.seed += 1
            part(trial, "again")
        else:
            trial.context("none")
    else:
        part(trial)
    trial.done()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # skips what a framework does at interpreter exit: no part of the trial


@functools.lru_cache(maxsize=None)
def is_imported(family: str) -> bool:
    try:
        framework_of(family)
    except BaseException:  # pylint: disable=broad-except
        return False  # each trial says so
    return True


def serve(device: int, expected: Optional[Dict[str, Any]]) -> NoReturn:
    """Answers requests, a trial each: in a process forked from this one, which has imported the framework and not touched CUDA."""

    def read(request: bytes) -> Dict[str, Any]:
        asked: Dict[str, Any] = json.loads(request)
        asked["imported"] = is_imported(asked["case"].split(".", 1)[0])
        return asked

    asked = forks.request_of_child(read)
    tie_to_parent()
    for name, value in asked.get("environment", {}).items():  # before CUDA begins
        os.environ[name] = value
        if not value:
            del os.environ[name]
    if driver.has_begun() or not asked["imported"]:
        # Importing the framework has used CUDA, so this process cannot fork; or has failed, and may fail in another way the next time.
        os.set_inheritable(REPORT_FD, True)
        words = ["trial", asked["case"], asked["arm"], "--seed", str(asked["seed"]), "--device", str(device), "--is", json.dumps(expected)]
        os.execv(sys.executable, [sys.executable, "-B", sys.argv[0], *words])
    run_trial(asked["case"], asked["arm"], int(asked["seed"]), device, expected)


def main(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="run_trials.py", description="Started by cufault run --python.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("probe", "probe-import", "check", "trial", "serve", "hold"):
        command = commands.add_parser(name)
        command.add_argument("--device", type=int, default=0)
        command.add_argument("--is", dest="expected", type=json.loads)
        if name in ("probe-import", "check"):
            command.add_argument("family", choices=sorted(FAMILIES))
        elif name == "trial":
            command.add_argument("case")
            command.add_argument("arm")
            command.add_argument("--seed", type=int, default=0)
        elif name == "serve":
            command.add_argument("--gpu", action="store_true")
        elif name == "hold":
            command.add_argument("--leave-free", type=int, required=True)
    given = parser.parse_args(words)
    if given.command == "hold":
        return driver.hold(given.device, given.leave_free)
    tie_to_parent()
    if given.command == "probe":
        return probe()
    if given.command == "probe-import":
        return probe_import(given.family)
    if given.command == "check":
        return check(given.family)
    if given.command == "serve":
        serve(given.device, given.expected)
    run_trial(given.case, given.arm, given.seed, given.device, given.expected)
