# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault cost: what remedies cost in time and device memory, from the records of remedy_cost."""
from __future__ import annotations

import csv
import html
import json
import math
import sys
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import asked
import text

NOT_MEASURED = """\
Not measured yet: no record of what remedies cost is here.
To measure on a GPU, in about two minutes: build/bin/remedy_cost --out cost.jsonl; then: cufault cost cost.jsonl
reports/recorded/STACK/cost.jsonl is what tables and pages read.
"""
EXIT_SKIPPED, SCHEMA = 77, 1
TIMED = ("measured", "inside the noise")  # verdicts
# NVIDIA H200 and H100 Tensor Core GPU datasheets, SXM: rates of the tensor cores are given there with sparsity, and are half of that without.
TERA_OPERATIONS = {"fp32": 67, "tf32": 494.5, "fp16": 989.5, "bf16": 989.5, "fp8": 1979, "int8": 1979}
PEAKS = {"NVIDIA H200": (4.8e12, "NVIDIA H200 Tensor Core GPU datasheet, H200 SXM; tensor cores without sparsity"),
         "NVIDIA H100 80GB HBM3": (3.35e12, "NVIDIA H100 Tensor Core GPU datasheet, H100 SXM; tensor cores without sparsity")}
WIDTH, REMEDIES_WIDTH, MEMORY_WIDTH, LINE, HEAD = 960, 250, 150, 18, 44  # of the picture
PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="What remedies cost">
<style>text{{font:12px sans-serif;fill:#222}}.tick{{stroke:#ddd}}.one{{stroke:#666}}.n line{{stroke:#aaa}}.n circle{{fill:#aaa}}\
.s line{{stroke:#b2182b}}.s circle{{fill:#b2182b}}.f line{{stroke:#2166ac}}.f circle{{fill:#2166ac}}</style>
<rect width="100%" height="100%" fill="#fff"/>
{2}</svg>
"""

Cost = dict[str, Any]  # a row of the table costs, with "peak": what a call takes at least, and which part of that rate the work came to


def with_peak(c: Cost, gpu: str | None) -> Cost:
    """A call takes as long as its arithmetic, or its operands once from memory."""
    c = {key: json.loads(c[key]) if c[key] and key in ("without_ms", "control", "with_ms", "ratio") else c[key] for key in c.keys()}
    rate = TERA_OPERATIONS.get(c["type"] or "")
    known = gpu in PEAKS and rate and c["without_ms"] and (c["operations"] > 0 or c["bytes"] > 0)
    least = 1000 * max(c["operations"] / (rate * 1e12), c["bytes"] / PEAKS[gpu or ""][0]) if known and rate else 0
    return {**c, "peak": (least, least / c["without_ms"]["median"]) if known else None}


def is_slow(c: Cost) -> bool:
    """Of work that takes long enough for the launch of a kernel not to count."""
    return c["peak"] is not None and c["peak"][0] >= 0.01 and c["peak"][1] < 0.5


def exact_time(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds:.2f} ms" if milliseconds >= 1 else f"{milliseconds * 1000:.1f} us"


def ratio_text(ratio: float) -> str:
    """ "+3.1 %", "-5.0 %", "91 times" """
    if ratio >= 3:
        return f"{ratio:.{1 if ratio < 9.95 else 0}f} times"
    percent = (ratio - 1) * 100
    return f"{'' if ratio < 1 else '+'}{percent:.{1 if abs(percent) < 9.95 else 0}f} %"


def bytes_text(count: int) -> str:
    """ "64 MiB", "-2.5 GiB", "0" """
    if abs(count) >= 1 << 30:
        return f"{count / (1 << 30):.1f} GiB"
    if abs(count) >= 1 << 20:
        return f"{count / (1 << 20):.0f} MiB"
    return f"{count / 1024:.0f} KiB" if abs(count) >= 1024 else f"{count} bytes" if count else "0"


def estimate(e: dict[str, float]) -> str:
    """ "+3.1 % (+2.8 % to +3.4 %)" """
    return f"{ratio_text(e['median'])} ({ratio_text(e['low'])} to {ratio_text(e['high'])})"


def result(c: Cost) -> str:
    if c["verdict"] in ("not measured", "wrong numbers"):
        return str(c["verdict"]) + (f": {c['why']}" if c["why"] else "")
    return ("" if c["verdict"] == "measured" else f"{c['verdict']}: ") + estimate(c["ratio"])


def spread(values: Iterable[Any], shown: Callable[[Any], str]) -> str:
    """Of the least and the greatest."""
    all_values = [v for v in values if v is not None]
    return " to ".join(dict.fromkeys([shown(min(all_values)), shown(max(all_values))])) if all_values else ""


def by_remedy(costs: list[Cost]) -> list[tuple[str, list[Cost]]]:
    return [(remedy, [c for c in costs if c["remedy"] == remedy]) for remedy in sorted({c["remedy"] for c in costs})]


def summary(costs: list[Cost]) -> list[list[str]]:
    rows = [["remedy", "what is done", "kinds of work", "time, outside the noise", "inside the noise", "device memory", "others"]]
    for remedy, works in by_remedy(costs):
        verdicts, timed = [c["verdict"] for c in works], [c for c in works if c["verdict"] in TIMED]
        others = [(verdicts.count("wrong numbers"), "with wrong numbers"), (len(works) - len(timed) - verdicts.count("wrong numbers"), "not measured")]
        rows.append([remedy, works[0]["words"], str(len(timed)), spread((c["ratio"]["median"] for c in works if c["verdict"] == "measured"), ratio_text),
                     str(verdicts.count("inside the noise")), spread((c["more_bytes"] for c in timed), bytes_text), ", ".join(f"{n} {what}" for n, what in others if n)])
    return rows


def each_work(costs: list[Cost]) -> list[list[str]]:
    return [["work", "remedy", "without it", "time with it", "control", "device memory", "of peak"],
            *([c["work"], c["remedy"], f"{exact_time(c['without_ms']['median'])}, {c['clock'] or ''}", result(c), estimate(c["control"]) + (", unsteady" if c["unsteady"] else ""),
               spread([c["more_bytes"]], bytes_text), f"{c['peak'][1] * 100:.0f} %{', slow' if is_slow(c) else ''}" if c["peak"] else ""] for c in costs)]


def print_list(printed: asked.Asked, title: str, lines: Iterable[str]) -> None:
    if shown := [text.cell(line, printed.markdown) for line in lines]:
        printed.out.print(title + (":\n" if printed.markdown else ":"))
        for line in shown:
            printed.out.print(("- " if printed.markdown else "  ") + line)
        printed.out.print()


def print_run(printed: asked.Asked, run: dict[str, Any], all_work: bool) -> None:
    printed.out.print(text.heading(run["stack"], 3, printed.markdown))
    notes = [f"{run['started']}, commit {run['commit_id']}{' (modified)' if run['modified'] else ''}, seed {run['seed']}"]
    if run["size"] == "tiny":
        notes.append("made with --tiny: shapes of a test; its figures mean nothing")
    if not run["complete"]:
        notes.append("the run did not come to its end: what it measured before is here")
    peak = f"of peak: arithmetic and memory bandwidth by the {PEAKS[run['gpu']][1]}" if run["gpu"] in PEAKS else f"no peak is known of {run['gpu'] or 'this GPU'}"
    print_list(printed, "The run", [*notes, peak])
    for head, *rows in [summary(run["costs"]), each_work(run["costs"])][:all_work + 1 if run["costs"] else 0]:
        printed.out.table(head, rows, printed.markdown, text.width_of_output())
    works = {c["work"]: c for c in run["costs"]}.values()
    print_list(printed, "Slow without any remedy, so that what a remedy adds looks small",
               (f"{c['work']}: {c['peak'][1] * 100:.0f} % of the peak, {exact_time(c['without_ms']['median'])} and not {exact_time(c['peak'][0])}" for c in works if is_slow(c)))
    print_list(printed, "Unsteady: the work differs from itself, which the noise of the table takes in",
               (f"{c['work']}: {estimate(c['control'])}" for c in works if c["unsteady"]))
    print_list(printed, "Not measured", (f"{c['work']}: {c['why']}" for c in run["failed"]))


def print_csv(runs: list[dict[str, Any]]) -> None:
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow("stack,started,work,remedy,clock,rounds,without_ms,with_ms,ratio,low,high,coverage,control,control_low,control_high,verdict,more_bytes,"
                   "part_of_peak,words,why,complete".split(","))
    for run in runs:
        for c in run["costs"]:
            timed = [c["with_ms"]["median"], *c["ratio"].values()] if c["ratio"] else [""] * 5
            numbers = [n if n == "" else f"{n:.6g}" for n in (c["without_ms"]["median"], *timed, *list(c["control"].values())[:3])]
            lines.writerow([run["stack"], run["started"], c["work"], c["remedy"], c["clock"], c["rounds"], *numbers, c["verdict"], c["more_bytes"],
                            f"{c['peak'][1]:.3f}" if c["peak"] else "", c["words"], c["why"], "yes" if run["complete"] else "no"])


def as_json(runs: list[dict[str, Any]]) -> dict[str, Any]:
    def of(c: Cost) -> Cost:
        one = {**{key: c[key] for key in ("work", "work_words", "remedy", "words")}, "clock": c["clock"] or "", **{key: c[key] for key in ("verdict", "without_ms", "control")},
               **({"unsteady": True} if c["unsteady"] else {}), **{key: c[key] for key in (("with_ms", "ratio", "rounds") if c["ratio"] else ("why",))}}
        if c["more_bytes"] is not None:
            one["more_bytes"] = c["more_bytes"]
        return {**one, "peak_ms": c["peak"][0], "part_of_peak": c["peak"][1], **({"slow": True} if is_slow(c) else {})} if c["peak"] else one

    return {"schema": SCHEMA, "stacks": [
        {"stack": run["stack"], "started": run["started"], "commit": run["commit_id"], "seed": int(run["seed"]), "size": run["size"], "complete": bool(run["complete"]),
         **({"peaks": PEAKS[run["gpu"]][1]} if run["gpu"] in PEAKS else {}), "costs": list(map(of, run["costs"])),
         "not_measured": [{"work": c["work"], "why": c["why"]} for c in run["failed"]]} for run in runs]}


def svg_text(x: float, y: float, anchor: str, said: str, most: int = 40) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text.beginning_of(said, most))}</text>\n'


def svg_of_run(run: dict[str, Any], y: float) -> tuple[str, float]:
    """For each remedy its time relative to the work without it, on each kind of work; and where the drawing ends."""
    rows = by_remedy([c for c in run["costs"] if c["verdict"] in TIMED])
    medians = [c["ratio"]["median"] for _, works in rows for c in works]
    least, most = min([0.5, *(m / 1.2 for m in medians)]), max([2.0, *(m * 1.2 for m in medians)])

    def at(ratio: float) -> float:
        """On a logarithmic scale."""
        return REMEDIES_WIDTH + math.log(min(max(ratio, least), most) / least) / math.log(most / least) * (WIDTH - REMEDIES_WIDTH - MEMORY_WIDTH)

    tiny = " (--tiny: figures mean nothing)" if run["size"] == "tiny" else ""
    body = svg_text(8, y + 16, "start", run["stack"] + tiny + ("" if run["complete"] else " (the run did not come to its end)"), 120)
    top, bottom, tick = y + HEAD, y + HEAD + LINE * len(rows), 1 / 1024
    while tick <= most:
        if tick >= least:
            body += f'<line class="{"one" if tick == 1 else "tick"}" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{top - 6:.1f}" y2="{bottom:.1f}"/>\n'
            body += svg_text(at(tick), top - 10, "middle", f"{tick:.0f}x" if tick >= 1 else f"1/{1 / tick:.0f}")
        tick *= 4 if most / least > 64 else 2
    body += svg_text(WIDTH - 8, top - 10, "end", "device memory")
    for line, (remedy, works) in enumerate(rows):
        at_y = top + LINE / 2 + LINE * line
        body += svg_text(REMEDIES_WIDTH - 10, at_y + 4, "end", remedy)
        for c in works:
            title = f"{c['work']}: {estimate(c['ratio'])}{', inside the noise' if c['verdict'] == TIMED[1] else ''}"
            x, low, high = (at(c["ratio"][key]) for key in ("median", "low", "high"))
            body += (f'<g class="{"n" if c["verdict"] == TIMED[1] else "s" if c["ratio"]["median"] > 1 else "f"}"><title>{html.escape(title)}</title>'
                     f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{at_y:.1f}" y2="{at_y:.1f}"/><circle cx="{x:.1f}" cy="{at_y:.1f}" r="3"/></g>\n')
        body += svg_text(WIDTH - 8, at_y + 4, "end", spread((c["more_bytes"] for c in works), bytes_text))
    return body, bottom + 24


def svg(runs: list[dict[str, Any]]) -> str:
    if not runs:
        return PICTURE.format(WIDTH, 32, svg_text(8, 20, "start", "What remedies cost: not measured yet.", 60))
    body, y = "", 0.0
    for run in runs:
        drawn, y = svg_of_run(run, y)
        body += drawn
    said = "Time with a remedy by time without it, a dot for each kind of work; lines: 95 % intervals; grey: inside the noise; logarithmic."
    return PICTURE.format(WIDTH, y + 16, body + svg_text(8, y + 4, "start", said, 160))


def main(asked_for: asked.Asked) -> int:
    form = "json" if asked_for.json else asked_for.options.get("format", "text")
    database = asked_for.database(only="costs")
    runs = [dict(run) for run in database.execute("SELECT * FROM cost_runs")]
    if not runs and form != "svg":
        sys.stdout.write(NOT_MEASURED)
        return EXIT_SKIPPED
    for run in runs:
        costs = [with_peak(c, run["gpu"]) for c in database.execute("SELECT * FROM costs WHERE run = ?", (run["run"],))]
        run["costs"], run["failed"] = [c for c in costs if c["remedy"]], [c for c in costs if not c["remedy"]]
    if remedy := asked_for.options.get("remedy"):
        names = sorted({c["remedy"] for run in runs for c in run["costs"]})
        for run in runs:
            run["costs"], run["failed"] = [c for c in run["costs"] if fnmatchcase(c["remedy"], remedy)], []
        if runs and not any(run["costs"] for run in runs):
            raise asked.Refused(f"--remedy {remedy}: none of these records has it{asked.did_you_mean(remedy, names)}; remedies: {', '.join(names)}")
        runs = [run for run in runs if run["costs"]]
    if form == "csv":
        print_csv(runs)
    elif form == "json":
        text.print_json(as_json(runs), 1)
    elif form == "svg":
        sys.stdout.write(svg(runs))
    else:
        for run in runs:
            print_run(asked_for, run, bool(remedy or "all" in asked_for.options))
    return 0
