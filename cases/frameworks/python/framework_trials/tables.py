# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The tables beside this file, which cufault reads, too: a framework's cases, arms and remedies, and what is injected."""
from __future__ import annotations

import json
import pathlib
from typing import Any, Dict, Iterator, List, Tuple


def table_of(name: str) -> Dict[str, Any]:
    table: Dict[str, Any] = json.loads((pathlib.Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
    return table


# Families by imported package.
FAMILIES: Dict[str, str] = {
    path.stem: table_of(path.stem)["package"] for path in sorted(pathlib.Path(__file__).parent.glob("*.json")) if path.stem != "injection"
}
# By group: text of a rule, and the driver or library calls that it fails.
INJECTION: Dict[str, Dict[str, Dict[str, Any]]] = table_of("injection")


def arms_of(table: Dict[str, Any]) -> Iterator[Tuple[str, str]]:
    """Each arm but controls, as its case and its name."""
    for case, what in table["cases"].items():
        for row in what["arms"]:
            operations: List[str] = row["arm"] if isinstance(row["arm"], list) else [row["arm"]]
            words = ["." + rule for group in row.get("rules", []) for rule in INJECTION[group]] or [""]
            for arm in (operation + word for operation in operations for word in words):
                yield case, arm
                if "corrected" in row:
                    yield case, arm + "_corrected"
                for remedy in {**row.get("dead_ends", {}), **row.get("remedies", {})}:
                    yield case, f"{arm}+{remedy}"
