# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault claims: each claim of the source documents, its verdict, and the arms behind it."""
from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import asked
import text

if TYPE_CHECKING:
    from sqlite3 import Row

SCHEMA = 2
HEAD = ("claim", "kind", "verdict", "what it says")


def as_text(claims: list[Row], evidence: dict[str, list[Row]]) -> list[list[str]]:
    rows = []
    for c in claims:
        rows.append([c["claim"], c["kind"], c["verdict"], c["text"]])
        lines = [f"{'made up: ' if e['made_up'] else ''}{e['case_name']}/{e['arm']} ({e['stack']}): {e['says']}: {e['why']}{'; ' + e['cost'] if e['cost'] else ''}"
                 for e in evidence[c["claim"]]]
        rows += [["", "", "", "  " + line] for line in lines or filter(None, [c["untestable"]])]
    return rows


def as_json(claims: list[Row], evidence: dict[str, list[Row]]) -> dict[str, object]:
    def of(claim: Row) -> dict[str, object]:
        said = [{"arm": e["arm"], "case": e["case_name"], **({"made_up": True} if e["made_up"] else {}), "says": e["says"], "stack": e["stack"], "why": e["why"]}
                for e in evidence[claim["claim"]]]
        there = {key: claim[key] for key in ("kind", "text", "verdict", "status", "call", "untestable", "awaits", "source") if claim[key] is not None}
        return dict(sorted({"id": claim["claim"], "evidence": said, **there}.items()))

    return {"claims": [of(claim) for claim in claims], "schema": SCHEMA}


def main(asked_for: asked.Asked) -> int:
    database = asked_for.database(only="claims")
    claims = database.execute("SELECT * FROM claims").fetchall()
    evidence: dict[str, list[Row]] = defaultdict(list)
    for e in database.execute("SELECT * FROM claim_evidence"):
        evidence[e["claim"]].append(e)
    if asked_for.json:
        text.print_json(as_json(claims, evidence))
        return 0
    head, rows = list(HEAD), as_text(claims, evidence)
    if asked_for.markdown:
        letters = {stack: text.letter_of(i) for i, stack in enumerate(sorted({e["stack"] for each in evidence.values() for e in each}))}
        for stack, letter in letters.items():
            asked_for.out.print("- " + text.cell(f"{letter}: {stack}", True))
        if letters:
            asked_for.out.print()
        head.append("arms behind the verdict")
        rows = [[c["claim"], c["kind"], c["verdict"], c["text"], c["arms"]] for c in claims]
    asked_for.out.table(head, rows, asked_for.markdown)
    counts = ", ".join(f"{count} {word}" for word, count in sorted(Counter(c["verdict"] for c in claims).items()))
    asked_for.out.print(f"{text.plural(len(claims), 'claim')}: {counts or 'none'}")
    return 0
