# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault atlas --nature: calls whose failing driver call the driver named, beside what the same failure led to where a sweep injected it."""
from __future__ import annotations

import json

import asked
import text
from messages import some_of

VERDICTS = ("differ", "differ from other codes", "agree", "agree with other codes", "never injected")
HEAD = ("", "call", "driver call", "code", "the driver failed it: trials", "a sweep failed it: driver calls", "stack")
COUNTS = ("natural", "injected", "injected_with_other_codes")


def statuses(counts: dict[str, int]) -> str:
    return some_of([(what.removeprefix("CUBLAS_STATUS_"), times) for what, times in sorted(counts.items(), key=lambda item: -item[1])], 4)


def main(asked_for: asked.Asked) -> int:
    pairs = [{**row, "agrees": bool(row["agrees"]), **{name: json.loads(row[name]) for name in COUNTS}} for row in map(dict, asked_for.database(only="messages").execute("SELECT * FROM nature"))]
    if asked_for.json:
        text.print_json({"schema": 1, "nature": pairs})
        return 0
    rows: dict[str, list[list[str]]] = {verdict: [] for verdict in VERDICTS}
    for p in pairs:
        injected = p["injected"] or p["injected_with_other_codes"]
        verdict = VERDICTS[2 * p["agrees"] + (not p["injected"]) if injected else -1]
        rows[verdict].append([verdict, p["call"], p["function"], p["code"], statuses(p["natural"]), statuses(injected), p["stack"]])
    if not pairs:
        asked_for.out.print("No record has a call of a swept operation whose failing driver call the driver named.")
        return 0
    asked_for.out.print("; ".join(f"{verdict}: {len(of)}" for verdict, of in rows.items()) + ".\n")
    asked_for.out.table(HEAD, sum(rows.values(), []), asked_for.markdown)
    return 0
