# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What cufault passes to a reader, and how a reader ends. cufault has read the command line; it starts `NAME.py JSON RECORD...`."""
from __future__ import annotations

import errno
import json
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Optional

import text

if TYPE_CHECKING:
    import sqlite3


class Refused(Exception):
    """Says in one line what is wrong with what was asked, and what to do next. `told`: JSON that says so is printed already."""

    def __init__(self, why: str, code: int = 2, told: bool = False) -> None:
        super().__init__(why)
        self.code, self.told = code, told


class Asked:
    """`options`: by their long names, those that were given or have a default. `files`: where what comes with cufault lies. `names`: words that belong to no option, records as a rule; `behind`: those behind --."""

    def __init__(self, words: list[str]) -> None:
        said, end = json.loads(words[0]), words.index("--") if "--" in words else len(words)
        self.options: dict[str, Any] = said["options"]
        self.files: dict[str, Any] = said["files"]
        self.command: str = said["command"]
        self.line: list[str] = said.get("line", [])
        self.names, self.behind = words[1:end], words[end + 1 :]
        self.json = bool(self.options.get("json")) or self.options.get("format") == "json"
        self.markdown = bool(self.options.get("markdown")) or self.options.get("format") == "markdown"
        self.out = text.Output(keep=not self.json and not self.markdown and self.options.get("format", "text") == "text")
        self.table_errors: tuple[type[Exception], ...] = ()
        self.of_build = False  # whether database() is of all recorded stacks: sources begin in the folder of records

    def file(self, name: str) -> Path:
        return Path(self.files[name])

    def database(self, records: Optional[list[str]] = None, only: str = "") -> sqlite3.Connection:
        """Of these records, or of those that were named; the table of the build is of all recorded stacks, by name or by none. `only`: "costs", "messages", "claims" or "arms", where no other tables are needed."""
        import store  # known answers without sqlite3, too

        self.table_errors = store.ERRORS
        named = self.names if records is None else records
        ours = self.file("records")
        every = ours.is_dir() and {Path(name).resolve() for name in named} in ({ours.resolve()}, {folder.resolve() for folder in ours.iterdir() if folder.is_dir()})
        self.of_build = every or not named
        return store.open_table(self.file("program"), self.file("table"), [] if self.of_build else named, only)


def one_line(said: str) -> str:
    """Of outside text what a message can show: 240 characters at most, of printable ASCII."""
    shown = re.sub(rb"[^ -~]", b"?", os.fsencode(said)).decode()
    return shown[:240] + ("..." if len(shown) > 240 else "")


def nearest_of(asked: str, names: Iterable[str]) -> str:
    """Of the names the one that differs least; empty where none is near."""
    best, least = "", min(1 + max(2, len(asked) // 4), len(asked))
    for name in names:
        row = list(range(len(name) + 1))
        for i, a in enumerate(asked.lower()):
            diagonal, row[0] = row[0], i + 1
            for j, b in enumerate(name.lower()):
                diagonal, row[j + 1] = row[j + 1], min(diagonal + (a != b), row[j + 1] + 1, row[j] + 1)
        if row[-1] < least:
            best, least = name, row[-1]
    return best


def did_you_mean(asked: str, names: Iterable[str]) -> str:
    """; did you mean NAME?; empty likewise."""
    best = nearest_of(asked, names)
    return f"; did you mean {best}?" if best else ""


def ended(word: str, code: int) -> Refused:
    """Of a cufault that answers with `code`. It said why, unless a signal ended it."""
    return Refused(f"cufault {word} was ended by {signal.Signals(-code).name}") if code < 0 else Refused("", code)


def say(said: str) -> None:
    """On standard error."""
    sys.stdout.flush()
    for line in text.kept_to_width(said, text.terminal_width(sys.stderr) or 1 << 30):
        print(line, file=sys.stderr, flush=True)


def _fail(asked: Asked, why: str, code: int = 2, told: bool = False) -> int:
    say(f"cufault: {why}")
    if asked.json and not told:
        text.print_json({"schema": 1, "exit_code": code, "reasons": [{"arms": [], "exit_code": code, "why": why}]}, None)
    return code


def _code_of(reader: Callable[[Asked], int], asked: Asked) -> int:
    try:
        return reader(asked)
    except Refused as error:
        return error.code if not str(error) else _fail(asked, str(error), error.code, error.told)
    except MemoryError:
        return _fail(asked, "too little memory: raise the limit (ulimit -v), or name fewer records")
    except OSError as error:
        if error.filename is None:
            if error.errno in (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT, errno.EBADF):  # of standard output
                raise
            return _fail(asked, f"the system refused what this command needs: {error.strerror}")
        return _fail(asked, f"{one_line(str(error.filename))}: {error.strerror}")
    except asked.table_errors as error:
        return _fail(asked, f"the table cannot be read: {error}; remove {asked.file('table')}: without it the records are read")
    except Exception as error:  # a mistake of ours: never as an answer by exit code 1
        return _fail(asked, f"this is a mistake of cufault: {type(error).__name__}: {one_line(str(error))}; please report it")


def run(reader: Callable[[Asked], int]) -> NoReturn:
    """Calls it and ends the process as cufault does: a closed pipe as a shell shows it, a full disk and a mistake in one line."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    try:
        code = _code_of(reader, Asked(sys.argv[1:]))
        sys.stdout.flush()
    except OSError as error:
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        nobody_reads = any(events & select.POLLERR for _, events in poll.poll(0))
        if not nobody_reads:
            print(f"cufault: standard output could not be written: {error.strerror}", file=sys.stderr)
        code = 128 + signal.SIGPIPE if nobody_reads else 2
        sys.stderr.flush()
        os._exit(code)  # the buffer of standard output would be written once more
    sys.exit(code)
