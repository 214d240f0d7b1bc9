# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault history matrix: what changed from release to release of cuBLAS or of a framework, by harm; facts of files; what NVIDIA's release notes say of it.

Changes come from `cufault release-changes`, in order; a change keeps its number."""
from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import asked
import text
from known_issues import FAMILIES, LIBRARIES, defect_of
from known_issues import numbers_of as numbers_in

# What a change is for a program that relied on how it was, worst first.
HARMS = {"wrong_numbers": "Wrong numbers behind SUCCESS", "crash": "A crash, or a damaged context", "hang": "A hang",
         "worse_status": "An error where the call succeeded, or one that comes later", "other": "Another error, or another value",
         "better": "Better: less harm than before"}
MOST_CHANGES = 60  # that a page shows; the others are counted
SMALL = 4  # changes of fewer arms are left out first
MATRIX = "matrix."
Change = dict[str, Any]


class Report:
    """`said`: what release-changes prints. `notes`: cases/release_notes.json. `release`: only the changes that it shows first; empty: all. `package`: as in FAMILIES; empty: cuBLAS. `sources`: by CASE/ARM, where the arm is from."""

    def __init__(self, said: dict[str, Any], notes: list[dict[str, Any]], release: str = "", package: str = "", sources: dict[str, str] | None = None) -> None:
        self.said, self.notes, self.release, self.package = said, notes, release, package
        self.product, self.sources = LIBRARIES[package or "cublas"], sources or {}
        self.changes: list[Change] = said["changes"]
        self.doubts: dict[str, list[str]] = {r["release"]: r["doubts"] for r in said["releases"] if r.get("doubts")}
        self.left_out: set[int] = set()

    def leave_out(self, most: int, named: set[int]) -> None:
        """Those beyond `most` that have the fewest arms or made-up faults. Kept is what is named, what does harm or did, or what many arms show, and then
        what is not made up."""
        def rank(i: int) -> tuple[bool, bool, bool, bool, int]:
            c = self.changes[i]
            harmful = c["severe"] or c["harm"] == "worse_status"
            return i not in named, not harmful and len(c["arms"]) < SMALL, c["made_up"], c["harm"] not in ("wrong_numbers", "crash", "hang"), -len(c["arms"])
        self.left_out = set(sorted(range(len(self.changes)), key=rank)[most:]) - named

    def is_shown(self, change: int) -> bool:
        return change not in self.left_out and self.release in ("", self.changes[change]["at_latest"])

    def is_of_releases(self, c: Change) -> bool:
        return not {c["after"], c["at_latest"]} & set(self.doubts)

    def trackers_of(self, c: Change) -> list[str]:
        """Numbers of trackers that its arms and what remedies them are from, which is no report of the change."""
        sources = (self.sources.get(name.partition("+")[0], "") for name in c["arms"])
        return list(dict.fromkeys(number for source in sources for number in re.findall(r"[\w./-]*#[0-9]+", source)))

    def changes_of(self, arms: list[str], calls: list[str]) -> list[int]:
        """That have one of these arms, and one of these functions."""
        return [i for i, c in enumerate(self.changes)
                if (not calls or not c["calls"] or set(calls) & set(c["calls"])) and set(arms) & set(c["arms"])]

    def of_note(self, note: dict[str, Any]) -> list[int]:
        """Of one that our records confirm: at its release, where there is such a change, and of its functions, where one names them."""
        if note["ours"]["verdict"] != "confirmed":
            return []
        arms, release = note["ours"].get("arms", []), numbers_in(note["release"])[:3]
        of_calls = self.changes_of(arms, note["calls"])
        here = [i for i in self.changes_of(arms, []) if numbers_in(self.changes[i]["after"]) < release <= numbers_in(self.changes[i]["at_latest"])]
        return [i for i in here if i in of_calls] or here or of_calls

    def unmentioned(self) -> list[int]:
        mentioned = {i for note in self.notes for i in self.of_note(note)}
        return [i for i in range(len(self.changes)) if i not in mentioned and i not in self.left_out]

    def json(self) -> dict[str, Any]:
        said = self.said
        notes = [{"id": n["id"], "verdict": n["ours"]["verdict"], "arms": n["ours"].get("arms", []), "changes": [i + 1 for i in self.of_note(n)]} for n in self.notes]
        package = {"package": self.package} if self.package else {}
        return {"schema": 1, **package, "gpu": said["gpu"], "driver": said["driver"], "releases": said["releases"],
                "changes": [{"number": i + 1, **c, **({"trackers": self.trackers_of(c)} if self.package else {})} for i, c in enumerate(self.changes) if self.is_shown(i)],
                "left_out": len(self.left_out), "steady": said["steady"], "by_cufault": said["by_cufault"], "files": said["files"],
                "notes": notes, "unmentioned": [i + 1 for i in self.unmentioned()]}


def the_first(names: list[str], most: int) -> str:
    """The first of them, and how many more there are."""
    shown = names[:most] if len(names) > most + 1 else names
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def numbers_of(changes: list[int]) -> str:
    return ", ".join(str(i + 1) for i in changes)


def span(first: str, last: str) -> str:
    return first if first == last else f"{first}–{last}"


def releases_of(c: Change) -> str:
    """ "12.0.1–13.1.0 → 13.5.1–13.10.0" """
    return f"{span(c['since'], c['after'])} → {span(c['at_latest'], c['until'])}"


def words_of(c: Change) -> str:
    words = f"{c['what']}: {the_first(c['details'], 3)}" if c["what"] else f"{c['from']} → {c['to']}"
    return words + (" (made up)" if c["made_up"] else "")


def calls_of(c: Change) -> str:
    most_first = sorted(c["calls"].items(), key=lambda call: -call[1])
    return the_first([api if times == 1 else f"{api} ({times})" for api, times in most_first], 5)


def evidence_of(c: Change) -> str:
    """Arms by case; cells of the matrix by faults and operations, or by what those that changed have in common."""
    by_case: dict[str, list[str]] = defaultdict(list)
    cells = []
    for case, _, arm in (name.partition("/") for name in c["arms"]):
        if case.startswith(MATRIX):
            cells.append((case[len(MATRIX):], arm.partition(".")[0]))
        else:
            by_case[case].append(arm)
    parts = [f"{case}: {the_first(arms, 4)}" for case, arms in sorted(by_case.items())]
    if c["where"]:
        parts.insert(0, f"{c['of']} {c['where']}")
    elif cells:
        faults, operations = (the_first(sorted({cell[i] for cell in cells}), 5) for i in (0, 1))
        parts.insert(0, f"matrix: {operations} under {faults} ({text.plural(len(cells), 'cell')})")
    return "; ".join(parts)


def driver_words_of(c: Change) -> str:
    before, since = (str(said)[:100] + ("..." if len(said) > 100 else "") for said in (c["driver_before"], c["driver_since"]))
    if c["driver_before"] == c["driver_since"]:
        return since
    if not before:
        return f"with {c['at_latest']}: {since}"
    return f"{before} → {since}" if since else f"with {c['after']}: {before}"


class Page:
    """`width`: of a line of the tables in text."""

    def __init__(self, out: text.Output, markdown: bool, width: int) -> None:
        self.out, self.markdown, self.width = out, markdown, width

    def heading(self, title: str) -> None:
        self.out.print("\n" + text.heading(title, 2, self.markdown))

    def line(self, said: str) -> None:
        self.out.print(text.cell(said, self.markdown))

    def table(self, head: list[str], rows: list[list[str]]) -> None:
        self.out.table(head, rows, self.markdown, self.width)

    def entries(self, rows: list[list[str]]) -> None:
        """Each row in lines: its first three cells in one, and each other one that is not empty indented."""
        indent = 7
        for row in rows:
            self.line(f"{row[0]:>3}  {row[1]}  {row[2]}")
            for part in (part for said in row[3:] for part in text.wrapped(text.cell(said, False), self.width - indent) if part):
                self.out.print(" " * indent + part)
        self.out.print()


def print_releases(page: Page, report: Report) -> None:
    page.heading("By release")
    rows = []
    for r in report.said["releases"]:
        if report.release not in ("", r["release"]):
            continue
        changes = [i for i, c in enumerate(report.changes) if c["at_latest"] == r["release"]]
        shown = [i for i in changes if i not in report.left_out]
        count = text.plural(len(changes), "change") + (f", {len(shown)} shown" if len(shown) < len(changes) else "")
        rows.append([r["release"] + (" (doubtful)" if r["release"] in report.doubts else ""), *([r["cublas"]] if report.package else []), str(r["observed"]), f"{r['changed']} of {r['compared']}", f"{r['next_changed']} of {r['next_compared']}", count, numbers_of(shown)])
    page.line("An arm is compared with the nearest release before that observed it. Before a release comes the highest-numbered below it that was out: a later patch of "
              "another branch is none. A release that observed more arms than those before it shows changes of theirs, too: what the release before observed as well is counted apart.")
    page.line("")
    page.table(["release", *(["cuBLAS"] if report.package else []), "arms observed", "changed", "changed since the one before", "first seen in it", "numbers"], rows)


def print_files(page: Page, files: list[dict[str, Any]]) -> None:
    if not files:
        return
    rows = [[h["fact"], span(r["first"], r["last"]), r["words"]] for h in files if len(h["ranges"]) > 1 for r in h["ranges"]]
    never = [h["fact"] for h in files if len(h["ranges"]) < 2]
    page.heading("Facts of the files")
    page.line("A DT_RPATH comes before LD_LIBRARY_PATH, and a DT_RUNPATH after it: see ld.so(8). GPU code is that of the file that was read, from which code of "
              "other GPUs may have been removed before.")
    page.line("")
    if rows:
        page.table(["fact", "releases", "what it is"], rows)
    if never:
        page.line(f"The same in all that were read: {', '.join(never)}.")


def print_notes(page: Page, report: Report) -> None:
    if not report.notes:
        return
    page.heading("What NVIDIA's release notes say")
    for verdict, title in (("confirmed", "Confirmed by our arms"), ("seen_not_mended", "Seen, and not mended: our arms show what the note calls mended"), ("not_seen", "Not seen: our arms show otherwise"), ("not_tried", "Not tried here")):
        rows = []
        for n in report.notes:
            ours = n["ours"]
            if ours["verdict"] == verdict and n["release"].startswith(report.release):
                rows.append([n["release"], f"[{n['toolkit']}]({n['address']})" if page.markdown else n["address"], n["says"]])
                if ours.get("arms"):  # as all of this verdict
                    rows[-1] += [ours.get("why", ""), the_first(ours["arms"], 3), numbers_of(report.of_note(n))]
        if rows:
            page.line(f"{title}: {text.plural(len(rows), 'note')}.")
            page.line("")
            page.table(["release", "toolkit", "NVIDIA's note", "our records", "arms", "changes"][:len(rows[0])], rows)
    if not report.release:
        page.line(f"Changes of arms that no confirmed note names: {numbers_of(report.unmentioned())}.")


def print_changes(page: Page, report: Report, title: str, changes: list[tuple[int, Change]]) -> None:
    if not changes:
        return
    rows = []
    for i, c in changes:
        numbers = report.trackers_of(c) if report.package else []
        source = f"{'the arm is' if len(c['arms']) == 1 else 'the arms are'} from {', '.join(numbers)}" if numbers else ""
        rows.append([str(i + 1), releases_of(c), words_of(c), calls_of(c), text.plural(len(c["arms"]), "arm"), evidence_of(c), *([source] if report.package else []), driver_words_of(c)])
    page.heading(f"{title}: {text.plural(len(rows), 'change')}")
    if page.markdown:
        page.table(["", "releases", "what", "calls", "arms", "where", *(["tracker"] if report.package else []), "the driver's words"], rows)
    else:
        page.entries(rows)


def print_report(page: Page, report: Report) -> None:
    said, releases, product = report.said, report.said["releases"], report.product
    if len(releases) < 2:
        page.line(f"{said['gpu']}, driver {said['driver']}: one release of {product} is recorded, {releases[0]['release']}. Nothing is compared: a change needs two. "
                  f"`ci/campaign frameworks {report.package}==VERSION` records another.")
        return
    page.line(f"{said['gpu']}, driver {said['driver']}: {text.plural(len(releases), 'release')} of {product} from {releases[0]['release']} to "
              f"{releases[-1]['release']}. {text.plural(said['steady'], 'arm')} never changed.")
    shown = [(i, c) for i, c in enumerate(report.changes) if report.is_shown(i)]
    for harm, title in HARMS.items():
        print_changes(page, report, title, [(i, c) for i, c in shown if c["harm"] == harm and report.is_of_releases(c)])
    print_changes(page, report, "Not called a change of a release", [(i, c) for i, c in shown if not report.is_of_releases(c)])
    for release, doubts in report.doubts.items():
        page.line(f"- {release} is doubtful: {'; '.join(doubts)}.")
    if report.left_out:
        page.line(f"{len(report.left_out)} of {text.plural(len(report.changes), 'change')} left out, which have the fewest arms or made-up faults: "
                  "--release shows those of one release, and --json all.")
    print_releases(page, report)
    if said["by_cufault"]:
        page.line(f"Of {text.plural(len(said['by_cufault']), 'arm')} only what the case does is different, which is no change of {product}: "
                  f"{the_first(said['by_cufault'], 6)}.")
    if not report.release:
        print_files(page, said["files"])
    print_notes(page, report)


def sources_in(folders: list[str], family: str) -> dict[str, str]:
    """By CASE/ARM, of the table of this framework, which lies in one of them."""
    table = next((file for folder in folders if (file := Path(folder, f"{family}.json")).exists()), None)
    cases = json.loads(table.read_text())["cases"] if table else {}
    rows = [(case, row) for case, of in cases.items() for row in of["arms"] if "source" in row]
    return {f"{family}.{case}/{arm}": row["source"] for case, row in rows for arm in ([row["arm"]] if isinstance(row["arm"], str) else row["arm"])}


def main(asked_for: asked.Asked) -> int:
    release = asked_for.options.get("release", "")
    gpu = ["--gpu", asked_for.options["gpu"]] if "gpu" in asked_for.options else []
    package = asked_for.options.get("package", "")
    gpu += ["--framework", FAMILIES[package]] if package else []
    rows = subprocess.run([asked_for.file("program"), "release-changes", *gpu, *asked_for.names], capture_output=True, check=False, text=True, errors="replace")
    if rows.returncode:
        raise asked.Refused(rows.stderr.strip()[len("cufault: ") :], rows.returncode) if rows.stderr else asked.ended("release-changes", rows.returncode)
    said = json.loads(rows.stdout)
    names = [r["release"] for r in said["releases"]]
    if release and release not in names:
        raise asked.Refused(f"--release {release}: it is not in these records, which have {', '.join(names)}")
    notes, known = (json.loads(file.read_text()) if file.exists() else {} for file in map(asked_for.file, ("release_notes", "known_issues")))
    broken = [n["id"] for n in notes.get("notes", []) if not () < numbers_in(n.get("since", n["release"])) <= numbers_in(n["release"]) <= numbers_in(n.get("until", n["release"]))]
    if why := defect_of(known) or (f"the note {broken[0]}: since, release and until are no range of releases" if broken else ""):
        raise asked.Refused(asked.one_line(why))
    report = Report(said, [] if package else notes.get("notes", []), release, package, sources_in(asked_for.files["snippets"], FAMILIES[package]) if package else {})
    if asked_for.json:
        text.print_json(report.json(), 1)
        return 0
    if not release:
        named = {i for note in report.notes for i in report.of_note(note)}  # with what known issues cite
        for issue in known.get("issues", []):
            named |= set(report.changes_of([evidence["arm"] for evidence in issue.get("evidence", [])], issue.get("calls", [])))
        report.leave_out(MOST_CHANGES, named)
    print_report(Page(asked_for.out, asked_for.markdown, text.width_of_output()), report)
    return 0
