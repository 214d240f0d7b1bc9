# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Which release changed something: what repetitions of one release prove, which release to try next, and the report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

import text

GOOD, BAD, OTHER = "good", "bad", "other"
"""What a release is like: the good end of a bisection, its bad end, or neither, as with an unrelated failure."""
FIRST_COMPARISON = 6  # trials of each end, and then 12, 24 ...; two samples of 6 that share no outcome: p = 0.002


def chance_of_difference(hits: int, trials: int, other_hits: int, other_trials: int) -> float:
    """Fisher's exact test, two-sided: the probability that two samples of one rate differ at least as much."""
    all_hits, every = hits + other_hits, trials + other_trials
    ways = [math.comb(all_hits, k) * math.comb(every - all_hits, trials - k) for k in range(min(trials, all_hits) + 1)]
    return sum(w for w in ways if w <= ways[hits]) / math.comb(every, trials)


def _rate(hits: int, trials: int) -> float:
    return (hits + 1) / (trials + 2)


def _log_ratio(hits: int, trials: int, rate: float, other_rate: float) -> float:
    """Logarithm of how much more probable so many hits are at one rate than at another."""
    return hits * math.log(rate / other_rate) + (trials - hits) * math.log((1 - rate) / (1 - other_rate))


class ReleaseTest:
    """Decides releases by the outcomes at both ends. An outcome counts as bad if it was more frequent at the bad end, as good if it was not and was seen at an end, else as other. `error`: the probability of a wrong decision."""

    def __init__(self, good_end: Counter[str], bad_end: Counter[str], error: float):
        good, bad = sum(good_end.values()), sum(bad_end.values())
        self.outcomes = {o: BAD if bad_end[o] * good > good_end[o] * bad else GOOD for o in {**good_end, **bad_end}}
        hits_good, hits_bad = (sum(end[o] for o, like in self.outcomes.items() if like == BAD) for end in (good_end, bad_end))
        # Nearer to each other than measured, never further apart: else the error would be larger than it says.
        self.good_rate = max(_rate(hits_good, good), hits_good / good)
        self.bad_rate = min(_rate(hits_bad, bad), hits_bad / bad)
        self.other_rate, self.limit = _rate(0, min(good, bad)), math.log(1 / error)
        ways = 2 ** (len(self.outcomes) - 1) - 1
        self.chance = min(1.0, ways * chance_of_difference(hits_good, good, hits_bad, bad)) if ways else 1.0
        """The probability that ends which behave alike differ so much: Fisher's test, times the number of ways to divide the outcomes in two."""

    def likeness_of(self, outcome: str) -> str:
        return self.outcomes.get(outcome, OTHER)

    def decide(self, seen: Counter[str]) -> Optional[str]:
        """Two sequential probability ratio tests (Wald): whether half of the outcomes are other ones, or none; then between the rates of bad outcomes at the two ends. None: more trials are needed."""
        likes: Counter[str] = Counter()
        for outcome, trials in seen.items():
            likes[self.likeness_of(outcome)] += trials
        trials = sum(seen.values())
        for_other = _log_ratio(likes[OTHER], trials, max(0.5, self.other_rate), self.other_rate)
        if for_other >= self.limit:
            return OTHER
        for_bad = _log_ratio(likes[BAD], trials - likes[OTHER], self.bad_rate, self.good_rate)
        if for_other > 0 or abs(for_bad) < self.limit:
            return None
        return BAD if for_bad > 0 else GOOD


def error_of_comparison(number: int, of_bisection: float) -> float:
    """Half of the error, then a quarter, and so on: together no more than the error."""
    return math.ldexp(of_bisection, -number - 1)


class Bisection:
    """The search over releases in order, between an end that is good and one that is bad, whichever is older."""

    def __init__(self, good: int, bad: int):
        self.good, self.bad, self.decisions = good, bad, 0
        self.skipped: set[int] = set()

    @property
    def mended(self) -> bool:
        return self.bad < self.good

    def between(self) -> range:
        """All skipped, once the search is over."""
        return range(min(self.good, self.bad) + 1, max(self.good, self.bad))

    def next(self) -> Optional[int]:
        """The release nearest to the middle that was not tried. None: the search is over."""
        middle = (self.good + self.bad) // 2
        return min((i for i in self.between() if i not in self.skipped), key=lambda i: abs(i - middle), default=None)

    def add(self, release: int, like: Optional[str]) -> None:
        """None, and OTHER: it says nothing of the change, and is skipped."""
        if like in (None, OTHER):
            self.skipped.add(release)
            return
        self.decisions += 1
        if like == GOOD:
            self.good = release
        else:
            self.bad = release


@dataclass
class Tried:
    """What one release came to. `why`: of one that is skipped or undecided. `unmet`: "triton==3.8.0: 3.6.0 is installed", of what a package pins."""

    name: str = ""
    version: str = ""
    build_id: str = ""
    result: str = ""
    outcomes: Counter[str] = field(default_factory=Counter)
    why: str = ""
    seconds: float = 0.0
    unmet: list[str] = field(default_factory=list)


class Change(NamedTuple):
    """`between`: releases that say nothing. `decisions`: that the answer rests on, the ends' comparison included. `said`: line(), where it is no line of releases."""

    mended: bool
    good: str
    bad: str
    between: list[str]
    decisions: int
    said: str = ""

    def line(self) -> str:
        if self.said:
            return self.said
        if not self.between:
            return f"MENDED: {self.good} is the first good release, {self.bad} the last bad one" if self.mended else f"BROKE: {self.bad} is the first bad release, {self.good} the last good one"
        good, bad = f"{self.good} (the {'first' if self.mended else 'last'} good)", f"{self.bad} (the {'last' if self.mended else 'first'} bad)"
        between = f"{bad} and {good}" if self.mended else f"{good} and {bad}"
        return f"{'MENDED' if self.mended else 'BROKE'} between {between}: {', '.join(self.between)} could not be decided"


def words_of(outcomes: Counter[str]) -> str:
    """"exit 3", or "5: exit 3 | 1: exit 0": the most frequent first."""
    shown = [(n, o.replace("CUBLAS_STATUS_", "")) for o, n in sorted(outcomes.items(), key=lambda item: (-item[1], item[0]))]
    return " | ".join(o if len(shown) == 1 else f"{n}: {o}" for n, o in shown)


def _in_order(members: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(members.items()))


@dataclass
class Report:
    """All that a bisection came to: for the ticket. `what`: CASE/ARM, or the command as words of a shell. `origin`: of the releases. `once`: one trial decides, and no error is stated."""

    what: str
    is_arm: bool
    origin: str
    repeat: str
    once: bool
    error: float
    cufault: str = ""
    gpu: str = ""
    driver: str = ""
    runtime: str = ""
    releases: list[Tried] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    reasons: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)  # members of JSON that a bisection of cuBLAS does not have

    def print(self, out: text.Output, markdown: bool) -> None:
        def known(said: str) -> str:
            return said or "not known"

        said = f"Each decision is wrong with a probability of at most {100 * self.error:.3g} %"
        for c in self.changes:
            said += f"; {'MENDED' if c.mended else 'BROKE'} rests on {text.plural(c.decisions, 'decision')}: at most {min(100, 100 * self.error * c.decisions):.3g} %"
        if self.once:
            said = "This arm is not listed as racing: one run decides a release, and no error is stated." if self.is_arm else "One run decides a release (--once): no error is stated."
        mixed = [f"{r.name} ran without what it pins: {', '.join(r.unmet)}" for r in self.releases if r.unmet and any(r.name in (c.good, c.bad) for c in self.changes)]
        machine = f"GPU {known(self.gpu)}, driver {known(self.driver)}, CUDA runtime {known(self.runtime)}; cufault {self.cufault}; releases from {self.origin}"
        out.print(text.heading(f"cufault bisect: {self.what}", 2, markdown))
        for paragraph in [machine, *(change.line() for change in self.changes), *mixed, said]:
            out.print(text.cell(paragraph, markdown) + ("\n" if markdown else ""))
        rows = [[r.name, known(r.version), known(r.build_id), r.result, str(sum(r.outcomes.values())), r.why or words_of(r.outcomes)] for r in self.releases]
        table = text.table_lines(["release", "library says", "build id", "result", "trials", "outcome"], rows, markdown)
        out.print("\n".join(table if markdown else ["", *table]))
        out.print(text.cell(f"Repeat: {self.repeat}", markdown) + ("\n" if markdown else ""))

    def json(self) -> dict[str, Any]:
        """reports/schemas/bisection.schema.json"""
        changes = [
            _in_order({
                **({} if self.once else {"error": min(1.0, self.error * c.decisions)}), "between": c.between, "change": "mended" if c.mended else "broke", "decisions": c.decisions,
                **({"first_good": c.good, "last_bad": c.bad} if c.mended else {"last_good": c.good, "first_bad": c.bad}),
            }) for c in self.changes
        ]  # fmt: skip
        releases = [
            {"build_id": r.build_id, "outcomes": _in_order(r.outcomes), "release": r.name, "result": r.result, "seconds": r.seconds, "trials": sum(r.outcomes.values()), "version": r.version, "why": r.why, **({"unmet": r.unmet} if r.unmet else {})}
            for r in self.releases
        ]  # fmt: skip
        what = {"arm" if self.is_arm else "command": self.what, "from": self.origin, "repeat": self.repeat, "error": None if self.once else self.error}
        machine = {"cufault": self.cufault, "driver": self.driver, "gpu": self.gpu, "runtime": self.runtime}
        return _in_order({"schema": 1, **machine, **what, "releases": releases, "changes": changes, "reasons": self.reasons, **self.more})
