# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault matrix: what every operation came to under every fault, what that depends on, and what remedies did."""
from __future__ import annotations

import csv
import functools
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import asked
import store  # first: it says where sqlite3 is not there
import text
from sqlite3 import Row

DIMENSIONS = ("fault", "operation", "state", "timing", "level", "remedy")
SAID = ("level", "remedy")  # their names stand before their values
UNTRIED = ("nothing to clear", "could not be prepared", "unknown")
CSV = ("stack fault operation api variant state timing level remedy made_up outcome after_remedy without_remedy result context not_observed run source repeat").split()
CHOSEN = """SELECT * FROM cells WHERE (:fault = '' OR fault GLOB :fault) AND (:operation = '' OR operation GLOB :operation OR api GLOB :operation)
AND (:remedy = '' OR remedy GLOB :remedy) AND instr(stack, :stack) ORDER BY stack, fault, operation, remedy, level, timing, state"""
parsed = functools.lru_cache(None)(json.loads)  # few values differ; nobody changes them
Label = tuple[str, ...]  # a value for each dimension, empty where it has none


class Cell:
    def __init__(self, row: Row, folder: str) -> None:
        self.row, self.source = row, row["source"] and folder + row["source"]
        self.outcomes, self.after, self.without = (parsed(row[n]) for n in ("outcomes", "after_remedy", "without_remedy"))
        self.fault, self.operation, self.remedy = row["fault"], row["operation"], row["remedy"] or ""
        self.level = "" if row["level"] is None else str(row["level"])
        self.arm = ".".join(filter(None, (self.operation, row["state"], row["timing"], self.level))) + (f"+{self.remedy}" if self.remedy else "")

    @property
    def name(self) -> str:
        return f"{self.fault}/{self.arm}"

    @property
    def repeat(self) -> str:
        return f"cufault run 'matrix.{self.name}'{self.row['options'] or ''}"


class Stack:
    def __init__(self, name: str, cells: list[Cell]) -> None:
        self.name, self.cells, row = name, cells, cells[0].row
        self.keys = json.loads(row["keys"]) | ({"gpu": row["gpu"]} if row["gpu"] else {})

    def sections(self, along: str) -> Iterable[tuple[tuple[str, str], list[Cell]]]:
        """Cells of a fault (along faults: of an operation) and a remedy, without a remedy first."""
        def key(c: Cell) -> tuple[str, str]:
            return c.operation if along == "fault" else c.fault, c.remedy
        return ((of, list(cells)) for of, cells in groupby(sorted(self.cells, key=key), key))


class Conditions:
    """What outcomes depend on: the rules are found by cufault itself."""

    def __init__(self, started: subprocess.Popen[str], along: str) -> None:
        self.started, self.along = started, along

    def _answer(self, cells: list[tuple[Cell, str]], **more: str) -> list[Any]:
        """Of observed cells, and a word for each."""
        rows = [[c.fault, c.arm, c.row["api"] or "", c.row["variant"] or "", word, parsed(c.row["driver_said"]), c.row["heard"], parsed(c.row["facts"])] for c, word in cells]
        if not rows:
            return []
        assert self.started.stdin and self.started.stdout
        self.started.stdin.write(json.dumps({"along": self.along, "cells": rows, **more}) + "\n")
        self.started.stdin.flush()
        answer = self.started.stdout.readline()
        if not answer:
            raise asked.ended("rows", self.started.wait() or 2)
        return list(json.loads(answer))

    def of(self, cells: Iterable[Cell]) -> list[tuple[str, Any]]:
        """Of each rule, in words and as JSON."""
        return [(says, rule) for says, rule in self._answer([(c, c.row["result"] or " or ".join(c.outcomes)) for c in cells if c.outcomes])]

    def of_outcome(self, cells: Iterable[Cell], outcome: str, those: set[str]) -> list[str]:
        """Where these cells came to it, in words."""
        return self._answer([(c, outcome if c.name in those else "another outcome") for c in cells if c.outcomes], where=outcome)


@contextmanager
def conditions(asked_for: asked.Asked, along: str) -> Iterator[Conditions]:
    with subprocess.Popen([asked_for.file("program"), "rows", "--conditions"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        yield Conditions(started, along)


def with_rates(outcomes: dict[str, int]) -> str:
    if len(outcomes) < 2:
        return "".join(outcomes)
    return ", ".join(f"{word} {times} of {sum(outcomes.values())}" for word, times in outcomes.items())


def merged(columns: Iterable[tuple[Any, Sequence[str]]]) -> list[tuple[list[Any], Sequence[str]]]:
    """Keys with equal values, in the order of the first of each."""
    same: dict[Sequence[str], list[Any]] = {}
    for key, values in columns:
        same.setdefault(tuple(values), []).append(key)
    return [(keys, values) for values, keys in same.items()]


def label(of: list[Label], every: list[Label]) -> str:
    """ "warm; arrived, synchronised (2)": of all those that are called so. Where they are no product of values, each is named."""
    product, parts = 1, []
    for name, values, universe in zip(DIMENSIONS, (list(dict.fromkeys(v)) for v in zip(*of)), (list(dict.fromkeys(v)) for v in zip(*every))):
        product *= len(values)
        if values == [""] or (len(universe) > 1 and len(values) == len(universe) and len(of) > 1):
            continue
        parts.append((f"{name} " if name in SAID and values[0] else "") + ", ".join(v or f"no {name}" for v in values))
    said = "; ".join(parts) or "all"
    if product != len(of):
        said = ", ".join(".".join(filter(None, one)) for one in of)
    return said if len(of) == 1 else f"{said} ({len(of)})"


class Printer:
    def __init__(self, asked_for: asked.Asked, along: str) -> None:
        self.markdown, self.along, self.width, self.out = asked_for.markdown, along, text.width_of_output(), asked_for.out

    def table(self, head: list[str], rows: Sequence[Sequence[str]]) -> None:
        print("\n".join(text.table_lines(head, rows, self.markdown, self.width)))

    def lines(self, title: str, lines: list[str]) -> None:
        if not lines:
            return
        print(f"{title}:\n" if self.markdown else f"{title}:")
        for line in lines:
            print(f"- {text.cell(line, True)}" if self.markdown else "\n".join(f"{'    ' if i else '  '}{part}" for i, part in enumerate(text.wrapped(line, self.width - 4))))
        print()

    def cells(self, cells: list[Cell]) -> list[str]:
        """As a table; returns why some of it are empty."""
        notes: list[str] = []
        shown: dict[str, dict[Label, str]] = defaultdict(dict)
        for c in cells:
            row = (c.fault if self.along == "fault" else "", "", c.row["state"], c.row["timing"] or "", c.level, "")
            if not c.outcomes and c.row["not_observed"] not in notes:
                notes.append(c.row["not_observed"])
            shown[c.operation][row] = c.row["shown"] if c.outcomes else f"[{notes.index(c.row['not_observed']) + 1}]"
        rows = sorted({row for column in shown.values() for row in column}, key=lambda c: (*c[:4], int(c[4] or -1), c[5]))
        columns = merged((name, [shown[name].get(row, "") for row in rows]) for name in sorted(shown))
        head = [self.along, *(names[0] if len(names) == 1 else f"{len(names)} operations: {', '.join(names)}" for names, _ in columns)]
        self.table(head, [[label(keys, rows), *values] for keys, values in merged((row, [column[i] for _, column in columns]) for i, row in enumerate(rows))])
        return notes

    def section(self, of: tuple[str, str], cells: list[Cell], conditions: Conditions, remedies: list[str]) -> None:
        unseen = sum(not c.outcomes for c in cells)
        title = of[0] + (f", remedy {of[1]}" if of[1] else "") + (" (made up)" if all(c.row["made_up"] for c in cells) else "") + ": " + text.plural(len(cells), "cell")
        print(text.heading(title + (f", {unseen} not observed" if unseen else ""), 4, self.markdown))
        notes = self.cells(cells)
        self.lines("What it depends on", [says for says, _ in conditions.of(cells)])
        contexts = Counter(c.row["context"] or "" for c in cells if c.outcomes)
        self.lines("Context afterwards", [", ".join(f"{context} in {text.plural(n, 'cell')}" for context, n in sorted(contexts.items()))] if contexts else [])
        self.lines("Remedies", remedies)
        self.lines("Not observed", [f"[{i}] {note}" for i, note in enumerate(notes, 1)])


def cost_of(cells: list[Cell]) -> list[str]:
    """Of their remedy, where it cleared something and that was measured."""
    return list(filter(None, [cells[0].row["cost"]])) if any(c.row["result"] == "cleared" for c in cells) else []


def remedy_line(remedy: str, cells: list[Cell], conditions: Conditions) -> str:
    """ "release: cleared where cold: 12 cells; else still fails: 8 cells; nothing to clear in 4 cells; costs 3.0 %; 64 MiB" """
    untried = Counter("not observed" if not c.outcomes else c.row["result"] for c in cells if not c.outcomes or c.row["result"] in UNTRIED)
    words = [says for says, _ in conditions.of(c for c in cells if c.row["result"] not in UNTRIED)]
    return f"{remedy}: " + "; ".join([*words, *(f"{word} in {text.plural(n, 'cell')}" for word, n in sorted(untried.items())), *cost_of(cells)])


def print_matrix(stacks: list[Stack], printer: Printer, conditions: Conditions) -> None:
    for stack in stacks:
        print(text.heading(stack.name, 3, printer.markdown))
        for _, group in groupby(stack.sections(printer.along), lambda section: section[0][0]):
            sections = list(group)
            if not sections[0][0][1]:
                of, cells = sections[0]
                printer.section(of, cells, conditions, [remedy_line(of[1], those, conditions) for of, those in sections[1:]])
                continue
            for of, cells in sections:
                printer.section(of, cells, conditions, [])
                printer.lines("Its cost", cost_of(cells))
    mark = "`" if printer.markdown else ""
    printer.out.print(f"To observe a cell again: {mark}{stacks[0].cells[0].repeat}{mark}")


def compared(stacks: list[Stack], keys: list[str]) -> tuple[list[str], dict[str, tuple[Cell, list[str]]], str]:
    """What cells came to, by stacks: the groups, by name the cells that differ with what each group shows, and how many do."""
    known = sorted({key for s in stacks for key in s.keys})
    for key in keys:
        if key not in known:
            raise asked.Refused(f"--by {key}: no stack has it; their keys are {', '.join(known)}")
    groups: dict[str, dict[str, tuple[Cell, set[str]]]] = defaultdict(dict)
    for s in stacks:
        group = groups[", ".join(f"{key} {s.keys.get(key, 'unknown')}" for key in keys)]
        for c in s.cells:
            if c.outcomes:  # rates differ from run to run; the outcomes of a cell that races are compared
                group.setdefault(c.name, (c, set()))[1].update(c.outcomes if c.row["result"] is None else [c.row["shown"]])
    if len(groups) < 2:
        raise asked.Refused(f"--by {','.join(keys)}: all these records are alike in that")
    ordered = [groups[name] for name in sorted(groups)]
    names = sorted({c.name for s in stacks for c in s.cells})
    shown = {name: [" or ".join(sorted(group[name][1])) for group in ordered] for name in names if all(name in group for group in ordered)}
    differing = {name: (ordered[0][name][0], words) for name, words in shown.items() if len(set(words)) > 1}
    counts = f"{text.plural(len(differing), 'cell')} different, {len(shown) - len(differing)} equal" + (f", {len(names) - len(shown)} not observed in all" if len(names) > len(shown) else "")
    return sorted(groups), differing, counts


def cell_json(c: Cell) -> dict[str, Any]:
    row = c.row
    values = {"timing": row["timing"], "level": row["level"], "remedy": row["remedy"], "made_up": bool(row["made_up"]) or None, "api": row["api"], "variant": row["variant"],
              "summary": row["summary"], "outcomes": c.outcomes, "not_observed": row["not_observed"], "context": row["context"], "result": row["result"],
              "without_remedy": c.without or None, "after_remedy": c.after or None, "facts": parsed(row["facts"]) or None, "run": row["run"], "source": c.source}
    return {"fault": c.fault, "operation": c.operation, "state": row["state"], **{key: value for key, value in values.items() if value is not None}, "repeat": c.repeat}


def matrix_json(stacks: list[Stack], conditions: Conditions) -> dict[str, Any]:
    def rules(of: tuple[str, str], cells: list[Cell]) -> dict[str, Any]:
        name = {"operation" if conditions.along == "fault" else "fault": of[0]}
        return {**name, **({"remedy": of[1]} if of[1] else {}), "rules": [rule for _, rule in conditions.of(cells)]}
    return {"schema": 1, "stacks": [{"stack": s.name, "keys": dict(sorted(s.keys.items())), "cells": [cell_json(c) for c in s.cells],
                                     "conditions": [rules(of, cells) for of, cells in s.sections(conditions.along)]} for s in stacks]}


def print_csv(stacks: list[Stack]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(CSV)
    for s in stacks:
        for c in s.cells:
            said = {"level": c.level, "made_up": "yes" if c.row["made_up"] else "no", "outcome": with_rates(c.outcomes), "after_remedy": with_rates(c.after),
                    "without_remedy": with_rates(c.without), "source": c.source, "repeat": c.repeat}
            writer.writerow([said[name] if name in said else c.row[name] or "" for name in CSV])


def chosen(asked_for: asked.Asked) -> list[Stack]:
    database, filters = asked_for.database(only="arms"), {name: asked_for.options.get(name, "") for name in ("fault", "operation", "remedy", "stack")}
    by_label = groupby(database.execute(CHOSEN, filters), lambda row: row["stack"])
    folder = f"{asked_for.files['records']}/" if asked_for.of_build else ""
    stacks = [Stack(name, [Cell(row, folder) for row in rows]) for name, rows in by_label]
    if stacks:
        return stacks
    if not database.execute("SELECT 1 FROM cells").fetchone():
        raise asked.Refused("no record has a cell of the matrix: `cufault run matrix` makes them", 77)
    why = "no cell in these records is one that was asked for"
    for column, what in (("fault", "faults"), ("operation", "operations"), ("remedy", "remedies"), ("stack", "stacks")):
        if filters[column]:
            names = [row[0] for row in database.execute(f"SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL ORDER BY 1")]
            why += f"{asked.did_you_mean(filters[column], names)}; {what}: {', '.join(names) or 'none'}"
    raise asked.Refused(why)


def main(asked_for: asked.Asked) -> int:
    options, stacks = asked_for.options, chosen(asked_for)
    along = "fault" if "operation" in options and "fault" not in options else "operation"
    printer = Printer(asked_for, along)
    for_people = not asked_for.json and options.get("format") != "csv"
    if "by" in options:
        groups, differing, counts = compared(stacks, options["by"])
        if for_people:
            labels = {name: (c.fault, c.operation, c.row["state"], c.row["timing"] or "", c.level, c.remedy) for name, (c, _) in differing.items()}
            rows = [[label(keys, list(labels.values())), *values] for keys, values in merged((labels[name], words) for name, (_, words) in differing.items())]
            if rows:
                printer.table(["cells", *groups], rows)
            print(counts)
            return 0
        for s in stacks:
            s.cells = [c for c in s.cells if c.name in differing]
        stacks = [s for s in stacks if s.cells]
    if options.get("format") == "csv":
        print_csv(stacks)
        return 0
    with conditions(asked_for, along) as found:
        if asked_for.json:
            text.print_json(matrix_json(stacks, found), 1)
        else:
            print_matrix(stacks, printer, found)
    return 0
