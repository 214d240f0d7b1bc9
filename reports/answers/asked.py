# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What cufault passes to a reader, and how a reader ends. cufault has read the command line; it starts `NAME.py JSON RECORD...`."""
from __future__ import annotations

import json
import os
import select
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import store
import text


class Refused(Exception):
    """Says in one line what is wrong with what was asked, and what to do next."""

    def __init__(self, why: str, code: int = 2) -> None:
        super().__init__(why)
        self.code = code


class Asked:
    """`options`: by their long names, only those that were given. `files`: where what comes with cufault lies."""

    def __init__(self, words: list[str]) -> None:
        said = json.loads(words[0])
        self.options: dict[str, Any] = said["options"]
        self.files: dict[str, str] = said["files"]
        self.records = words[1:]
        self.json = bool(self.options.get("json")) or self.options.get("format") == "json"
        self.markdown = bool(self.options.get("markdown")) or self.options.get("format") == "markdown"
        self.out = text.Output(keep=not self.json and not self.markdown and "format" not in self.options)

    def file(self, name: str) -> Path:
        return Path(self.files[name])

    def database(self) -> sqlite3.Connection:
        opened = store.open_table(self.file("program"), self.file("table"), self.records)
        opened.row_factory = sqlite3.Row
        return opened


def _fail(asked: Asked, why: str, code: int) -> int:
    sys.stdout.flush()
    for line in text.kept_to_width(f"cufault: {why}", text.terminal_width(sys.stderr) or 1 << 30):
        print(line, file=sys.stderr)
    if asked.json:
        text.print_json({"schema": 1, "exit_code": code, "reasons": [{"arms": [], "exit_code": code, "why": why}]}, None)
    return code


def run(reader: Callable[[Asked], int]) -> NoReturn:
    """Calls it and ends the process as cufault does: a closed pipe as a shell shows it, a full disk and a mistake in one line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asked = Asked(sys.argv[1:])
    try:
        code = reader(asked)
        sys.stdout.flush()
    except Refused as error:
        code = _fail(asked, str(error), error.code)
    except store.Unusable as error:
        code = _fail(asked, str(error), 2)
    except sqlite3.DatabaseError as error:
        code = _fail(asked, f"the table cannot be read: {error}; remove {asked.file('table')}, and build it again", 2)
    except MemoryError:
        code = _fail(asked, "too little memory: raise the limit (ulimit -v), or name fewer records", 2)
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
