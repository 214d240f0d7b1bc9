# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault table: the rows of all arms as SQLite, CSV or JSON Lines, for queries that no command answers."""
from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import asked
import store
import text
from sqlite3 import Connection

SHOWN = ("arms", "calls", "trials", "cells")


def columns(database: Connection, of: str) -> list[tuple[str, str]]:
    """Name and meaning of each column of a view, in order."""
    tables = {"arms": ("stacks", "judged_arms"), "cells": ("stacks", "observed_cells"), "calls": ("made_calls", "steps")}.get(of, (of,))
    named = database.execute(f"SELECT name, what FROM columns WHERE of_table IN ({', '.join('?' * len(tables))})", tables)
    says = {row[0]: row[1] for row in named}
    return [(name, says[name]) for name in (row[1] for row in database.execute(f"PRAGMA table_info({of})"))]


def main(asked_for: asked.Asked) -> int:
    options = asked_for.options
    form, file = options.get("format", "sqlite"), options.get("output")
    if "columns" in options:
        database = asked_for.database()
        for view in SHOWN:
            for line in text.table_lines([f"column of {view}", "what it is"], columns(database, view), text.terminal_width() == 0):
                print(line)
        return 0
    if (form == "sqlite") != (file is not None):
        raise asked.Refused("-o FILE is of --format sqlite, which needs it; csv and jsonl go to standard output")
    if file is not None:
        store.write(Path(file), asked_for.file("program"), asked_for.names)
        return 0
    rows = asked_for.database(only="arms").execute("SELECT * FROM arms ORDER BY arm_id")
    names = [column[0] for column in rows.description]
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    else:
        for row in rows:
            print(json.dumps(dict(zip(names, row)), ensure_ascii=False, separators=(",", ":")))
    return 0
