# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault known: what is known to be wrong in a version of cuBLAS, PyTorch, Triton, JAX or CuPy on a GPU."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import asked
import text
from asked import Refused, did_you_mean, one_line, say
from known_issues import FAMILIES, HARMS, LEVELS, LIBRARIES, REACHES, Entry, Found, architecture_of, defect_of, found_issues, is_of, measured_before, numbers_of, said_by, states, within, workaround

if TYPE_CHECKING:
    from sqlite3 import Connection, Row


class Question(NamedTuple):
    """`architecture`: empty for any. `where`: the file that pins the version. `library`: as in PACKAGES."""

    version: str
    architecture: str = ""
    where: str = ""
    library: str = "cublas"


def spaced(words: str) -> str:
    return words.replace("_", " ")


def span_text(states_there: list[tuple[str, bool]], of_cublas: bool = True) -> str:
    """What follows from the measurements on an architecture: first in, mended after. Releases are compared with those that they follow."""
    affected, parts = {numbers_of(v): (v, state) for v, state in states_there}, []
    for version, state in states_there:
        before = measured_before(version, affected, of_cublas)
        was = affected[before][1] if before else False
        if state and not before:
            parts.append(f"first in {version} or earlier")
        elif state != was and before:
            parts.append(f"{'first' if state else 'mended'} after {affected[before][0]}, at the latest in {version}")
    if states_there and states_there[-1][1]:
        parts.append(f"{states_there[-1][0]} is the newest measured")
    return "; ".join(parts)


def range_text(r: dict[str, Any]) -> str:
    if "before" not in r:
        return f"{r['from']} (the only one named)" if r.get("to") == r["from"] else f"{r['from']} to {r['to']} (named last)" if "to" in r else f"from {r['from']} (an end is not known)"
    return f"{r['from']} to before {', '.join(r['before'])}" + (f" ({r['told']})" if "told" in r else "")


def versions_of(entry: Entry) -> str:
    """Which versions, on which GPUs: by whom."""
    ranges, of_cublas = entry.get("ranges", []), is_of(entry, "cublas")
    said = "; ".join(f"{f'{by}: ' if entry['sort'] != by else ''}{', and '.join(of)}" for by in LEVELS if (of := [range_text(r) for r in ranges if said_by(entry, r) == by]))
    if not of_cublas:
        said = f"{LIBRARIES[entry['library']]}{' ' + said if said else ': affected releases unknown'}"
    parts = [f"{said} on {', '.join(entry['architectures'])}" if said and entry.get("architectures") else said] if said else []
    for architecture, measured in sorted(entry.get("measured", {}).items()):
        nots = ", ".join(measured["not_affected"])
        if measured["affected"]:
            parts.append(f"On {architecture}: {', '.join(measured['affected'])}{'; not ' + nots if nots else ''}. {span_text(states(measured), of_cublas)}")
            continue
        tried = any(within(r, numbers_of(v), of_cublas) for v in measured["not_affected"] for r in ranges)
        parts.append(f"Tried on {architecture} with {nots}: not seen" if tried else f"Not tried in this range; on {architecture} with {nots} it was not seen")
    return ". ".join(parts)


def versions_named(entry: Entry) -> list[str]:
    """Ends of its ranges, and what was measured."""
    ends = [v for r in entry.get("ranges", []) for v in (r["from"], *r.get("before", []))]
    return ends + [v for measured in entry.get("measured", {}).values() for versions in measured.values() for v in versions]


def workarounds_of(entry: Entry) -> str:
    return " ".join(workaround(w) + (f" ({w['arm']})" if "arm" in w else "") for w in entry.get("workarounds", []))


BEHIND = {"affected_elsewhere": "Affected on another GPU, and not measured on this one:", "not_measured": "Not measured with this version, which is no warning:"}
"""Levels that are told in a line each."""


def print_issues(found: list[Found], out: text.Output, markdown: bool) -> None:
    """What is measured, documented or reported in blocks, and the rest in lines behind them; as Markdown a table for each harm."""
    rows: dict[str, list[list[str]]] = {harm: [] for harm in HARMS}
    told = ""
    for entry, level, because in found:
        how = spaced(level) + ("" if entry["reach"] == "any" else ", " + spaced(entry["reach"]))
        evidence = " ".join([*dict.fromkeys(e["arm"] for e in entry.get("evidence", [])), *entry.get("addresses", [])])
        rows[entry["harm"]].append([entry["id"], how, entry["what"], because, workarounds_of(entry), evidence])
        if reached := workarounds_of({"workarounds": [entry["reached"]]} if "reached" in entry else {}):
            rows[entry["harm"]][-1][1] += f". {reached}"
        if markdown:
            continue
        if level in BEHIND:
            if told != level:
                out.print(BEHIND[level])
            told = level
            out.print(text.cell(f"{entry['id']}  [{spaced(entry['harm'])}] {because}", False))
            continue
        lines = [f"{entry['id']}  [{how}, {spaced(entry['harm'])}, {LIBRARIES[entry['library']]}]", "  " + entry["what"], "  " + because, *(["  reach: " + reached] if reached else [])]
        lines += ["  what helps: " + workarounds_of(entry)] if entry.get("workarounds") else []
        for line in [*lines, "  see: " + evidence, ""]:
            out.print(text.cell(line, False))
    for harm, of_harm in rows.items() if markdown else ():
        if of_harm:
            out.print(text.heading(spaced(harm), 2, True))
            out.print("\n".join(text.table_lines(["issue", "known how", "what", "versions", "what helps", "evidence"], of_harm, True)))


# ---- what is asked ----

# Behind spaces alone, as conda and pip list versions: a build, a place or nothing follows, not words.
PIN = r"""["']?(?:[ \t]*={1,3}[ \t]*|[-_]|[ \t]+(?=\S+(?:[ \t]*(?:\n|\Z)|[ \t]+\S*[\d/]))|["',\s]+"?version"?[ \t]*[:=][ \t]*["']?)["']?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,4})?(?![0-9]|\.?(?:a|b|rc|dev)[0-9]))"""
LARGEST_LOCK = 64 << 20  # bytes
PACKAGES = {
    library: rf"{name}(?:\[[^\]\n]{{0,60}}\])?(?![-_.]dev)"
    for library, name in {
        "cublas": r"(?:nvidia[-_.]+cublas(?:[-_.]+cu[0-9]{1,3})?|libcublas)",
        "torch": "(?:py)?torch",
        "triton": "(?:pytorch[-_.]+)?triton",
        "jax": "jax(?:lib)?",
        "cupy": r"cupy(?:[-_.]+cuda[0-9]{2,3}x?)?",
    }.items()
}
"""How lock files name each library."""


def text_of_lock(file: str) -> str:
    """Without options and comments, which begin a line or stand behind a space. Of Pipfile.lock, whose versions stand behind hashes, each package as in requirements.txt."""
    with open(file, "rb") as lock:
        read = lock.read(LARGEST_LOCK + 1)
    if len(read) > LARGEST_LOCK:
        raise Refused(f"{one_line(file)}: it is larger than {LARGEST_LOCK >> 20} MiB, which no lock file is")
    whole = read.decode("utf-8", "replace")
    lines = [re.sub(r"(?:^|(?<=[ \t]))#.*", "", line) for line in whole.split("\n") if not re.match("[ \t]*--?[A-Za-z]", line)]
    try:
        sections = json.loads(whole) if whole.lstrip().startswith("{") else {}
    except ValueError:
        sections = {}
    for section in sections.values() if "_meta" in sections else ():
        packages = section.items() if isinstance(section, dict) else ()
        lines += [f"{name}{p['version']}" for name, p in packages if isinstance(p, dict) and isinstance(p.get("version"), str)]
    return "\n".join(lines) + "\n"


def versions_behind(name: str, lock: str) -> list[str]:
    """Behind these names of a package, each once. In requirements.txt, pip freeze, names of wheels, uv.lock, poetry.lock, conda-lock, conda list."""
    pinned = (re.match(PIN, lock[at.end() : at.end() + 80]) for at in re.finditer(rf"(?<![A-Za-z0-9._-]){name}", lock, re.IGNORECASE))
    return list(dict.fromkeys(pin[1] for pin in pinned if pin))


def pinned_in(file: str, architecture: str) -> list[Question]:
    lock = text_of_lock(file)
    found = [Question(version, architecture, file, library) for library, name in PACKAGES.items() for version in versions_behind(name, lock)]
    if not found:
        raise Refused(f"{one_line(file)}: it pins no version of nvidia-cublas, nvidia-cublas-cu12 or libcublas, and no release of torch, triton, jax or cupy")
    if found[0].library == "torch":
        say(f"cufault: {one_line(file)}: it pins torch, and not the nvidia-cublas that torch brings; where that is installed, pip freeze >lock.txt, and give --lock lock.txt")
    return found


def of_package(said: str, architecture: str) -> Question:
    """Of "torch==2.14.1" or, as pip freeze prints it, "torch==2.14.1+cu130"."""
    name, _, version = said.partition("==")
    library = next((library for library, its in PACKAGES.items() if re.fullmatch(its, name, re.IGNORECASE)), "")
    if not library:
        raise Refused(f"--package {one_line(said)}: nothing is listed of it; one of torch, triton, jax, cupy and nvidia-cublas, as in torch==2.11.0{did_you_mean(name, PACKAGES)}")
    if not numbers_of(version := version.partition("+")[0]):
        raise Refused(f"--package {one_line(said)}: name a release, as in {library}=={'13.1.0' if library == 'cublas' else '2.11.0'}; nothing is told of other builds, and cufault known {library} lists all")
    return Question(version, architecture, library=library)


def installed_in(folders: list[str]) -> dict[str, str]:
    """Release of each framework by the metadata in these folders, of several the first; without folders on the path of this Python, which imports nothing."""
    here = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path[1:]]  # cufault starts it without PYTHONPATH
    found: dict[str, str] = {}
    for each in importlib.metadata.distributions(path=folders or [folder for folder in here if folder]):
        try:
            name, version = (str(each.metadata[key] or "") for key in ("Name", "Version"))
        except (KeyError, TypeError):  # a folder that an uninstallation left
            continue
        library = next((library for library, its in PACKAGES.items() if library in FAMILIES and re.fullmatch(its, name, re.IGNORECASE)), "")
        if library and numbers_of(version := version.partition("+")[0]):
            found.setdefault(library, version)
    return found


def this_stack(program: Path) -> list[Question]:
    """Each version of cuBLAS that lies here."""
    loader_takes = {name: value for name, value in os.environ.items() if name not in ("CUFAULT_CUBLAS", "CUFAULT_CUBLASLT")}
    ran = subprocess.run([program, "stack", "--json"], env=loader_takes, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        stack = json.loads(ran.stdout)
    except ValueError:
        raise Refused(f"cufault stack: {one_line(ran.stderr.decode(errors='replace').strip())}") from None
    if "reasons" in stack:
        raise Refused(stack["reasons"][0]["why"], stack["exit_code"])
    keys = stack.get("keys", {})
    others = [library.get("version", "") for library in stack.get("libraries", []) if library.get("name", "").startswith("libcublas.so")]
    versions = [v for v in dict.fromkeys([keys.get("cublas", ""), *others]) if v]
    if not versions:
        raise Refused("no cuBLAS is found here: name a version, as in cufault known --cublas 13.1.0")
    return [Question(v, keys.get("compute_capability", "")) for v in versions]


COUNTED = (*LEVELS[:3], *REACHES[:2])
"""By --fail-on, unless --count names others."""
A_VERSION = "--cublas, --package, --lock or --here"


def questions_of(options: dict[str, Any], gpus: dict[str, str], program: Path) -> list[Question]:
    gpu, cublas = options.get("gpu", ""), options.get("cublas", "")
    architecture = architecture_of(gpus, gpu)
    if gpu and not architecture:
        raise Refused(f"--gpu {one_line(gpu)}: not known by name; give its compute capability, as in --gpu 9.0")
    questions = [q._replace(architecture=architecture or q.architecture) for q in this_stack(program)] if "here" in options else []
    questions += [q for lock in options.get("lock", []) for q in pinned_in(lock, architecture)]
    if cublas and not numbers_of(cublas):
        raise Refused(f"--cublas {one_line(cublas)}: no version of cuBLAS; one is 13.1.0")
    questions += [Question(cublas, architecture)] if cublas else []
    questions += [of_package(package, architecture) for package in options.get("package", [])]
    if gpu and not questions:
        raise Refused(f"--gpu needs {A_VERSION}")
    return questions


def base_of(function: str) -> str:
    """Without version and _64: "cublasSgemm" of "cublasSgemm_v2_64"."""
    return re.sub(r"(?:_v[0-9]+)?(?:_ptds|_ptsz|_64)?$", "", function, count=1).removeprefix("__")


def functions_called(options: dict[str, Any]) -> set[str]:
    called = {base_of(call) for call in options.get("calls", [])}
    file = options.get("calls-of")
    if not file:
        return called
    try:
        trace = json.loads(Path(file).read_bytes())
        traced = {base_of(function) for functions in trace["calls"].values() for function in functions}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"{one_line(file)}: no trace: {one_line(str(error))}") from None
    if not {"cublas", "cublasLt"} <= {*trace.get("libraries", [])} or not any(f.startswith("cublas") for f in traced):
        raise Refused(
            f"--calls-of {one_line(file)}: it does not have the calls of cuBLAS; cufault trace --library cublas --library cublasLt --json FILE -- COMMAND"
        )
    return called | traced


# ---- what records show ----

ARMS = """
SELECT arm_id, case_name || '/' || arm AS name, races, stack_id, stack, compute_capability, cublas, cublaslt, pytorch, jax, cupy, python,
  EXISTS (SELECT * FROM trials WHERE trials.arm_id = arms.arm_id AND trials.ended = 'completed' AND trials.failed) AS not_helped
FROM arms JOIN wanted USING (case_name, arm) ORDER BY stack_id"""
CALLS = """
SELECT arm_id, api, variant, status, numbers, facts, ended FROM calls JOIN trials USING (arm_id, trial)
WHERE comparable AND arm_id IN (SELECT arm_id FROM arms JOIN wanted USING (case_name, arm))"""


def came_to(call: Row) -> str:
    if not call["status"]:
        return "never returned; " + ("crashed" if call["ended"] == "crashed" else "timed out")
    facts = "; ".join(f"{spaced(k)} {', '.join(map(str, v)) if isinstance(v, list) else v}" for k, v in sorted(json.loads(call["facts"] or "{}").items()))
    numbers = "" if call["numbers"] == "unchecked" else f", numbers {call['numbers']}"
    return f"{call['status']}{numbers}{f' ({facts})' if facts else ''}"


def version_in(stack: Row, library: str) -> str:
    """Of a library in a stack; empty where it is not told, and of a framework beside other packages than it is made for."""
    if library not in FAMILIES:
        return str(stack[library] or "")
    python = json.loads(stack["python"] or "{}")
    imported = python.get("frameworks", {}).get(FAMILIES[library], {})
    if imported.get("unmet"):
        return ""
    return str((imported.get("triton") or python.get("packages", {}).get("triton") if library == "triton" else stack[FAMILIES[library]]) or "")


def shown_on(arms: dict[str, Row], calls: dict[int, set[tuple[str, str]]], entry: Entry) -> bool | None:
    """Affected where any of the evidence shows it; not affected where all of it was recorded, or what counts in its place, and none does. That a
    framework refuses the call by another error says nothing."""
    shown: dict[str, list[bool | None]] = {}
    for one in entry.get("evidence", []):
        of = shown.setdefault(one.get("in_place_of", one["arm"]), [])
        if (arm := arms.get(one["arm"])) is not None:
            if arm["races"]:
                raise Refused(f"{entry['id']}: {one['arm']} races: it proves no version right")
            found = [outcome for call, outcome in calls[arm["arm_id"]] if fnmatchcase(call, one["call"])]
            says = entry["library"] not in FAMILIES or any(outcome.startswith("OK") for outcome in found)
            of.append(True if any(outcome.startswith(one["shows"]) for outcome in found) else False if found and says else None)
    every = [one for of in shown.values() for one in of]
    return True if True in every else False if shown and all(shown.values()) and None not in every else None


def measured_again(known: dict[str, Any], file: Path, database: Connection) -> str:
    """The text of the file, with `measured` as the records show it."""
    entries = known["issues"]
    wanted = {one["arm"] for e in entries for one in (*e.get("evidence", []), *e.get("workarounds", [])) if "arm" in one}
    database.execute("CREATE TEMP TABLE wanted (case_name, arm)")
    database.executemany("INSERT INTO wanted VALUES (?, ?)", (arm.split("/", 1) for arm in wanted))
    stacks: dict[int, dict[str, Row]] = defaultdict(dict)
    calls: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for arm in database.execute(ARMS):
        stacks[arm["stack_id"]][arm["name"]] = arm
    for call in database.execute(CALLS):
        calls[call["arm_id"]].add((" ".join(filter(None, (call["api"], call["variant"]))), came_to(call)))
    affected = [dict[str, dict[str, bool]]() for _ in entries]
    for arms in stacks.values():
        any_arm = next(iter(arms.values()))
        for entry, of_entry in zip(entries, affected):
            if (shown := shown_on(arms, calls, entry)) is None:
                continue
            version, architecture = version_in(any_arm, entry["library"]), any_arm["compute_capability"]
            if not version or not architecture:
                continue
            for w in entry.get("workarounds", []) if shown else ():
                if w.get("arm") in arms and arms[w["arm"]]["not_helped"]:
                    raise Refused(f"{entry['id']}: the workaround {w['arm']} failed on {any_arm['stack']}")
            there = of_entry.setdefault(architecture, {})
            there[version] = there.get(version, False) or shown
    of_packages = {one["arm"] for e in entries if e["library"] in FAMILIES for one in e.get("evidence", [])}  # may be recorded later
    if unseen := wanted - of_packages - {name for arms in stacks.values() for name in arms}:
        raise Refused(f"{file}: no record has {', '.join(sorted(unseen))}")
    for entry, of_entry in zip(entries, affected):
        if not of_entry and entry["library"] in FAMILIES:
            entry.pop("measured", None)
        elif "evidence" in entry:
            entry["measured"] = {
                a: {state: sorted((v for v in of if of[v] == is_affected), key=numbers_of) for state, is_affected in (("affected", True), ("not_affected", False))}
                for a, of in sorted(of_entry.items())
            }

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    # One member a line, so that one more version changes one line.
    issues = ",".join("\n  {" + ",".join(f'\n   "{key}": {compact(value)}' for key, value in e.items()) + "\n  }" for e in entries)
    releases = ",".join(f"\n  {compact(release)}" for release in known["releases"])
    return f'{{\n "schema": 1,\n "gpus": {compact(known["gpus"])},\n "releases": [{releases}\n ],\n "issues": [{issues}\n ]\n}}'


# ---- the answer ----


def print_answer(question: Question, found: list[Found], more: str, functions: bool, out: text.Output, markdown: bool) -> None:
    title = f"{LIBRARIES[question.library]} {question.version}{f' on {question.architecture}' if question.architecture else ''}{f', pinned in {question.where}' if question.where else ''}"
    if not found:
        out.print(text.cell(f"{title}: nothing is known{' of these functions' if functions else ''}{more}", False))
        return
    counts = Counter(f.level for f in found)
    levels = ", ".join(f"{counts[level]} {spaced(level)}" for level in LEVELS if counts[level])
    out.print(text.cell(f"{'# ' if markdown else ''}{title}: {text.plural(len(found), 'issue')}: {levels}{more}", False) + "\n")
    print_issues(found, out, markdown)


def main(asked_for: asked.Asked) -> int:
    options, as_json, markdown, out = asked_for.options, asked_for.json, asked_for.markdown, asked_for.out
    if "installed" in options:  # of doctor and why
        text.print_json(installed_in(asked_for.names))
        return 0
    file = asked_for.file("known_issues")
    try:
        known = json.loads(file.read_text())
    except ValueError as error:
        raise Refused(f"{one_line(str(file))}: {error}") from None
    if why := defect_of(known):
        raise Refused(f"{one_line(str(file))}: {one_line(why)}")
    whole: list[Entry] = known["issues"]
    if folder := options.get("measure"):
        own = Path(folder).samefile(asked_for.file("records"))
        print(measured_again(known, file, asked_for.database([] if own else [folder], "arms")))
        return 0
    ids = [e["id"] for e in whole]
    for name in options.get("except", []):
        if name not in ids:
            raise Refused(f"--except {one_line(name)}: no issue has this name; cufault known lists them{did_you_mean(name, ids)}")
    named = "".join(asked_for.names)
    of_any_call = [e for e in whole if named.lower() in " ".join([e["id"], e["what"], e.get("source", ""), *e.get("calls", [])]).lower()]
    if not of_any_call:
        version = f"--cublas {one_line(named)} lists those of a version" if named[0].isdigit() else "lists all"
        raise Refused(f"no known issue names {one_line(named)}; cufault known {version}")
    entries = of_any_call
    if "calls" in options or "calls-of" in options:
        called = functions_called(options)
        entries = [e for e in entries if not e.get("calls") or {base_of(call) for call in e["calls"]} & called]
    questions = questions_of(options, known["gpus"], asked_for.file("program"))
    if not questions:
        if "fail-on" in options:
            raise Refused(f"--fail-on needs {A_VERSION}")
        if as_json and len(entries) < len(whole):
            raise Refused(f"TEXT, --calls and --calls-of with --json need {A_VERSION}")
        if as_json:
            sys.stdout.write(file.read_text())
        elif not entries:
            out.print("nothing is known of these functions")
        else:
            every = (Found(e, e["sort"], versions_of(e)) for e in entries)
            print_issues(sorted(every, key=lambda f: (HARMS.index(f.entry["harm"]), LEVELS.index(f.level))), out, markdown)
        return 0
    answers: dict[str, list[dict[str, Any]]] = {"answers": [], "packages": []}
    failing, not_counted = dict[str, None](), dict[str, None]()
    asked_levels, asked_reaches = ([word for word in of if word in (options.get("count") or COUNTED)] for of in (LEVELS, REACHES))
    levels, reaches = asked_levels or COUNTED, asked_reaches or COUNTED
    for q in questions:
        of_calls = found_issues(entries, *q[:2], q.library)
        left_out = len(found_issues(of_any_call, *q[:2], q.library)) - len(of_calls)
        found = [f for f in of_calls if f.entry["id"] not in options.get("except", [])]
        for entry, level, _ in found:
            if entry["harm"] in options.get("fail-on", []) and level != LEVELS[-1]:
                how = spaced(level) + (f", {spaced(entry['reach'])}" if entry["reach"] not in COUNTED else "")
                (failing if level in levels and entry["reach"] in reaches else not_counted)[f"{entry['id']} ({how})"] = None
        there = [m for e in whole if is_of(e, q.library) for a, m in e.get("measured", {}).items() if q.architecture in ("", a)]
        any_measured = any(numbers_of(v) == numbers_of(q.version) for m in there for versions in m.values() for v in versions)
        if as_json:
            where = {"pinned_in": q.where} if q.where else {}
            issues = [{**f.entry, "level": f.level, "because": f.because} for f in found]
            of_cublas = q.library == "cublas"
            which = {"cublas": q.version} if of_cublas else {"package": q.library, "version": q.version}
            answers["answers" if of_cublas else "packages"].append({**which, "architecture": q.architecture, **where, "any_measured": any_measured, "issues": issues})
        else:
            more = f"; {left_out} of other functions left out" if left_out else ""
            newest = max((v for e in whole if is_of(e, q.library) for v in versions_named(e)), key=numbers_of, default="")
            if q.library == "cublas":
                more += "" if any_measured else "; nothing was measured with it"
            elif newest and numbers_of(newest) < numbers_of(q.version):
                more += f"; no issue names a release after {newest}"
            print_answer(q, found, more, bool(left_out), out, markdown)
    if as_json:
        text.print_json({"schema": 1, **{name: of for name, of in answers.items() if of or name == "answers"}})
    if not_counted:
        say(f"cufault: not counted: {', '.join(not_counted)}; --count says what is")
    if not failing:  # of a torch without its cuBLAS nothing is passed
        pinned = defaultdict[str, set[str]](set)
        for q in questions:
            pinned[q.where].add(q.library)
        return 2 if "fail-on" in options and any(where and "torch" in its and "cublas" not in its for where, its in pinned.items()) else 0
    say(f"cufault: {text.plural(len(failing), 'known issue')} with {spaced(' or '.join(options['fail-on']))}: {', '.join(failing)}")
    return 1
