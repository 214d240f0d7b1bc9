# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault messages: what the driver's error log says, what had happened, and which statuses stood in front of it."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asked
import text

if TYPE_CHECKING:
    from sqlite3 import Row

SCHEMA, EXIT_NO_ANSWER = 1, 4
MOST_CAUSES, MOST_STATUSES = 3, 4  # that are shown
OF_DRIVER = "CUDA_ERROR_"
LOG_LINE = re.compile(r"\[\d\d:\d\d:\d\d[.\d]*\]\[[^]]*\]\[CUDA\]\[[^]]*\](?:\[(cu[^]]*)\])?([^\0]*)", re.ASCII)
RETURNING = re.compile(r"(?:([^\0]*) )?Returning (\d+)(?: \((?:CUDA_ERROR_)?(\w+)\))? from (\w+)[ .\r\n]*", re.ASCII)


@dataclass
class Saying:
    """A message, with all that stood behind it; most frequent first."""

    row: Row

    def __post_init__(self) -> None:
        self.code, self.function, self.text = self.row["code"], self.row["function"], self.row["text"]
        self.said = f"{self.function}: {self.code}" if self.function else ""
        self.said += (f" ({self.text})" if self.said else self.text) if self.text else ""
        self.causes: list[tuple[str, str, int]] = sorted(json.loads(self.row["causes"]), key=lambda cause: -cause[2])
        self.behind: list[tuple[str, int]] = sorted(json.loads(self.row["behind"]).items(), key=lambda behind: -behind[1])
        self.stacks: list[str] = json.loads(self.row["stacks"])


def general(said: str) -> str:
    """Without what differs between builds and runs: numbers and mangled names."""
    said = re.sub(r"\((\$|_Z)[^)]*(\)|\Z)", "(NAME)", said)
    return re.sub("0x[0-9a-fA-F]+|[0-9]+", "N", re.sub(r"(Kernel \(NAME\)[^;]*)(; Kernel \(NAME\)[^;]*)+", r"\1", said))


def is_asked(s: Saying, what: str) -> bool:
    """A line of the log is looked up by what it says, and not by its time or its numbers; 719 and CUDA_ERROR_LAUNCH_FAILED are codes."""
    line = LOG_LINE.search(what)
    said = line[2].strip(" \r\n") if line else what
    returned = RETURNING.fullmatch(said)
    function = returned[4] if returned else line[1] if line else None
    if line or function:
        code = (returned[3] or returned[2]) if returned else None
        rest = (returned[1] or "").lstrip().rstrip(" ,:") if returned else said
        return all((not function or s.function == function, not code or s.code == code, general(rest) in general(s.text)))
    if what.startswith(OF_DRIVER):
        return bool(s.code == what[len(OF_DRIVER):])
    if re.fullmatch("[0-9]{1,9}", what):
        return bool(what == s.code or int(what) == s.row["number"])
    return what.lower() in s.said.lower()


def meant(what: str, sayings: list[Saying]) -> str:
    """ "; did you mean ILLEGAL_ADDRESS?": a code that is near or, of several words, each as the nearest one of a message."""
    codes = {name for s in sayings for name in (s.code, OF_DRIVER + s.code, s.function)}
    if said := asked.did_you_mean(what.replace(" ", "_"), sorted(codes)):
        return said
    known = sorted({stripped for s in sayings for word in s.text.split() if (stripped := word.rstrip(".,:;)"))})
    near = [word if word in known else asked.nearest_of(word, known) for word in what.split()]
    return f"; did you mean {' '.join(near)}?" if all(near) else ""


def some_of(counted: list[tuple[str, int]], most: int) -> str:
    more = [f"and {len(counted) - most} more"] if len(counted) > most else []
    return "; ".join([f"{what} ({times})" for what, times in counted[:most]] + more)


def print_sayings(printed: asked.Asked, sayings: list[Saying]) -> None:
    failed = [[s.said, some_of([(cause, times) for _, cause, times in s.causes], MOST_CAUSES),
               some_of([(what.replace("CUBLAS_STATUS_", ""), times) for what, times in s.behind], MOST_STATUSES), *map(str, (s.row["failed"], s.row["succeeded"], len(s.stacks)))]
              for s in sayings if s.row["failed"]]
    harmless = [[s.said, str(s.row["succeeded"]), str(len(s.stacks))] for s in sayings if not s.row["failed"]]
    heads = ["the driver says", "what had happened", "what the call returned", "failed calls", "calls that succeeded", "stacks"], ["the driver says", "calls", "stacks"]
    for rows, head in zip((failed, harmless), heads):
        if rows and rows is harmless:
            printed.out.print(text.heading("Harmless: only in calls that succeeded", 3, printed.markdown))
        if rows and printed.markdown:
            printed.out.print("\n".join(text.table_lines(head, rows, True)))
        for row in rows if not printed.markdown else []:
            printed.out.print(text.cell(row[0], False))
            if rows is failed:
                printed.out.print(f"  what had happened   {text.cell(row[1], False)}")
                printed.out.print(f"  the call returned   {text.cell(row[2], False)}")
                printed.out.print(f"  seen                failed calls: {row[3]}; calls that succeeded: {row[4]}; stacks: {row[5]}\n")
            else:
                printed.out.print(f"  seen                calls: {row[1]}; stacks: {row[2]}\n")


def main(asked_for: asked.Asked) -> int:
    what = "".join(asked_for.names)
    database = asked_for.database(asked_for.options.get("records", []), "messages")
    every = [Saying(row) for row in database.execute("SELECT * FROM driver_sayings")]
    heard, silent = database.execute("SELECT heard, silent FROM driver_log").fetchone()
    sayings = [s for s in every if not what or is_asked(s, what)]
    if asked_for.json:
        text.print_json({"schema": SCHEMA, "failed_calls_with_a_reason": heard, "failed_calls_without": silent, "messages": [
            {"function": s.function, "code": s.code, "text": s.text, "failed_calls": s.row["failed"], "calls_that_succeeded": s.row["succeeded"],
             "causes": {cause: times for cause, _, times in s.causes}, "returned": dict(s.behind), "arms": json.loads(s.row["arms"]), "stacks": s.stacks}
            for s in sayings]})
    else:
        print_sayings(asked_for, sayings)
        if not what:
            asked_for.out.print(f"Of {heard + silent} failed calls in runs that heard the log, the driver gave a reason for {heard}.")
    if what and not sayings:
        asked.say(f'cufault: no recorded message of the driver holds "{asked.one_line(what)}"; `cufault messages` lists them{meant(what, every)}')
    return EXIT_NO_ANSWER if what and not sayings else 0
