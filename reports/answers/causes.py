# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault causes STATUS --all: what made a call return the status, what was done against it, and which driver failures lead to it. What is made up comes last."""
from __future__ import annotations

import json
from collections import defaultdict
from itertools import groupby
from sqlite3 import Connection

import asked
import text
from matrix import CHOSEN, Cell, conditions

STACK, MADE_UP = ("stack", "stacks"), "made up: "
# Calls that returned the status in trials that can be compared.
RETURNED = """CREATE TEMP TABLE returned AS SELECT arm_id, api, calls.after, swept, applied FROM calls JOIN trials USING (arm_id, trial) WHERE comparable AND
CASE :status WHEN 'WRONG_NUMBERS' THEN numbers = 'wrong' AND status IN ('CUBLAS_STATUS_SUCCESS', 'cudaSuccess', 'CUDA_SUCCESS', 'RIGHT_NUMBERS') ELSE status = :status END"""
PROVED = "unproved IS NULL AND case_name NOT GLOB 'matrix.*'"
# Remedies and dead ends begin with a fault of these; sweeps, and what is injected in place of one, have tables of their own.
FAULTS = f"SELECT DISTINCT arm_id, made_up, api, case_name || '/' || arm AS name, summary, stack FROM arms JOIN returned USING (arm_id) WHERE kind = 'fault' AND counterpart_of IS NULL AND swept IS NULL AND {PROVED} ORDER BY arm_id"
TRIED = f"SELECT arm_id, stack_id, made_up, case_name || '/' || arm AS name, words, cleared, answers, cost, verdict, stack FROM arms WHERE cleared IS NOT NULL AND {PROVED} ORDER BY arm_id"
ANSWERED = "SELECT arm_id, stack_id, case_name || '/' || arm AS name FROM arms WHERE case_name IN (SELECT case_name FROM arms WHERE answers IS NOT NULL)"


def arms_that_cause(database: Connection) -> tuple[text.Table, int]:
    """And of how many calls these are."""
    found: dict[tuple[int, str, str], tuple[str, set[str]]] = {}
    for row in database.execute(FAULTS):
        key = row["made_up"], row["api"], row["name"]
        found[key] = row["summary"] or "", found.get(key, ("", set()))[1] | {row["stack"]}
    table = text.Table("arms", [("call", "call"), ("arm", "arm"), ("what it does", "summary"), ("", "made_up"), STACK])
    for (made_up, call, name), (summary, stacks) in sorted(found.items(), key=lambda item: item[0]):
        said = MADE_UP if made_up and not summary.startswith(MADE_UP) else ""
        table.rows.append([call, name, (said + summary, summary), ("", bool(made_up)), text.lines_of(stacks)])
    return table, len({call for _, call, _ in found})


def cells_that_cause(database: Connection, asked_for: asked.Asked, status: str) -> text.Table:
    """By fault, with what that depends on."""
    wanted, rows = status.removeprefix("CUBLAS_STATUS_"), []
    every = (Cell(row, "") for row in database.execute(CHOSEN, dict.fromkeys(("fault", "operation", "remedy", "stack"), "")))
    with conditions(asked_for, "operation") as where:
        for (stack, fault), of_fault in groupby((c for c in every if not c.remedy), lambda c: (c.row["stack"], c.fault)):
            cells = list(of_fault)
            those = {c.name for c in cells if any(wanted in outcome.split(", then ") for outcome in c.outcomes)}
            if those:
                made_up, observed, name = bool(cells[0].row["made_up"]), sum(bool(c.outcomes) for c in cells), f"matrix.{fault}"
                lines = where.of_outcome(cells, wanted, those)
                rows.append([(MADE_UP * made_up + name, name), ("", made_up), (f"{len(those)} of {observed}", len(those)), ("", observed), ("\n".join(lines), lines), (stack, [stack])])
    columns = [("fault", "fault"), ("", "made_up"), ("cells", "cells"), ("", "of_cells"), ("where", "where"), STACK]
    return text.Table("cells", columns, sorted(rows, key=lambda row: bool(row[1][1])))


def remedies_tried(database: Connection) -> text.Table:
    """Against the status, or where an arm that returned it was avoided: against natural faults first, then what cleared it on most stacks."""
    before, anywhere = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
    for row in database.execute("SELECT * FROM returned"):
        anywhere[row["arm_id"]].add(row["api"])
        if row["applied"] and not row["after"]:
            before[row["arm_id"]].add(row["api"])
    faults = {(row["stack_id"], row["name"]): row["arm_id"] for row in database.execute(ANSWERED)}
    found: dict[str, dict[str, set[str]]] = {}
    said: dict[str, tuple[bool, str]] = {}
    for row in database.execute(TRIED):
        calls = before[row["arm_id"]] | anywhere[faults.get((row["stack_id"], row["answers"]), -1)]
        if calls:
            name, entry = row["name"], found.setdefault(row["name"], defaultdict(set))
            said[name] = bool(row["made_up"]), row["words"] or ""
            entry["calls"] |= calls
            entry["cleared" if row["cleared"] else "not cleared"].add(row["stack"])
            if row["cost"] and row["cleared"] and row["verdict"] != "UNRESOLVED":
                entry["costs"].add(row["cost"])
    table = text.Table("remedies", [("what was done", "remedy"), ("", "made_up"), ("arm", "arm"), ("after a failed", "calls"), ("came to", "cleared"), ("", "costs"), STACK])
    for name, entry in sorted(found.items(), key=lambda item: (said[item[0]][0], -len(item[1]["cleared"]), item[0])):
        made_up, words = said[name]
        for came_to in ("cleared", "not cleared"):
            if entry[came_to]:
                called, costs, cleared = sorted(entry["calls"]), sorted(entry["costs"]), came_to == "cleared"
                shown = "; ".join(["cleared", "; or ".join(costs)] if cleared and costs else [came_to])
                table.rows.append([(MADE_UP * made_up + words, words), ("", made_up), name, (", ".join(called), called), (shown, cleared), ("", costs), text.lines_of(entry[came_to])])
    return table


def driver_failures(database: Connection, status: str) -> text.Table:
    table = text.Table("driver_calls", [("operation", "operation"), ("driver calls", "driver_calls"), ("what the operation returns", "leads_to"), STACK])
    table.rows += [[r["operation"], r["driver_calls"], r["leads_to"], (r["stack"], [r["stack"]])] for r in database.execute("SELECT * FROM driver_failures") if status in json.loads(r["statuses"])]
    return table


def print_by_stack(asked_for: asked.Asked, table: text.Table) -> None:
    """Where the stack is the same in every row, it is said once."""
    stacks = {row[-1][0] for row in table.rows}
    if len(stacks) == 1 and "\n" not in (stack := stacks.pop()):
        table.columns[-1] = ("", "stacks")
        asked_for.out.print(f"On {text.cell(stack, asked_for.markdown)}:\n")
    asked_for.out.table(table.head(), table.shown_rows(), asked_for.markdown, text.width_of_output())


def main(asked_for: asked.Asked) -> int:
    """`said`: what explain says of the status, as JSON, and the line that comes last."""
    (status, *records), said = asked_for.names, json.loads(asked_for.options["said"])
    database = asked_for.database(records, "arms")
    database.execute(RETURNED, {"status": status})
    cells, (arms, calls), remedies, driver = cells_that_cause(database, asked_for, status), arms_that_cause(database), remedies_tried(database), driver_failures(database, status)
    if asked_for.json:
        text.print_json({"schema": 2, "status": status, "ways": said["ways"], **{table.name: table.json_rows() for table in (cells, arms, remedies, driver)}})
        return 0
    out = asked_for.out
    if cells.rows:
        out.print("Cells of the matrix, by fault, and what it depends on:\n")
        print_by_stack(asked_for, cells)
    if arms.rows:
        print_by_stack(asked_for, arms)
        out.print(f"{text.plural(len(arms.rows), 'way')} by {text.plural(calls, 'call')}")
    else:
        out.print(f"no call of a fault arm with a working control returned {status} in {text.plural(database.execute('SELECT count(*) FROM stacks').fetchone()[0], 'record')}")
    for i, (title, table) in enumerate((t for t in (("What was done against it. Cleared: it failed before, and then the same work gave right numbers.\n", remedies),
                                                    ("Made up, by failing a driver call inside of an operation:\n", driver)) if t[1].rows)):
        out.print(title if i else "\n" + title)
        print_by_stack(asked_for, table)
    if said["last"]:
        out.print(said["last"])
    return 0
