# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""A cell: a fault, an operation of a framework, and a remedy or none. An arm's name says which: OPERATION[.WORD...][+REMEDY]."""
from __future__ import annotations

import importlib
import multiprocessing
import os
import select
import signal
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from framework_trials.driver import MIB, Driver, OtherProcess
from framework_trials.protocol import NotProvoked, SetUpFailed, Trial, error_of_shared_runtime


HANGS_AFTER = 20.0  # seconds that a product in a forked process may take; it takes less than one


class World:
    """What operations, faults and remedies of a cell see and act on."""

    def __init__(self, trial: Trial, framework: "Framework", level: Optional[int]) -> None:
        self.trial, self.framework, self._level = trial, framework, level
        self.held: List[Any] = []  # arrays that a fault keeps alive
        self.other: Optional[OtherProcess] = None
        self.failed: Optional[Operation] = None  # whose operands live on
        self.at_end_of_fault: List[Callable[[], None]] = []  # of a fault that is over with the operation
        self.diagnosed = False  # by a remedy that is a diagnosis
        self.fault_failed = False
        self._driver: Optional[Driver] = None

    @property
    def driver(self) -> Driver:
        if self._driver is None:
            self._driver = Driver(self.trial.device)
        return self._driver

    @property
    def has_level(self) -> bool:
        return self._level is not None

    @property
    def level(self) -> int:
        """Bytes that the fault leaves free."""
        if self._level is None:
            raise SetUpFailed("the name of the arm has no level")
        return self._level * MIB

    def sample(self, at: str) -> None:
        """Memory of the device, and what the framework has of it."""
        try:
            self.trial.memory(at, *self.driver.memory())
            for name, value in self.framework.memory(self).items():
                self.trial.measure(f"{name} {at}", value, "bytes")
        except Exception as error:  # pylint: disable=broad-except
            self.trial.note(f"memory {at}", f"cannot be read: {error}")

    def leave_free(self, hold: Callable[[int], Any], parts: int = 8) -> None:
        """Holds arrays made by `hold` (bytes), several alike, until as much is free as the level says."""
        free = self.driver.memory()[0]
        to_hold = free - self.level
        if to_hold < parts * 64 * MIB:
            raise NotProvoked(f"only {free // MIB} MiB are free")
        part = to_hold // parts // (2 * MIB) * (2 * MIB)
        try:
            for _ in range(parts - 1):
                self.held.append(hold(part))
            self._hold_the_rest(hold)
        except Exception as error:  # pylint: disable=broad-except
            if "+" not in self.trial.arm:
                raise
            # With a remedy in place a program may be unable to hold so much.
            self.trial.note("filling the memory", str(error))
            return
        self.require_level()

    def _hold_the_rest(self, hold: Callable[[int], Any]) -> None:
        """The driver may keep a little for itself, and give less than it calls free."""
        for spare in range(0, 64 * MIB, 4 * MIB):
            rest = (self.driver.memory()[0] - self.level - spare) // (2 * MIB) * (2 * MIB)
            if rest <= 0:
                return
            try:
                self.held.append(hold(rest))
                return
            except Exception as error:  # pylint: disable=broad-except
                why = error
        raise why

    def require_level(self) -> None:
        left = self.driver.memory()[0]
        self.trial.measure("device memory left by the fault", left, "bytes")
        if left > self.level + 64 * MIB:
            raise NotProvoked(f"{left // MIB} MiB stayed free, and not {self.level // MIB}")

    def make(self, api: str, variant: str, call: Callable[[], Any]) -> None:
        """A call of the fault itself, whose failure is the program's to see. Under a diagnosis it is a step, and where it fails the operation
        is not made."""
        if self.diagnosed:
            self.fault_failed = not self.trial.observe(api, variant, lambda: call() and None)
        else:
            call()

    def end_fault(self) -> None:
        while self.at_end_of_fault:
            self.at_end_of_fault.pop()()

    def release(self) -> None:
        self.held.clear()
        self.failed = None
        if self.other is not None:
            self.other.release()
            self.other = None


class Operation:
    """What a program does that can fail. The constructor puts the operands on the device and computes nothing."""

    api = ""
    variant = ""
    warm = False  # it has succeeded once before the fault

    def __init__(self, world: World) -> None:
        self.world = world

    @classmethod
    def like(cls, variant: str, **facts: Any) -> "type[Operation]":
        """The same with other numbers, extents or types: attributes of the class."""
        return type(cls.__name__, (cls,), {"variant": variant, **facts})

    def refresh(self) -> None:
        """Other random numbers in the same operands."""

    def __call__(self) -> Optional[bool]:
        """Does it, waits, and returns whether the numbers are right."""
        raise NotImplementedError


@dataclass
class Remedy:
    """What somebody recommends. In place from the start: `before`. Afterwards: `after`; `operation` replaces the one that failed."""

    before: Optional[Callable[[World], None]] = None
    after: Optional[Callable[[World], None]] = None
    operation: str = ""
    # From the table of the framework:
    words: str = ""
    api: str = ""  # the framework's function that it calls, which may raise
    in_place: bool = False  # from the start: a variable of the arm, or `before`
    diagnosis: bool = False  # shows which call fails, and clears nothing


@dataclass
class Framework:
    """What a framework has for the arms of its table, NAME.json. A remedy that is a variable alone needs no entry."""

    table: Dict[str, Any]
    operations: Dict[str, Callable[[World], Operation]] = field(default_factory=dict)
    faults: Dict[str, Callable[[World], None]] = field(default_factory=dict)
    remedies: Dict[str, Remedy] = field(default_factory=dict)
    arms: Dict[str, Callable[[World], None]] = field(default_factory=dict)  # free-form: "CASE/ARM" without the family
    start: Callable[[World], None] = lambda world: None  # makes the context on the trial's device
    prove: Callable[[World], str] = lambda world: "none"  # "usable", "damaged", or "none" without a context
    memory: Callable[[World], Dict[str, float]] = lambda world: {}
    next_product: str = ""  # the operation that shows whether the process can go on
    why_no_gpu: Callable[[], str] = lambda: ""
    last_error: Callable[[], str] = error_of_shared_runtime  # of the CUDA runtime that the framework uses; peeked at, not reset
    product_in_new_process: Optional[Callable[[int, int], bool]] = None  # device, seed: of a module, so that "spawn" can name it
    before_start: frozenset = frozenset()  # faults that are brought about before there is a context

    def __post_init__(self) -> None:
        for name, said in self.table["remedies"].items():
            if name in self.remedies or "environment" in said:
                remedy = self.remedies.setdefault(name, Remedy())
                remedy.words, remedy.api = said.get("words", ""), said.get("api", "")
                remedy.in_place, remedy.diagnosis = said.get("in_place", False), said.get("diagnosis", False)


def parsed(arm: str) -> "tuple[str, List[str], List[str]]":
    cell, *remedies = arm.split("+")
    operation, *words = cell.split(".")
    return operation, words, remedies


def run_cell(world: World, fault: str) -> None:
    """The operation under the fault; then, with a remedy, once more."""
    framework = world.framework
    name, _, remedies = parsed(world.trial.arm)
    remedy = framework.remedies[remedies[0]] if remedies else None
    if name == "control":
        framework.start(world)
        attempt(world, framework.operations[framework.next_product])
        return
    operation = fail(world, fault, remedy)
    if remedy is None:
        attempt(world, framework.operations[framework.next_product], "next")
    elif not remedy.in_place:
        world.trial.apply(remedy.words)
        if remedy.after:
            put_in_place(world, remedy, remedy.after)
        world.sample("after the remedy")
        attempt(world, framework.operations[remedy.operation] if remedy.operation else operation)


def put_in_place(world: World, remedy: Remedy, after: Callable[[World], None]) -> None:
    """A remedy that raises does so as a step; one that works is none."""
    try:
        after(world)
    except (NotProvoked, SetUpFailed):
        raise
    except Exception as error:  # pylint: disable=broad-except
        if not remedy.api:
            raise
        world.trial.observe(remedy.api, "remedy", partial(throw, error))


def throw(error: Exception) -> None:
    raise error


def fail(world: World, fault: str, remedy: Optional[Remedy]) -> "Operation | type":
    """Brings the fault about and does the operation, whose operands live on, as in a program that catches the exception."""
    framework = world.framework
    kind = framework.operations[parsed(world.trial.arm)[0]]
    if fault in framework.before_start:
        framework.faults[fault](world)
        attempt(world, kind)
        world.end_fault()
        return kind
    framework.start(world)
    if remedy and remedy.before:
        remedy.before(world)
    world.sample("before the fault")
    operation = world.failed = kind(world)
    if operation.warm and operation() is not True:
        raise SetUpFailed("the operation gave wrong numbers before the fault")
    world.diagnosed = remedy is not None and remedy.diagnosis
    framework.faults[fault](world)
    if not world.fault_failed:  # else the diagnosis has its answer
        world.sample("with the fault")
        world.trial.observe(operation.api, operation.variant, operation)
    world.end_fault()
    return operation


def attempt(world: World, operation: "Operation | type", variant: str = "") -> bool:
    """A step on fresh data, which putting on the device may fail, too."""

    def work() -> Optional[bool]:
        made = operation
        if isinstance(made, type):
            made = made(world)
        else:
            made.refresh()
        return made()

    return world.trial.observe(operation.api, variant or operation.variant, work)


def alone(name: str, then_next: bool = True, sample: bool = True) -> Callable[[World], None]:
    """An operation without a fault, or that is itself the fault."""

    def arm(world: World) -> None:
        framework = world.framework
        framework.start(world)
        attempt(world, framework.operations[name])
        if then_next:
            attempt(world, framework.operations[framework.next_product], "next")
        if sample:
            world.sample("after the operation")

    setattr(arm, "operation", name)
    return arm


# Whether the numbers are right, None: not checked; or this and facts of the step (reports/model/facts.cpp).
Seen = Union[Optional[bool], Tuple[Optional[bool], Dict[str, Any]]]


class Step(NamedTuple):
    api: str
    variant: str
    work: Callable[[World], Seen]
    control: Optional[Callable[[World], Seen]] = None  # the same where it cannot fail: it proves the reference
    control_variant: str = ""  # steps of an API whose controls have one name share the first one


def stepwise(steps: Sequence[Step], after_each: Callable[[], None] = lambda: None) -> Callable[[World], None]:
    """The controls, each a step of its own; then the steps, then the next product. Where a control gives wrong numbers, those of its steps are
    unchecked."""

    def arm(world: World) -> None:
        right_by: Dict[Tuple[str, str], Optional[bool]] = {}  # of controls

        def observe(step: Step, variant: str, of: Callable[[World], Seen], control: Tuple[str, str]) -> None:
            def work() -> Seen:
                seen = of(world)
                right, facts = seen if isinstance(seen, tuple) else (seen, {})
                if of is step.control:
                    right_by[control] = right
                elif step.control and right_by.get(control) is False:
                    right = None
                return right, facts

            world.trial.observe(step.api, variant, work, kind_of_text=True)
            after_each()

        named = [(step, (step.api, step.control_variant or step.variant + "_control")) for step in steps]
        for step, control in named:
            if step.control and control not in right_by:
                right_by[control] = None
                observe(step, control[1], step.control, control)
        for step, control in named:
            observe(step, step.variant, step.work, control)
        attempt(world, world.framework.operations[world.framework.next_product], "next")

    setattr(arm, "steps", steps)  # run_trials.py check looks at their functions
    return arm


def by_arguments(api: str, work: Callable[[Any], Seen], arguments: Sequence[Any], on: Callable[[World], Any] = nullcontext) -> Callable[[World], None]:
    """A step for each argument of `work` but the first one, where it cannot fail: the control. `on`: a context that chooses the device."""

    def at(argument: Any, world: World) -> Seen:
        world.framework.start(world)
        with on(world):
            return work(argument)

    control = partial(at, arguments[0])
    return stepwise([Step(api, str(argument), partial(at, argument), control, f"{arguments[0]}_control") for argument in arguments[1:]])


def part_of(name: str) -> Any:
    """A module that a release of a framework may lack."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotProvoked(f"{name} cannot be imported: {error}") from None


def in_thread(work: Callable[[], Optional[bool]]) -> Optional[bool]:
    """What `work` returns or raises in a thread of its own."""
    found: Dict[str, Any] = {}

    def run() -> None:
        try:
            found["right"] = work()
        except BaseException as error:  # pylint: disable=broad-except
            found["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in found:
        raise found["error"]
    return found["right"]


def forked(world: World) -> None:
    """A product in a process that is forked after CUDA has begun."""
    world.framework.start(world)
    product_in_forked_child(world)


def forked_first(world: World) -> None:
    """CUDA begins in the child alone."""
    setattr(world, "only_in_children", True)
    product_in_forked_child(world)


def product_in_forked_child(world: World) -> None:
    def work() -> int:
        attempt(world, world.framework.operations[world.framework.next_product], "forked")
        return 0

    in_forked_child(world.trial, work, HANGS_AFTER)


def forked_then_spawned(world: World) -> None:
    forked(world)
    world.trial.apply("start the process by spawn")
    api = world.framework.operations[world.framework.next_product].api
    world.trial.observe(api, "spawned", lambda: spawned(world))


def spawned(world: World, method: str = "spawn") -> Optional[bool]:
    """A product in a process that Python starts by `method`."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    product = world.framework.product_in_new_process
    process = context.Process(target=answer_parent, args=(theirs, product, world.trial.device, world.trial.seed))
    process.start()
    theirs.close()
    try:
        said = ours.recv()
    except EOFError:
        said = "the spawned process said nothing"
    process.join()
    if isinstance(said, str):
        raise RuntimeError(said)
    return said


def answer_parent(channel: Any, product: Callable[[int, int], bool], device: int, seed: int) -> None:
    try:
        channel.send(product(device, seed))
    except BaseException as error:  # pylint: disable=broad-except
        channel.send(f"{type(error).__name__}: {error}")


FORKED_CHILD = {
    "forked_child/matmul": forked,
    "forked_child/matmul+spawn": forked_then_spawned,
    "forked_child/matmul+fork_first": forked_first,
}


def in_forked_child(trial: Trial, work: Callable[[], int], seconds: Optional[float] = None) -> Optional[int]:
    """Runs `work` in a process forked from this one, and returns what it returned. None: the process crashed or, where `seconds` are
    given, hung inside of a step, which is told as the step's status. Its crash outside of a step is the trial's."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            code = work()
        finally:
            os._exit(code)
    hung = seconds is not None and not ends_within(child, seconds)
    if hung:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    if trial.step_of_child_is_open():
        facts = {} if hung else {"signal": signal.Signals(os.WTERMSIG(status)).name}
        trial.end("TIMED_OUT" if hung else "CRASHED", facts)
        return None
    if hung:
        raise RuntimeError(f"the forked process did not end within {seconds:g} s, and was in no step")
    die_of(os.WTERMSIG(status))
    return None


def ends_within(child: int, seconds: float) -> bool:
    """Leaves the process to be waited for."""
    handle = os.pidfd_open(child) if hasattr(os, "pidfd_open") else -1
    if handle >= 0:
        try:
            return bool(select.select([handle], [], [], seconds)[0])
        finally:
            os.close(handle)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.05)
    return False


def die_of(number: int) -> None:
    """Ends this process as another one ended, whatever handlers a framework has installed."""
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
