# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault history: what each arm came to in each run, in an SQLite database.

Of an arm with levels the results in the order of levels are kept, and not where the edges between them lie: `gate` compares those. Measurements are not
kept. A file that is no history, is damaged, or was made by a newer cufault is refused in one line, and left as it is."""
from __future__ import annotations

import fnmatch
import json
import math
import os
import re
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import asked
import store  # then: it says where sqlite3 is not there
import text
from bisection import chance_of_difference
import sqlite3

APPLICATION, SCHEMA = 0x63756674, 1  # "cuft"; a history of another schema is refused: nothing is converted
# As SQLite keeps it: a file with other tables is not ours.
TABLES = (
    "CREATE TABLE stack(id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE run(id INTEGER PRIMARY KEY, stack INTEGER NOT NULL, started TEXT NOT NULL, seed TEXT NOT NULL,\n"
    " made_by TEXT NOT NULL, UNIQUE(stack, started, seed, made_by)) STRICT",
    "CREATE TABLE arm(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE seen(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT",
    "CREATE TABLE result(arm INTEGER NOT NULL, run INTEGER NOT NULL, seen INTEGER NOT NULL, trials INTEGER NOT NULL,\n"
    " races INTEGER NOT NULL, PRIMARY KEY(arm, run, seen)) STRICT, WITHOUT ROWID")
RUNS_THAT_HEAL = 20  # the least runs by which an arm that races may be taken for one that does not, or for one of another rate
LEAST_TAIL = 0.001  # a rate counts as changed if a difference at least as large has a smaller probability


class History:
    """The file. What is wrong with it is asked.Refused, in one line that begins with its name."""

    def __init__(self, file: str, adds: bool) -> None:
        self.file = file
        if sqlite3.sqlite_version_info < (3, 37):
            raise asked.Refused(f"history needs SQLite 3.37 or newer, and this Python has {sqlite3.sqlite_version}; set CUFAULT_PYTHON to another one")
        path = Path(file)
        if adds and not path.exists():
            self._make(path)
        if not path.exists():
            self.fail("there is no such file")
        if path.is_file() and path.stat().st_size == 0:
            self.fail("is empty: no history of cufault; name another file")
        with self.explained():
            # Readers open for writing, too: only then SQLite rolls back what a killed writer left in its journal.
            self.database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=60, isolation_level=None)
            self.database.text_factory = lambda value: value.decode(errors="replace")
            self.run("PRAGMA trusted_schema = OFF")  # what a foreign file defines is not run
            if not adds:
                self.run("PRAGMA query_only = ON")
            self._check()

    def _make(self, path: Path) -> None:
        """Whole beside it, and then linked: nobody ever sees a half-made one, and a file of that name is never replaced."""
        made = Path(f"{path}.new-{os.getpid()}")
        try:
            made.unlink(missing_ok=True)
            with closing(sqlite3.connect(made)) as database:
                database.executescript(f"PRAGMA application_id={APPLICATION}; PRAGMA user_version={SCHEMA}; BEGIN; {'; '.join(TABLES)}; COMMIT;")
            try:
                os.link(made, path)
            except FileExistsError:  # another one made it
                pass
        except (OSError, sqlite3.Error) as error:
            self.fail(f"cannot be made ({getattr(error, 'strerror', None) or error})")
        finally:
            made.unlink(missing_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _check(self) -> None:
        said = {name: self.run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")}
        if said["application_id"] != APPLICATION:
            self.fail("is no history of cufault; name another file")
        version = said["user_version"]
        if version > SCHEMA:
            self.fail(f"made by a newer cufault: schema {version}, and this one reads {SCHEMA}; update cufault")
        if version < SCHEMA:
            self.corrupted(f"schema {version}")
        quick = self.run("PRAGMA quick_check(1)").fetchone()[0]
        if quick != "ok":
            self.corrupted(quick)
        found = {row[0] for row in self.run("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
        if found - set(TABLES):
            self.fail("has tables that no cufault made; name another file")
        if set(TABLES) - found:
            self.corrupted("a table is missing")

    def fail(self, what: str) -> NoReturn:
        raise asked.Refused(f"{self.file}: {' '.join(what.split())}")

    def corrupted(self, why: str) -> NoReturn:
        self.fail(f"is corrupted ({why}); restore it from a backup")

    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            said = str(error)
            if "locked" in said:
                self.fail("another process is writing it; try again when it has ended")
            if "not a database" in said:
                self.fail("is no SQLite database; nothing was written")
            if "malformed" in said:
                self.corrupted(said)
            if re.search("unable to open|readonly|permission", said):
                self.fail(f"cannot be opened or written ({said})")
            self.fail(said)

    def run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        return self.database.execute(sql, values)

    def id_of(self, table: str, **row: Any) -> tuple[int, bool]:
        """Of the row with these values, and whether it was added."""
        found = self.run(f"SELECT id FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in row)}", *row.values()).fetchone()
        if found:
            return int(found[0]), False
        return int(self.run(f"INSERT INTO {table}({', '.join(row)}) VALUES({', '.join('?' * len(row))})", *row.values()).lastrowid or 0), True

    def add(self, stack: str, arms: list[Any]) -> tuple[int, int, int]:
        """All of a record or, where it fails, nothing. Returns how many runs and arms were not there, and how many arms were. Runs are told apart by stack,
        start, seed and commit. Fails where an arm of a run is there with another result. Waits for another writer."""
        runs: dict[tuple[str, str, str], int] = {}
        new_runs = new_arms = known = 0
        with self.explained():
            self.run("BEGIN IMMEDIATE")
            try:
                of, _ = self.id_of("stack", keys=stack)
                for arm, started, seed, made_by, races, results in arms:
                    run = runs.get((started, seed, made_by))
                    if run is None:
                        run, is_new = self.id_of("run", stack=of, started=started, seed=seed, made_by=made_by)
                        runs[started, seed, made_by] = run
                        new_runs += is_new
                    name, _ = self.id_of("arm", name=arm)
                    now: dict[int, int] = defaultdict(int)
                    for digest, words, trials in results:
                        found = self.run("SELECT id FROM seen WHERE digest = ?", digest).fetchone()
                        now[found[0] if found else self.id_of("seen", digest=digest, text=words)[0]] += trials
                    before = dict(self.run("SELECT seen, trials FROM result WHERE arm = ? AND run = ?", name, run).fetchall())
                    if before and before != now:
                        self.fail(f"{arm} of the run of {started} is there with another result; the record was changed after it was added, "
                                  "and nothing of it was added now")
                    if before:
                        known += 1
                        continue
                    self.database.executemany("INSERT INTO result(arm, run, seen, trials, races) VALUES(?, ?, ?, ?, ?)",
                                              [(name, run, seen, trials, races) for seen, trials in now.items()])
                    new_arms += 1
                self.run("COMMIT" if new_arms else "ROLLBACK")  # that nothing was added leaves no trace
            finally:
                if self.database.in_transaction:
                    self.run("ROLLBACK")
        return new_runs, new_arms, known


@dataclass
class Result:
    """Of an arm on a stack."""

    id: int
    seen: str
    runs: int
    trials: int
    first: str  # when the first and the last of these runs started
    last: str


@dataclass
class Entry:
    """An arm on one stack."""

    stack: int
    races: bool = False  # its outcome may differ from trial to trial
    runs: int = 0  # that observed it
    results: list[Result] = field(default_factory=list)  # the most frequent first
    samples: dict[str, dict[int, int]] = field(default_factory=dict)  # of an arm that races: by start of the run, the trials of each result
    nearest: int | None = None  # of the entries in front of it, the one whose stack is nearest
    changed: bool = False  # it shows something else than that one

    def flakes(self) -> int:
        """Runs that did not show what most of them did. 0 of an arm that races: there the trials of each result are its rate."""
        return 0 if self.races else self.runs - min(self.runs, self.results[0].runs)


@dataclass
class Arm:
    name: str
    entries: list[Entry]  # in the order of stacks; never empty
    since: int = 0  # index in entries: what it is on the last one is the same back to here


@dataclass
class View:
    stacks: list[dict[str, Any]] = field(default_factory=list)
    arms: list[Arm] = field(default_factory=list)  # by name
    proposals: list[dict[str, Any]] = field(default_factory=list)
    runs: int = 0
    first: str = ""
    last: str = ""


def order_of(stack: dict[str, Any]) -> list[str]:
    """Architecture, driver, cuBLAS, cuBLASLt, runtime, GPU and the other keys: versions number by number."""
    def sortable(version: str) -> str:
        return re.sub("[0-9]+", lambda digits: chr(min(len(digits[0].lstrip("0") or "0"), 127)) + (digits[0].lstrip("0") or "0"), version)
    first = ("compute_capability", "driver", "cublas", "cublaslt", "runtime")
    rest = [part for key, value in sorted(stack["keys"].items()) if key not in first for part in (key, sortable(value))]
    return [*(sortable(stack["keys"].get(key, "")) for key in first), stack["gpu"], *rest]


def read_stacks(history: History) -> list[dict[str, Any]]:
    stacks = []
    for row, said in history.run("SELECT id, keys FROM stack"):
        try:
            stack = json.loads(said)
            stacks.append({"id": row, "gpu": stack["gpu"] + "", "keys": {key: value + "" for key, value in stack["keys"].items()}, "runs": 0})
        except (ValueError, TypeError, KeyError, AttributeError):
            history.corrupted(f"stack {row} is not as cufault writes it")
    return sorted(stacks, key=order_of)


def view_of(history: History, program: Path, patterns: list[str]) -> View:
    """Of arms whose name matches one of the patterns (CASE/ARM, where * is anything), or of all where there are none."""
    view = View()
    with history.explained():
        history.run("BEGIN")  # one state of it, also while another process writes
        view.stacks = read_stacks(history)
        places = {stack["id"]: place for place, stack in enumerate(view.stacks)}
        started: dict[int, tuple[int, str]] = {}
        for run, stack, start in history.run("SELECT id, stack, started FROM run"):
            if stack not in places:
                history.corrupted("a row is missing")
            started[run] = places[stack], start
            view.stacks[places[stack]]["runs"] += 1
        view.runs = len(started)
        view.first, view.last = (min(s for _, s in started.values()), max(s for _, s in started.values())) if started else ("", "")
        names = {row: name for row, name in history.run("SELECT id, name FROM arm") if not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns)}
        texts = dict(history.run("SELECT id, text FROM seen").fetchall())
        for arm, name in names.items():  # of all arms at once it would sort all results
            entries: dict[int, Entry] = {}
            racing = False
            for stack, seen, runs, trials, first, last, races in history.run("""SELECT run.stack, seen, count(*), sum(max(trials, 0)), min(started), max(started),
                    sum(races != 0) FROM result LEFT JOIN run ON run.id = run WHERE arm = ? GROUP BY run.stack, seen""", arm):
                if stack not in places or seen not in texts:
                    history.corrupted("a row is missing")
                entry = entries.setdefault(places[stack], Entry(places[stack]))
                entry.results.append(Result(seen, texts[seen], runs, trials, first, last))
                entry.races = entry.races or races > 0
                entry.runs += runs - races
                racing = racing or races > 0
            if racing:  # several results may be of one run
                samples = [(*started[run], run, seen, trials) for run, seen, trials in history.run(
                    "SELECT run, seen, max(trials, 0) FROM result WHERE arm = ? AND races != 0", arm)]
                for place, _ in {(place, run) for place, _, run, _, _ in samples}:
                    entries[place].runs += 1
                for place, start, _, seen, trials in sorted(samples, key=lambda sample: sample[1]):
                    at = entries[place].samples.setdefault(start, {})
                    at[seen] = at.get(seen, 0) + trials
            if entries:
                view.arms.append(Arm(name, [entry for _, entry in sorted(entries.items())]))
        history.run("COMMIT")
    view.arms.sort(key=lambda arm: arm.name)
    compare_with_nearest(view, program)
    return view


def compare_with_nearest(view: View, program: Path) -> None:
    asked_of = json.dumps([{"keys": stack["keys"], "gpu": stack["gpu"]} for stack in view.stacks])
    said = json.loads(subprocess.run([program, "rows", "--distances"], input=asked_of, stdout=subprocess.PIPE, check=True, text=True).stdout)
    for stack, label in zip(view.stacks, said["labels"]):
        stack["label"] = label
    for arm in view.arms:
        away = said["distances"].get(arm.name.partition(".")[0], said["distances"][""])
        for i, entry in enumerate(arm.entries):
            entry.results.sort(key=lambda r: (-r.runs, -r.trials, r.seen))
            least = math.inf
            for j, before in enumerate(arm.entries[:i]):
                far = away[entry.stack][before.stack]
                if (math.inf if far is None else far) <= least:
                    least, entry.nearest = math.inf if far is None else far, j
            entry.changed = entry.nearest is not None and not alike(arm.entries[entry.nearest], entry)
            if entry.races:
                propose(view, arm, entry)
        arm.since = len(arm.entries) - 1
        while (nearest := arm.entries[arm.since].nearest) is not None and not arm.entries[arm.since].changed:
            arm.since = nearest


def alike(a: Entry, b: Entry) -> bool:
    """Do two stacks show the same? Where the arm races, if they share a result; else if most runs do."""
    if not a.races and not b.races:
        return a.results[0].id == b.results[0].id
    return bool({r.id for r in a.results} & {r.id for r in b.results})


def propose(view: View, arm: Arm, entry: Entry) -> None:
    """What the latest runs of an arm that races say of how it is recorded: all showed the same, or their rate differs from that of the runs before."""
    runs = list(reversed(entry.samples.items()))
    if len(runs) < RUNS_THAT_HEAL:
        return
    seen = next(iter(runs[0][1]))
    steady = next((i for i, (_, trials) in enumerate(runs) if list(trials) != [seen]), len(runs))
    latest = max(RUNS_THAT_HEAL, steady)
    now, before = ({r.id: sum(trials.get(r.id, 0) for _, trials in part) for r in entry.results} for part in (runs[:latest], runs[latest:]))
    all_now, all_before = sum(now.values()), sum(before.values())
    for result in entry.results:
        heals = steady >= RUNS_THAT_HEAL and result.id == seen
        moved = steady < RUNS_THAT_HEAL and all_before > 0 and chance_of_difference(now[result.id], all_now, before[result.id], all_before) < LEAST_TAIL
        if heals or moved:
            view.proposals.append({"arm": arm.name, "stack": entry.stack, "steady": heals, "runs": latest, "first": runs[latest - 1][0], "last": runs[0][0],
                                   "seen": result.seen, "trials": {"now": [now[result.id], all_now], "before": [before[result.id], all_before]}})
            return


def json_of(view: View) -> dict[str, Any]:
    def entry_of(arm: Arm, entry: Entry) -> dict[str, Any]:
        results = [{"seen": r.seen, "runs": r.runs, "trials": r.trials, "first": r.first, "last": r.last} for r in entry.results]
        return {"stack": entry.stack, "runs": entry.runs, "races": entry.races, "flakes": entry.flakes(), "changed": entry.changed,
                "compared_with": None if entry.nearest is None else arm.entries[entry.nearest].stack, "results": results}
    return {"schema": 1, "runs": view.runs, "first": view.first, "last": view.last, "proposals": view.proposals,
            "stacks": [{name: stack[name] for name in ("label", "gpu", "keys", "runs")} for stack in view.stacks],
            "arms": [{"arm": arm.name, "since": arm.entries[arm.since].stack, "stacks": [entry_of(arm, e) for e in arm.entries]} for arm in view.arms]}


def trends_of(view: View) -> dict[str, Any]:
    """For `cufault report`: arms that did not always show the same, on each stack and over all. Those that race, if their rate changed."""
    moved = {(p["arm"], p["stack"]) for p in view.proposals}
    found = []
    for arm in view.arms:
        joined: dict[int, Result] = {}
        for entry in arm.entries:
            for r in entry.results:
                known = joined.get(r.id)
                joined[r.id] = r if known is None else Result(r.id, known.seen, known.runs + r.runs, 0, min(known.first, r.first), max(known.last, r.last))
            if not entry.races or (arm.name, entry.stack) in moved:
                how = "races" if entry.races else f"{entry.flakes()} of {entry.runs} runs differ"
                found.append((arm.name, view.stacks[entry.stack]["label"], how, False, entry.results))
        found.append((arm.name, text.plural(len(arm.entries), "stack"), "changed since the last green run", True,
                      sorted((joined[key] for key in sorted(joined)), key=lambda r: -r.runs)))
    found = sorted((one for one in found if len(one[4]) > 1), key=lambda one: max(r.first for r in one[4]), reverse=True)
    return {"runs": view.runs, "first": view.first, "last": view.last,
            "arms": [{"name": name, "on": on, "how": how, "on_all": on_all, "results": [vars(r) for r in results]} for name, on, how, on_all, results in found]}


def seen_on(entry: Entry) -> str:
    """What an arm shows on a stack; where it varies, each result with its share."""
    if len(entry.results) == 1:
        return entry.results[0].seen
    trials = sum(r.trials for r in entry.results)
    return " | ".join(f"{r.trials} of {trials} trials: {r.seen}" if entry.races else f"{r.runs} of {entry.runs} runs: {r.seen}" for r in entry.results)


def line_of(p: dict[str, Any]) -> str:
    (now, all_now), (before, all_before) = p["trials"]["now"], p["trials"]["before"]
    shared = f"all {now}" if p["steady"] else f"{now} of {all_now}"
    was = f"; {before} of {all_before} before" if all_before else ""
    return f"{p['arm']} on {text.letter_of(p['stack'])}, {text.plural(p['runs'], 'run')} from {p['first'][:10]} to {p['last'][:10]}: {shared} trials{was}: {p['seen']}"


def print_view(out: text.Output, markdown: bool, view: View, in_detail: bool) -> None:
    """Since which stack each arm is what it is, and how often it flakes. Not in detail: arms that are the same on all stacks and never flake are counted."""
    def table(title: str, head: list[str], rows: list[list[str]]) -> None:
        out.print(f"\n### {title}\n" if markdown else f"\n{title}:")
        for line in text.table_lines(head, rows, markdown)[:-1]:
            out.print(line)

    line = f"{text.plural(view.runs, 'run')} on {text.plural(len(view.stacks), 'stack')}, from {view.first} to {view.last}"
    out.print(f"## cufault history\n\n- {line}" if markdown else line)
    table("Stacks, in the order of architecture, driver, cuBLAS and the rest", ["", "runs", "stack"],
          [[text.letter_of(i), str(stack["runs"]), stack["label"]] for i, stack in enumerate(view.stacks)])
    rows = []
    steady = single = 0
    for arm in view.arms:
        flakes = sum(entry.flakes() for entry in arm.entries)
        if in_detail:
            for i, e in enumerate(arm.entries):
                other = f" (not as {text.letter_of(arm.entries[e.nearest].stack)})" if e.changed and e.nearest is not None else ""
                rows.append([arm.name if i == 0 else "", text.letter_of(e.stack) + other, str(e.runs),
                             "races" if e.races else f"{e.flakes()} of {e.runs}", seen_on(e)])
        elif flakes or any(entry.changed for entry in arm.entries):
            now = arm.entries[-1]
            which = " (the only one)" if len(arm.entries) == 1 else " (the first)" if arm.since == 0 else ""
            rows.append([arm.name, text.letter_of(arm.entries[arm.since].stack) + which,
                         "races" if now.races else f"{flakes} of {sum(e.runs for e in arm.entries)}", seen_on(now)])
        elif len(arm.entries) > 1:
            steady += 1
        else:
            single += 1
    if rows and in_detail:
        table("Arms", ["arm", "stack", "runs", "flakes", "what was seen"], rows)
    elif rows:
        table("Arms that changed between stacks, or flake", ["arm", "since", "flakes", "what it is"], rows)
    for is_steady, what in ((True, "steady since"), (False, "of another rate since")):
        lines = [line_of(p) for p in view.proposals if p["steady"] == is_steady]
        if lines:
            title = f"Recorded as racing, and {what}: file a fresh record (cufault baseline add RECORD CASE/ARM)"
            out.print(f"\n### {title}\n" if markdown else f"\n{title}.")
            for line in lines:
                out.print(("- " if markdown else "  ") + text.cell(line, markdown))
    out.print("\n" + text.plural(len(view.arms), "arm") + ("" if in_detail else
              f": {len(rows)} changed or flake, {steady} the same on all stacks that observed them, {single} observed on one stack only"))


def add(asked_for: asked.Asked, file: str) -> int:
    history: History | None = None  # opened, or made, with the first record: who ends this while it is read leaves none
    total = [0, 0, 0]
    failed = False

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise asked.Refused(f"interrupted; {text.plural(total[0], 'run')} added to {file}", 128 + number)
    rows = subprocess.Popen([asked_for.file("program"), "rows", "--runs", *asked_for.names[1:]], stdout=subprocess.PIPE)
    assert rows.stdout is not None
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    try:
        said: dict[str, str] = {}
        arms: list[Any] = []
        for line in map(json.loads, rows.stdout):
            if isinstance(line, dict):
                said, arms = line, []
            elif line is not None:
                arms.append(line)
            else:
                history = history or History(file, True)
                try:
                    total = [had + more for had, more in zip(total, history.add(said["stack"], arms))]
                except asked.Refused as error:
                    if error.code != 2:
                        raise
                    failed = True
                    asked.say(f"cufault: {text.cell(said['record'] + ': ' + str(error), False)}")
        code = rows.wait()
    finally:
        rows.kill()
        rows.wait()
    if history is None and code:
        raise asked.ended("rows", code)
    asked_for.out.print(f"{file}: added {text.plural(total[1], 'arm')} in {text.plural(total[0], 'run')}; {total[2]} already there")
    if code < 0:
        raise asked.ended("rows", code)
    return 2 if failed else code


def main(asked_for: asked.Asked) -> int:
    file = asked_for.names[0]
    patterns = asked_for.names[1:]
    if asked_for.command == "add":
        return add(asked_for, file)
    history = History(file, False)
    view = view_of(history, asked_for.file("program"), patterns)
    if "trends" in asked_for.options:
        text.print_json(trends_of(view), None)
        return 0
    if view.runs == 0:
        raise asked.Refused(f"{file} has no run: `cufault history add {file} RECORD` adds them")
    if patterns and not view.arms:
        known = [name for name, in history.run("SELECT name FROM arm")]
        raise asked.Refused(f"{file} has no arm {' or '.join(patterns)}{asked.did_you_mean(patterns[0], known)}")
    if asked_for.json:
        text.print_json(json_of(view), sort_keys=True)
    else:
        print_view(asked_for.out, asked_for.markdown, view, bool(patterns))
    return 0
