# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault causes --page and --pages: pages of messages, and which there are."""
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asked
import text
from known_issues import numbers_of

if TYPE_CHECKING:
    from sqlite3 import Connection

MOST_CALLS, MOST_DIFFERENCES, MOST_SAYINGS = 8, 8, 5
NOT_MEASURED = "not measured yet"
SUCCESS = ("CUBLAS_STATUS_SUCCESS", "cudaSuccess", "CUDA_SUCCESS", "RIGHT_NUMBERS")
# Of nature, and without a race.
CALLS = """
FROM judged_arms JOIN stacks USING (stack_id) JOIN trials USING (arm_id) JOIN made_calls USING (arm_id, trial)
WHERE kind = 'fault' AND counterpart_of IS NULL AND NOT made_up AND races IS NULL AND comparable AND swept IS NULL"""


class Writer:
    """Prints a page as Markdown, or as text whose lines keep to a width."""

    def __init__(self, asked_for: asked.Asked) -> None:
        self.out = asked_for.out
        self.markdown = asked_for.markdown
        self.width = text.width_of_output()

    def code(self, said: str) -> str:
        return said if not self.markdown else f"`` {said} ``" if "`" in said else f"`{said}`"

    def heading(self, said: str) -> None:
        self.out.print(text.heading(said, 2, self.markdown))

    def line(self, label: str, said: str) -> None:
        """Wrapped text stands beside the label."""
        for part in [said] if self.markdown else text.wrapped(said, self.width - len(label)):
            self.out.print(label + part if part else "")
            label = " " * len(label)

    def paragraph(self, said: str) -> None:
        self.line("", said)
        self.out.print()

    def table(self, head: list[str], rows: list[list[str]]) -> None:
        self.out.print("\n".join(text.table_lines(head, rows, self.markdown, self.width)))


def listed(each: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c" """
    *others, last = list(each) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def range_of(versions: list[str]) -> str:
    """ "12.0.1 to 13.10.0" """
    return listed(versions) if len(versions) < 3 else f"{versions[0]} to {versions[-1]}"


def marked_code(folders: list[str], name: str, which: str) -> tuple[str, str]:
    """What a page shows of a snippet's source, what stands between `[NAME WHICH]` and `[end]`: its language, and its lines."""
    mark = f" [{name} {which}]"
    for file in [file for folder in folders for file in sorted(Path(folder).glob("*")) if file.is_file()]:
        lines = file.read_text(encoding="utf-8").splitlines()
        begin = next((i for i, line in enumerate(lines) if line.endswith(mark)), None)
        if begin is None:
            continue
        end = next((i for i, line in enumerate(lines[begin:], begin) if line.endswith(" [end]")), None)
        if end is None:
            raise asked.Refused(f"{file}: no [end] behind {mark[1:]}")
        indent = len(lines[begin]) - len(lines[begin].lstrip(" "))
        return "python" if file.suffix == ".py" else "cpp", "".join(line[indent:] + "\n" for line in lines[begin + 1:end])
    raise asked.Refused(f"{', '.join(folders)}: no source has the mark {mark[1:]}")


class Pages:
    def __init__(self, asked_for: asked.Asked) -> None:
        folder = asked_for.file("explain")
        self.to = Writer(asked_for)
        self.pages: list[dict[str, Any]] = json.loads((folder / "pages.json").read_text(encoding="utf-8"))["pages"]
        self.errors: list[dict[str, Any]] = json.loads((folder / "errors.json").read_text(encoding="utf-8"))["errors"]
        self.names: dict[str, str] = {also: e["name"] for e in self.errors for also in e.get("also", [])}
        self.snippets: list[str] = asked_for.files["snippets"]

    def name_of(self, status: str) -> str:
        return self.names.get(status, status)

    def take_steps(self, database: Connection) -> None:
        """Of each step the call, what a log names, the variant, and what it returned as records spell it."""
        self.made: dict[int, tuple[str, str, str | None, str]] = {}
        for s in database.execute("SELECT step_id, api, variant, status, numbers, facts FROM steps"):
            raw = "WRONG_NUMBERS" if s["status"] in SUCCESS and s["numbers"] == "wrong" else s["status"] or ""
            named = json.loads(s["facts"]).get("named_call", s["api"]) if s["facts"] and "named_call" in s["facts"] else s["api"]
            self.made[s["step_id"]] = (s["api"], named, s["variant"], raw)

    def print(self, name: str, database: Connection) -> None:
        to, page = self.to, next(p for p in self.pages if p["name"] == name)
        texts, framework, status = page.get("texts", []), page.get("framework", ""), page["status"]
        self.calls = {row[0] for row in database.execute("SELECT api FROM page_calls WHERE page = ?", (name,))} if "call" in page else None
        steps, spelt = self.steps_of(database, status)
        if not to.markdown:
            to.paragraph(texts[0] if texts else status)
        to.paragraph(page.get("says", ""))
        to.heading("What you see")
        self.print_seen(page, steps)
        to.heading("What had happened before")
        causes = database.execute("SELECT * FROM page_causes WHERE page = ?", (name,)).fetchall()
        if causes:
            self.print_causes(database, status, [dict(c) for c in causes])
        else:
            to.paragraph("No cause of it is known.")
        if "snippet" in page:
            self.print_code(database, page, any(arm == page["snippet"] for arm, *_ in steps))
        # A page of a framework about no call would repeat that of its status.
        repeats = framework and "call" not in page
        if not repeats:
            self.print_differences(steps)
            self.print_driver(database, status)
        to.heading("More")
        of_status = next((p["name"] for p in self.pages if p["status"] == status and "call" not in p and "framework" not in p), None)
        if repeats and of_status:
            where = f"[{to.code(status)}]({of_status}.md)" if to.markdown else f"cufault causes --page {of_status}"
            to.line("", f"Its status, with the driver's words, versions and code where there are: {where}.")
        if texts:
            to.line("", to.code("cufault explain") + " with your program's output ranks these causes by it.")
        if framework:
            return
        if spelt:
            command = f"cufault causes {status if status in spelt else min(spelt)} --all"
            to.line("", f"{to.code(command)}: each recorded way, and each remedy that was tried.")
        elif not any(c["returned"] for c in causes):
            to.line("", "No record has a call that returned it.")

    def is_of_call(self, call: str) -> bool:
        """Whether a page about one call is about this one: by its name or its family."""
        return self.calls is None or call in self.calls

    def steps_of(self, database: Connection, status: str) -> tuple[dict[tuple[Any, ...], dict[str, set[str]]], set[str]]:
        """Calls that returned the status: (CASE/ARM, level, call, what a log names, variant, GPU) -> version of cuBLAS -> what it returned. And how
        records spell it."""
        having = [step for step, (*_, raw) in self.made.items() if self.name_of(raw) == status]
        wanted = f"step_id IN ({', '.join(map(str, having))})"
        spelt = {self.made[row[0]][3] for row in database.execute(f"SELECT DISTINCT step_id {CALLS} AND {wanted}")}
        arms = f"(case_name, arm) IN (SELECT DISTINCT case_name, arm {CALLS} AND {wanted})"
        steps: dict[tuple[Any, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for row in database.execute(f"SELECT DISTINCT case_name || '/' || arm, trials.level, step_id, gpu, cublas {CALLS} AND {arms}"):
            api, named, variant, raw = self.made[row[2]]
            if self.is_of_call(named):
                steps[row[0], row[1], api, named, variant, row[3]][row[4] or ""].add(self.name_of(raw))
        return {step: versions for step, versions in steps.items() if any(status in returned for returned in versions.values())}, spelt

    def print_seen(self, page: dict[str, Any], steps: Iterable[tuple[Any, ...]]) -> None:
        shown = [self.to.code(said.replace("*", "...")) for said in page.get("texts", [])]
        for e in self.errors if "framework" not in page else []:
            if e["name"] == page["status"]:
                shown += [self.to.code(said.replace("*", "...")) for said in [e["name"], *(said for key in ("also", "texts", "common_texts", "short_texts") for said in e.get(key, []))]]
                shown += [f"its number: {e['code']}"] if e.get("code") else []
        for said in dict.fromkeys(shown):
            self.to.line("- ", said)
        self.to.out.print()
        arms: dict[str, set[str]] = defaultdict(set)
        for arm, _, api, *_ in steps:
            if not api.startswith(("load.", "check.")):  # before a program calls anything
                arms[api].add(arm)
        if arms and ("framework" not in page or "call" in page):
            names = [self.to.code(api) for api in sorted(sorted(arms), key=lambda api: -len(arms[api]))]
            more = f" and {len(names) - MOST_CALLS} more calls" if len(names) > MOST_CALLS else ""
            self.to.paragraph(f"Recorded from {', '.join(names[:MOST_CALLS])}{more}{'; those of most arms come first' if len(names) > 1 else ''}.")

    def print_causes(self, database: Connection, status: str, causes: list[dict[str, Any]]) -> None:
        to, call = self.to, causes[0]["call"]
        stacks = {stack for c in causes for stack in json.loads(c["stacks"])}
        of = to.code(status) if status.startswith(("CUBLAS_", "cuda")) else "this message"  # records have names of their own for what no library returns
        family = f" from {to.code(call)} or a call of its family" if call else ""
        to.line("", f"Causes of {of}{family}: the frequent ones, by documents and reports, come first.{'' if stacks else ' No record shows it.'}")
        if stacks:
            rows = [row for row in database.execute("SELECT stack, gpu, driver, cublas FROM stacks") if row["stack"] in stacks]
            gpus, drivers, versions = ({row[key] for row in rows if row[key] is not None} for key in ("gpu", "driver", "cublas"))
            parts = [listed(sorted(gpus)), *(["driver " + listed(sorted(drivers))] if drivers else []),
                     *(["cuBLAS " + range_of(sorted(versions, key=numbers_of))] if versions else [])]
            to.line("", f"Trials are of cases, without cells of the matrix, on {text.plural(len(stacks), 'stack')}: {', '.join(parts)}. "
                        "A remedy was tried on stacks of its cause.")
        to.out.print()
        bold = "**" if to.markdown else ""
        for number, c in enumerate(causes, 1):
            to.line(f"{number}. ", bold + text.cell(c["text"], to.markdown) + bold)
            for head, said in json.loads(c["said"]):
                to.line(f"   - *{head}:* " if to.markdown else f"   {head:<16}", text.cell(said, to.markdown))
        to.out.print()

    def measured(self, database: Connection, arm: str) -> str:
        """What records say of an arm, or how to record it."""
        seen: dict[str, set[str]] = defaultdict(set)
        for a in database.execute("SELECT * FROM arms WHERE case_name = ? AND arm = ? AND trials > 0", arm.split("/", 1)):
            lost = database.execute("SELECT ended, why FROM trials WHERE arm_id = ? AND NOT comparable", (a["arm_id"],)).fetchone()
            many = f"{a['trials']} of {a['trials']}: " if a["races"] and a["outcomes"] == 1 else ""
            seen[f"{lost['ended']}: {lost['why'] or 'no reason was given'}" if lost else many + a["saw"]].add(a["stack"])
        if not seen:
            return f"{NOT_MEASURED}: {self.to.code('cufault run ' + arm)}"
        return "; ".join(f"measured on {text.plural(len(stacks), 'stack')}: {self.to.code(what)}" for what, stacks in sorted(seen.items()))

    def print_code(self, database: Connection, page: dict[str, Any], is_shown: bool) -> None:
        to, snippet = self.to, page["snippet"]
        for title, which, arm in (("Code that fails", "fails", snippet), ("The same code, corrected", "corrected", snippet + "_corrected")):
            language, code = marked_code(self.snippets, snippet.partition("/")[2], which)
            seen = self.measured(database, arm)
            is_measured = not seen.startswith(NOT_MEASURED)
            if is_measured and which == "fails" and "framework" not in page and not is_shown:
                raise asked.Refused(f"{arm}: its records do not show {page['status']}, of which its page is")
            to.heading(title if is_measured else f"{title}, {NOT_MEASURED}")
            if to.markdown:
                to.out.print(f"```{language}\n{code}```")
            else:
                for line in code.splitlines():
                    to.line("  ", line)
            to.out.print()
            to.paragraph(f"{to.code(arm)}: {seen}.")

    def print_differences(self, steps: dict[tuple[Any, ...], dict[str, set[str]]]) -> None:
        """Calls that return the status with one version of cuBLAS and something else with another, where the same arm ran with both."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        alike: set[str] = set()
        for (arm, level, api, *_), versions in steps.items():
            if len(versions) < 2:
                continue
            if len(set(map(frozenset, versions.values()))) == 1:
                alike.add(arm)
                continue
            parts: list[tuple[str, list[str]]] = []
            for version in sorted(versions, key=numbers_of):
                said = " or ".join(s.removeprefix("CUBLAS_STATUS_") or "did not return" for s in sorted(versions[version]))
                if not parts or parts[-1][0] != said:
                    parts.append((said, []))
                parts[-1][1].append(version)
            found[api, "; ".join(f"{range_of(of)}: {said}" for said, of in parts)].add(arm + (f" at level {level}" if level is not None else ""))
        if found or alike:
            self.to.heading("Versions in which it differs")
        if alike and not found:
            arms = "one arm that shows it ran" if len(alike) == 1 else f"{len(alike)} arms that show it ran"
            self.to.paragraph(f"None: {arms} with several versions of cuBLAS, each with one result.")
        rows = [[*what, str(len(arms)), min(arms)] for what, arms in sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))]
        if rows:
            self.to.table(["call", "what it returns, by recorded version of cuBLAS", "arms", "for example"], rows[:MOST_DIFFERENCES])
        if len(rows) > MOST_DIFFERENCES:
            self.to.paragraph(f"And {len(rows) - MOST_DIFFERENCES} more: {self.to.code('cufault history matrix')}.")

    def print_driver(self, database: Connection, status: str) -> None:
        rows = []
        # A message without a call of the driver is no reason of a failure.
        for s in database.execute("SELECT * FROM driver_sayings WHERE function != '' AND code != ''"):
            calls = [(times, call) for behind, times in json.loads(s["behind"]).items() for call, _, returned in [behind.partition(": ")]
                     if self.name_of(returned) == status and self.is_of_call(call)]
            if calls:
                most = max(calls, key=lambda call: call[0])[1]
                said = f"{s['function']}: {s['code']}" + (f" ({s['text']})" if s["text"] else "")
                rows.append([said, most + (f" and {len(calls) - 1} more" if len(calls) > 1 else ""), sum(times for times, _ in calls)])
        if rows:
            self.to.heading("The driver's words")
            shown = sorted(rows, key=lambda row: -row[2])[:MOST_SAYINGS]
            self.to.table(["the driver said", "behind", "failed calls"], [[said, behind, str(failed)] for said, behind, failed in shown])


def main(asked_for: asked.Asked) -> int:
    if "page" in asked_for.options and not text.terminal_width():
        asked_for.markdown = True
    pages = Pages(asked_for)
    if "pages" in asked_for.options:
        rows = [[f"[{p['name']}](messages/{p['name']}.md)" if asked_for.markdown else p["name"], pages.to.code(p.get("texts", [p["status"]])[0])] for p in pages.pages]
        pages.to.table(["page", "what is printed"], rows)
        return 0
    database = asked_for.database(asked_for.names[1:])
    pages.take_steps(database)
    names = asked_for.names[0].split(",")
    for name in names:
        if asked_for.markdown and len(names) > 1:
            print(f"<!-- page {name} -->")
        pages.print(name, database)
    return 0
