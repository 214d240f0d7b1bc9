# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault frameworks: what a user of a framework sees, what had happened, and what cleared it."""
from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asked
import text

if TYPE_CHECKING:
    from sqlite3 import Row

# Of its functions, of its version in a stack, for people.
FRAMEWORKS = (("torch.", "pytorch", "PyTorch"), ("jax.", "jax", "JAX"), ("cupy.", "cupy", "CuPy"))
NEXT = "next"  # variant of the product that a trial makes at its end, to see what the process is worth

ARMS = """
SELECT * FROM arms WHERE kind != 'control' AND unproved IS NULL AND NOT made_up AND arm_id IN (
  SELECT arm_id FROM calls WHERE api LIKE 'torch.%' OR api LIKE 'jax.%' OR api LIKE 'cupy.%')
ORDER BY arm_id"""
CALLS = """
SELECT arm_id, trial, api, variant, status, ok, calls.numbers AS found, facts, after, trials.ended, why, context, notes
FROM calls JOIN trials USING (arm_id, trial) WHERE comparable AND arm_id IN (SELECT arm_id FROM wanted) ORDER BY arm_id, trial, number"""


@dataclass
class Seen:
    operations: set[str] = field(default_factory=set)
    when: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    cleared: set[str] = field(default_factory=set)
    not_cleared: set[str] = field(default_factory=set)
    trials: int = 0


def framework_of(api: str) -> str:
    return next((name for prefix, _, name in FRAMEWORKS if api.startswith(prefix)), "")


def first_failure(calls: list[Row]) -> Row | None:
    """Of a trial, before a remedy."""
    return next((c for c in calls if (not c["ok"] or c["found"] == "wrong") and not c["after"] and c["variant"] != NEXT and framework_of(c["api"])), None)


def seen_of(call: Row) -> str:
    """Of a call that failed: "RuntimeError: CUBLAS_STATUS_INTERNAL_ERROR of cublasCreate"."""
    if call["found"] == "wrong":
        return "no exception, and wrong numbers"
    if call["status"] is None:
        return "it does not return" if call["ended"] == "timed_out" else f"the process ends: {call['why']}"
    facts = json.loads(call["facts"] or "{}")
    exception, named = facts.get("exception", ""), facts.get("named_call", "")
    if not exception:
        return str(call["status"])
    if call["status"] != exception:
        return f"{exception}: {call['status']}" + (f" of {named}" if named else "")
    at = " ".join(filter(None, (call["api"], call["variant"])))
    for name, said in json.loads(call["notes"] or "[]"):
        if name == at:
            return f"{exception}: " + re.split(r"\n|\. | \(", said)[0].removesuffix(".")
    return str(exception)


def seen_afterwards(calls: list[Row]) -> str:
    """What the same process can do after the failure."""
    call = next((c for c in calls if c["variant"] == NEXT and not c["after"]), None)
    if call is None or (call["ok"] and call["found"] == "right"):
        return "the next product is right" if call else ""
    if call["status"] is None:
        return "the process ends in the next product"
    if call["context"] == "damaged":
        return f"the process is lost: the next product fails with {call['status']}"
    return "" if call["ok"] else f"the next product fails with {call['status']}"


def tables_of(asked_for: asked.Asked) -> list[text.Table]:
    database = asked_for.database(only="arms")
    database.execute("CREATE TEMP TABLE wanted AS SELECT arm_id FROM (" + ARMS + ")")
    trials: dict[int, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for call in database.execute(CALLS):
        trials[call["arm_id"]][call["trial"]].append(call)
    arms = database.execute(ARMS).fetchall()
    by_name = {(a["stack_id"], a["case_name"], a["arm"]): a for a in database.execute("SELECT * FROM arms WHERE case_name IN (SELECT case_name FROM arms JOIN wanted USING (arm_id))")}
    by_stack: dict[str, dict[tuple[str, str, str], Seen]] = defaultdict(lambda: defaultdict(Seen))  # two of one name are one
    for arm in arms:
        found = [(c, calls) for calls in trials[arm["arm_id"]].values() if (c := first_failure(calls))]
        here = []
        fault = arm if arm["kind"] == "fault" else by_name.get((arm["stack_id"], arm["case_name"], arm["arm"].rpartition("+")[0]))
        for call, calls in found:
            seen = _at(by_stack, arm, call)
            here.append(seen)
            seen.operations.add(call["api"])
            if fault is not None:
                seen.when.add(fault["summary"] or "")
            after = seen_afterwards(calls)
            if after and arm["kind"] == "fault":
                seen.after.add(after)
            seen.trials += 1
        if arm["answers"]:  # in place from the start: it answers the failure of another arm
            answered = by_name.get((arm["stack_id"], *arm["answers"].split("/", 1)))
            calls_of = trials[answered["arm_id"]].values() if answered is not None else ()
            here = [_at(by_stack, arm, c) for calls in calls_of if (c := first_failure(calls))]
        if arm["cleared"] is not None:
            # A new process of a framework imports it, which was not measured.
            cost = f" ({arm['cost']})" if arm["cost"] and arm["remedy_name"] != "new_process" else ""
            for seen in here:
                if arm["cleared"]:
                    seen.cleared.add(arm["words"] + cost)
                else:
                    seen.not_cleared.add(arm["words"])
    columns = [("what you see", "failure"), ("of", "operations"), ("case", "case"), ("what had happened", "what_had_happened"), ("trials", "trials"),
               ("afterwards", "afterwards"), ("cleared by", "cleared_by"), ("not cleared by", "not_cleared_by")]
    tables = []
    for stack, failures in sorted(by_stack.items()):
        table = text.Table("failures", columns, stack=stack)
        for (_, what, case), seen in sorted(failures.items(), key=lambda failure: failure[0]):
            table.rows.append([what, text.lines_of(seen.operations), case, text.lines_of(seen.when), (str(seen.trials), seen.trials),
                               text.lines_of(seen.after), text.lines_of(seen.cleared), text.lines_of(seen.not_cleared)])
        tables.append(table)
    return tables


def _at(by_stack: dict[str, dict[tuple[str, str, str], Seen]], arm: Row, call: Row) -> Seen:
    """By framework, exception and case, of a stack."""
    name = framework_of(call["api"])
    key = next(key for _, key, known in FRAMEWORKS if known == name)
    stack = f"{name} {arm[key]}, {arm['stack']}" if arm[key] else f"{name}, {arm['stack']}"
    return by_stack[stack][name, seen_of(call), arm["case_name"]]


def main(asked_for: asked.Asked) -> int:
    tables = tables_of(asked_for)
    if not tables:
        raise asked.Refused("no operation of a framework failed in these records; `cufault run pytorch --python PYTHON` makes them")
    if asked_for.json:
        text.print_json({"schema": 2, "stacks": [{"stack": table.stack, table.name: table.json_rows()} for table in tables]})
    else:
        for table in tables:
            asked_for.out.print(text.heading(table.stack, 2, asked_for.markdown))
            asked_for.out.table(table.head(), table.shown_rows(), asked_for.markdown)
    return 0
