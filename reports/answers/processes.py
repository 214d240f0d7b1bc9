# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""A program, run to its end with all that it started."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asked import Refused, one_line

PR_SET_CHILD_SUBREAPER, LOOK_AGAIN = 36, 0.02  # seconds: a program may close its streams before it ends
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """By a signal to this process, or since who started it has ended."""


class Ended(NamedTuple):
    """`how`: "exit 3", "SIGSEGV", "its timeout". `code`: -1 of one that did not exit."""

    how: str
    code: int
    out: bytes
    err: bytes

    def words(self) -> str:
        """How it ended, and its last line on standard error."""
        return f"{self.how}; {self.last_words()}"

    def last_words(self) -> str:
        lines = [line for line in self.err.decode(errors="surrogateescape").split("\n") if line]
        return f"it said: {one_line(lines[-1])}" if lines else "it printed nothing on standard error"


def how(code: int) -> str:
    """A process ended, by its return code as of subprocess."""
    return f"exit {code}" if code >= 0 else signal.Signals(-code).name if -code < 32 else f"signal {-code}"


class _Kept:
    """The first and the last half of what a stream says."""

    def __init__(self, limit: int):
        self.half, self.first, self.last = limit // 2, bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        room = self.half - len(self.first)
        self.first += data[:room]
        self.last += data[room:]
        if len(self.last) > 2 * self.half:
            del self.last[: -self.half]

    def all(self) -> bytes:
        return bytes(self.first + self.last[-self.half :])


def children() -> set[int]:
    """Of this process, living or waiting to be reaped."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                found.add(int(stat.parent.name))
        except (OSError, IndexError):
            pass  # it is gone
    return found


def adopt_orphans() -> None:
    """What a child leaves behind becomes a child of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait(stop: int, seconds: float) -> None:
    """Throws Interrupted where `stop` can be read meanwhile."""
    if select.select([stop], [], [], seconds)[0]:
        raise Interrupted


def end_tree(leader: subprocess.Popen[bytes]) -> None:
    """What a process leaves behind is ours, as we are its subreaper, and what that leaves behind once it is gone."""
    try:
        os.killpg(leader.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it is gone, or of another user
        pass
    leader.wait()
    while left := children():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def run(argv: Sequence[str | Path], timeout: float, stop: int, changes: Mapping[str, str] = {}, keep: int = 4 << 20) -> Ended:
    """In a process group of its own, with nothing on standard input. None of what this process started is left. `changes` of the environment: an empty value unsets. Throws Interrupted where `stop` can be read."""
    adopt_orphans()
    environment = {name: value for name, value in {**os.environ, **changes}.items() if value or name not in changes}
    by, deadline, stops = "", time.monotonic() + timeout, [stop] if stop >= 0 else []
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
    except OSError as error:
        raise Refused(f"cannot start {argv[0]}: {error.strerror}") from None
    with process:
        assert process.stdout and process.stderr
        streams = {process.stdout.fileno(): _Kept(keep), process.stderr.fileno(): _Kept(keep)}
        try:
            open_streams = set(streams)
            for fd in streams:
                os.set_blocking(fd, False)

            def take(ready: Sequence[int]) -> None:
                for fd in open_streams & {*ready}:
                    try:
                        while data := os.read(fd, 65536):
                            streams[fd].add(data)
                        open_streams.discard(fd)
                    except BlockingIOError:
                        pass

            while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                ready, _, _ = select.select([*open_streams, *stops], [], [], LOOK_AGAIN)
                take(ready)
                if stop in ready:
                    raise Interrupted
                if time.monotonic() >= deadline:
                    by = "its timeout"
                    break
        finally:
            end_tree(process)
        take(list(streams))  # nobody of them writes any more
        code = process.returncode
        out, err = (kept.all() for kept in streams.values())
    by = by or how(code)
    return Ended(by, code if by.startswith("exit") else -1, out, err)


def in_child(work: Callable[[int], int]) -> int:
    """Its exit code. The child ends what it started however this process ends, by SIGKILL, too: `work` gets what can be read then, and at a signal to this process."""
    stop, tell = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(tell)
        for name in STOPS:
            signal.signal(name, lambda *_: None)  # what it starts does not ignore them
        return work(stop)
    os.close(stop)

    def pass_on(*_: Any) -> None:
        nonlocal tell
        if tell >= 0:
            os.close(tell)
        tell = -1

    for name in STOPS:
        if signal.getsignal(name) != signal.SIG_IGN:
            signal.signal(name, pass_on)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        raise Refused(f"a process of cufault's own was ended by {signal.Signals(os.WTERMSIG(status)).name}")
    sys.stdout.flush()
    os._exit(os.WEXITSTATUS(status))
