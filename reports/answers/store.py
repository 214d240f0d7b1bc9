# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The table: rows of judged arms in SQLite. Every other file here queries it."""
from __future__ import annotations

import sys

try:
    import sqlite3
except ImportError:
    sys.stderr.write(f"cufault: this command needs Python's module sqlite3, and {sys.executable} has none; set CUFAULT_PYTHON to one that has it\n")
    sys.exit(2)

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from asked import Refused, say

ERRORS = (sqlite3.DatabaseError,)
"""Of a table that is damaged."""
SCHEMA = 1
# The rows are normalised; people read the views.
VIEWS = """
CREATE UNIQUE INDEX arm_ids ON judged_arms (arm_id);
CREATE INDEX names_of_arms ON judged_arms (case_name, arm);
CREATE INDEX calls_of_arms ON made_calls (arm_id);
CREATE INDEX trials_of_arms ON trials (arm_id);
CREATE UNIQUE INDEX step_ids ON steps (step_id);
CREATE VIEW arms AS SELECT * FROM stacks JOIN judged_arms USING (stack_id);
CREATE VIEW cells AS SELECT * FROM stacks JOIN observed_cells USING (stack_id);
CREATE VIEW calls AS SELECT * FROM made_calls JOIN steps USING (step_id);
"""


def _rows_of(program: Path, arguments: Iterable[str]) -> Iterable[Any]:
    with subprocess.Popen([program, "rows", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as rows:
        assert rows.stdout is not None and rows.stderr is not None
        yield from map(json.loads, rows.stdout)
        said = rows.stderr.read().splitlines()
    if rows.returncode != 0:
        raise Refused(said.pop().partition(": ")[2] if said else f"{program} ended with {rows.returncode}")
    for line in said:
        say(line)


def _value(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, (dict, list)) else value


def fill(database: sqlite3.Connection, rows: Iterable[Any]) -> None:
    """Makes the tables that `rows` hold: an object begins a table, and lists are its rows."""
    database.execute("CREATE TABLE columns (of_table, name, what)")
    insert = ""
    waiting: list[list[Any]] = []
    for row in rows:
        if isinstance(row, dict):
            if waiting:
                database.executemany(insert, waiting)
            waiting = []
            names = [name for name, _ in row["columns"]]
            database.execute(f"CREATE TABLE {row['table']} ({', '.join(names)})")
            database.executemany("INSERT INTO columns VALUES (?, ?, ?)", [(row["table"], name, what) for name, what in row["columns"]])
            insert = f"INSERT INTO {row['table']} VALUES ({', '.join('?' * len(names))})"
        else:
            waiting.append(list(map(_value, row)))
    if waiting:
        database.executemany(insert, waiting)
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'judged_arms'").fetchone():
        database.executescript(VIEWS)


def _interrupted(number: int, _: Any) -> None:
    raise Refused("interrupted", 128 + number)


def write(file: Path, program: Path, arguments: Iterable[str] = ()) -> None:
    """Makes the file, or replaces it in one step: whoever reads it meanwhile has the old one. Throws Refused."""
    file = file.resolve()  # a link stays one
    if file.exists() and not file.is_file():
        raise Refused(f"{file}: it cannot be written: it is no regular file")
    made = file.with_name(f"{file.name}.{os.getpid()}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    try:
        made.unlink(missing_ok=True)
        digest = digest_of(program)
        with closing(sqlite3.connect(made)) as database:
            database.execute("PRAGMA journal_mode = OFF")  # the file has another name until it is whole
            database.execute("PRAGMA synchronous = OFF")
            fill(database, _rows_of(program, arguments))
            database.execute("CREATE TABLE about (schema, digest)")
            database.execute("INSERT INTO about VALUES (?, ?)", (SCHEMA, digest))
            database.commit()
        if file.exists():
            shutil.copymode(file, made)
        made.replace(file)
    except (OSError, sqlite3.Error) as error:
        raise Refused(f"{file}: it cannot be written: {error}") from error
    finally:
        made.unlink(missing_ok=True)


def digest_of(program: Path) -> str:
    """Of the program and the records that it has: a table with another digest is out of date."""
    said = subprocess.run([program, "rows", "--digest"], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return said.stdout.strip()


def _open_made(file: Path, program: Path) -> sqlite3.Connection | None:
    """The table that the build made; None where it is missing, damaged, cut off or out of date."""
    if not file.is_file():
        return None
    try:
        database = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        pages, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        whole = pages * size == file.stat().st_size
        if whole and database.execute("SELECT schema, digest FROM about").fetchone() == (SCHEMA, digest_of(program)):
            return database
        database.close()
    except sqlite3.Error:
        pass
    return None


def open_table(program: Path, made: Path, records: Iterable[str], only: str = "") -> sqlite3.Connection:
    """Of these records; where none is named, of those that come with cufault. `only`: the tables that are needed. Throws Refused."""
    records = list(records)
    database = None if records else _open_made(made, program)
    if database is None:
        if not records:
            say("cufault: the table is missing or older than the records; it is made in memory, which takes seconds")
        database = sqlite3.connect(":memory:")
        fill(database, _rows_of(program, [*(["--only", only] if only else []), *records]))
    database.row_factory = sqlite3.Row
    return database


if __name__ == "__main__":  # of the build: store.py PROGRAM FILE
    try:
        write(Path(sys.argv[2]), Path(sys.argv[1]))
    except Refused as error:
        sys.exit(f"cufault: {error}")
