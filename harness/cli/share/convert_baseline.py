#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Converts the record of a run of schema 4 (cufault 0.1) to schema 5, so that `cufault baseline add` takes it.

usage: convert_baseline.py RECORD [OUTPUT]      (default: standard output)

Schema 4 states a call as a text, calls that are equal once ("like"), times of calls and what they wrote beside the calls, and samples and
measurements as lists. Arms that take a second cuBLAS are those that `cufault list --json` names, where that program is on the PATH.
"""
import json
import re
import subprocess
import sys
from typing import Any

Json = dict[str, Any]
OWN = ("level", "refined", "gpu", "times", "memory", "measurements", "ms")  # of a trial that is "like" another
MEMBERS = {"memory": ("at", "free", "total"), "measurements": ("name", "value", "unit"), "notes": ("name", "text")}


def success_of(api: str) -> str:
    if "." in api or not re.match(r"cu(da|blas)?[A-Z]", api) and not api.startswith("cublas"):
        return "LOADED" if api.startswith("load.") else "OK"
    return "CUBLAS_STATUS_SUCCESS" if api.startswith("cublas") else "cudaSuccess" if api.startswith("cuda") else "CUDA_SUCCESS"


def call_from(stated: Any, written: list[str] | None) -> Json:
    old: Json = {"step": stated} if isinstance(stated, str) else dict(stated)
    words, colon, status = old.pop("step").partition(":")
    name, comma, numbers = words.partition(", ")
    api, _, variant = name.partition(" ")
    success = success_of(api)
    status = success if not colon else status.removeprefix(" ")
    if status.startswith("_") and success.startswith("CUBLAS_STATUS"):
        status = "CUBLAS_STATUS" + status
    ok = not colon or (bool(old.pop("ok", False)) and bool(status))
    call: Json = {"api": api}
    if variant:
        call["variant"] = variant
    if status:
        call["status"] = status
    if ok != bool(status):
        call["ok"] = ok
    if comma:
        call["numbers"] = numbers
    facts = dict(old.pop("facts", {}))
    if written is not None and "written" not in facts:
        facts["written"] = written if ok else []
    facts = {key: value for key, value in facts.items() if value is not None}
    if "last_error" in old:
        call["last_error"] = old.pop("last_error")
    return call | ({"facts": facts} if facts else {}) | old


def trial_from(old: Json, earlier: list[Json]) -> Json:
    if "like" in old:
        same = {key: value for key, value in earlier[old["like"]].items() if key not in OWN}
        old = same | {key: value for key, value in old.items() if key != "like"}
    earlier.append(old)
    new = {key: value for key, value in old.items() if key not in ("written", "times")}
    calls = [call_from(call, old.get("written")) for part in ("calls", "after") for call in old.get(part, [])]
    for place, ms in old.get("times", {}).items():
        calls[int(place)]["ms"] = ms
    before = len(old["calls"])
    new["calls"] = calls[:before]
    if len(calls) > before:
        new["after"] = calls[before:]
    for part, members in MEMBERS.items():
        if part in old:
            new[part] = [dict(zip(members, item)) for item in old[part]]
    for sample in new.get("memory", []):
        sample.setdefault("total", 0)
    return new


def arms_with_a_second_cublas() -> set[tuple[str, str]]:
    try:
        said = json.loads(subprocess.run(["cufault", "list", "--json"], capture_output=True, check=True).stdout)
        cases = said["cases"] if isinstance(said, dict) else said  # before it had a schema: a list
        return {(case["name"], arm["name"]) for case in cases for arm in case["arms"] if arm["other_cublas"]}
    except (OSError, subprocess.CalledProcessError, ValueError):
        return set()


def convert(lines: list[str], name: str) -> str:
    second = arms_with_a_second_cublas()
    out = []
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
            if number == 1:
                if value.get("schema") != 4:
                    raise ValueError(f"schema {value.get('schema')}: this converts schema 4")
                value["schema"] = 5
            elif "arm" in value:
                earlier: list[Json] = []
                trials = [trial_from(trial, earlier) for trial in value.pop("trials")]
                value = {"case": value.pop("case"), "arm": value.pop("arm"), "kind": value.pop("kind", "fault")} | value
                if (value["case"], value["arm"]) in second:
                    value["second_cublas"] = True
                value["trials"] = trials
        except (ValueError, LookupError, AttributeError, TypeError) as wrong:
            if number == len(lines) and not line.endswith("\n"):
                break  # the run was killed while it wrote this line
            raise SystemExit(f"{name}:{number}: cannot be converted: {wrong!r}") from None
        out.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    return "".join(out)


def main() -> None:
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as record:
        text = convert(record.readlines(), sys.argv[1])
    if len(sys.argv) == 2:
        sys.stdout.write(text)
        return
    with open(sys.argv[2], "x", encoding="utf-8") as output:
        output.write(text)


if __name__ == "__main__":
    main()
