# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What is known to be wrong in the cuBLAS that this process uses, and in the PyTorch, Triton, JAX and CuPy that it has imported.

A framework checks at its import, and neither loads a library nor starts CUDA by that::

    import cufault.known
    cufault.known.check()  # warns of wrong numbers that were measured or documented for this version on these GPUs

`cufault known` prints the same list, and says where each entry comes from. In the source this is reports/answers/known_issues.py, whose rule says which
versions an entry concerns; `python3 known_issues.py FILE` prints the table of <cufault/known_issues.hpp>, which has the rule's answers.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import json
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

PACKAGES = ("nvidia-cublas", "nvidia-cublas-cu12")
LIBRARIES = {"cublas": "cuBLAS", "cublaslt": "cuBLASLt", "torch": "PyTorch", "triton": "Triton", "jax": "JAX", "cupy": "CuPy"}
"""Their names, by the word in the list. A version of cuBLAS is one of cuBLASLt, too."""
FAMILIES = {"torch": "pytorch", "triton": "pytorch", "jax": "jax", "cupy": "cupy"}
"""Keys of stacks, and families of cases, whose process has the library."""
LEVELS = ("measured", "documented", "likely_affected", "reported", "affected_elsewhere", "not_measured")
"""likely_affected: between two affected releases of which one follows the other. affected_elsewhere: measured with this version on another GPU, and not on this one."""
REACHES = ("any", "heuristic", "forced_algorithm", "refused_call")


class KnownIssueWarning(UserWarning):
    """The cuBLAS of this process, or a framework in it, has a known issue."""


class Issue(NamedTuple):
    """An entry, and how it concerns the version that was asked for: one of LEVELS."""

    id: str
    level: str
    harm: str
    what: str
    workarounds: list[str]
    addresses: list[str]
    calls: list[str]
    """Functions that it concerns; empty: not known."""
    reach: str
    """"heuristic": by what the heuristic proposes; "forced_algorithm": only by an algorithm chosen by hand; "refused_call": only by a call that other releases refuse; else "any"."""


Entry = dict[str, Any]
HARMS = ("wrong_numbers", "crash", "hang", "worse_status", "other")
"""The worst first."""


def _file() -> Path:
    """Of the package, of an installed tree, or of the source."""
    given, here = os.environ.get("CUFAULT_KNOWN_ISSUES"), Path(__file__).resolve().parent
    places = [here / "share/cufault", here.parent, here.parent.parent / "cases"]
    return Path(given) if given else next((p / "known_issues.json" for p in places if (p / "known_issues.json").exists()), places[0] / "known_issues.json")


def numbers_of(version: str) -> tuple[int, ...]:
    """13, 1, 0 of "13.1.0" and of "13.1.0.3", whose fourth number a library does not tell; empty of what is no version."""
    found = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]{1,9})?", version)
    return tuple(map(int, found.groups())) if found else ()


def defect_of(known: dict[str, Any]) -> str:
    """Why nothing can be told by this list: a release or a range that is none; empty where nothing is wrong."""
    for r in known.get("releases", []):
        if not numbers_of(r.get("release", "")) or not re.fullmatch(r"\d{4}-\d\d-\d\d", r.get("date", "")):
            return f"a release without a number or a date: {json.dumps(r)}"
    for entry in known.get("issues", []):
        for r in entry.get("ranges", []):
            every = [numbers_of(str(v)) for v in (r.get("from"), *r.get("before", []), *([r["to"]] if "to" in r else []))]
            if () in every or min(every) < every[0] or every[0] in every[1 : 1 + len(r.get("before", []))]:
                return f"{entry['id']}: a range without a beginning, or that ends before it: {json.dumps(r)}"
    return ""


def is_of(entry: Entry, library: str) -> bool:
    return bool(entry["library"] == library or (library == "cublas" and entry["library"] == "cublaslt"))


def states(measured: dict[str, list[str]]) -> list[tuple[str, bool]]:
    """Measured versions in order, and whether each is affected."""
    return sorted(((v, state == "affected") for state in ("affected", "not_affected") for v in measured[state]), key=lambda s: numbers_of(s[0]))


Numbers = tuple[int, ...]


@functools.lru_cache(maxsize=None)
def came_out() -> dict[Numbers, str]:
    """When each release of cuBLAS came, by all its numbers, and the first of those with the same three by these."""
    dates: dict[Numbers, str] = {}
    for r in json.loads(_file().read_text()).get("releases", []) if _file().exists() else ():
        every = tuple(map(int, r["release"].split(".")))
        for numbers in (every, every[:3]):
            dates[numbers] = min(r["date"], dates.get(numbers, r["date"]))
    return dates


def release_before(numbers: Numbers, releases: Iterable[Numbers]) -> Optional[Numbers]:
    """The one of these that a release follows: the highest-numbered below it that was out when it came. So 13.0.0 follows 12.9.1, and not the later 12.9.3.
    What is not listed came last."""
    dates = came_out()
    return max((r for r in releases if r < numbers and dates.get(r, "9") <= dates.get(numbers, "9")), default=None)


@functools.lru_cache(maxsize=None)
def _before(numbers: Numbers) -> Optional[Numbers]:
    return release_before(numbers, [r for r in came_out() if len(r) == 3])


@functools.lru_cache(maxsize=None)
def _line(numbers: Numbers) -> frozenset[Numbers]:
    """A release, and all that it follows."""
    before = _before(numbers)
    return frozenset({numbers}) | (_line(before) if before else frozenset())


def within(span: dict[str, Any], numbers: Numbers, of_cublas: bool = True) -> bool:
    """Whether a version lies in a range: from its first release to `to`, and before it follows one that mends it. A later patch of another branch mends nothing."""
    mended = [numbers_of(v) for v in span.get("before", [])]
    listed = came_out() if of_cublas else ()
    ended = any(v in _line(numbers[:3]) if v in listed else v <= numbers for v in mended)
    return numbers_of(span["from"]) <= numbers <= numbers_of(span.get("to", "999999999.0.0")) and not ended


def way_between(one: Numbers, other: Numbers) -> list[Numbers]:
    """Releases of cuBLAS by three numbers, each beside one that it follows or that follows it; empty where none leads from one to the other."""
    ends = []
    for at in (one[:3], other[:3]):
        ends.append([at])
        while before := _before(ends[-1][-1]):
            ends[-1].append(before)
    meet = next((n for n in ends[0] if n in ends[1]), None)
    return ends[0][: ends[0].index(meet) + 1] + ends[1][: ends[1].index(meet)][::-1] if meet else []


def measured_before(version: str, measured: Collection[Numbers], of_cublas: bool = True) -> Optional[Numbers]:
    """The nearest that it follows."""
    numbers: Optional[Numbers] = numbers_of(version)
    if not of_cublas:
        return max((m for m in measured if numbers is not None and m < numbers), default=None)
    while numbers := _before(numbers):
        if numbers in measured:
            break
    return numbers


def workaround(way: dict[str, str]) -> str:
    """Says so where no arm proves it."""
    return way["text"] + ("" if "arm" in way else " (not measured)")


def said_by(entry: Entry, span: dict[str, Any]) -> str:
    return str(span.get("by", "reported" if entry["sort"] == "reported" else "documented"))


def _is_named(entry: Entry, architecture: str) -> bool:
    named = entry.get("architectures", [])
    return not architecture or not named or bool({architecture, architecture.split(".")[0] + ".x"} & {*named})


def _seen(entry: Entry, architecture: str) -> dict[Numbers, tuple[bool, str]]:
    """Releases of which an architecture's measurements tell, or else sources: whether each is affected, and how to say it."""
    of_cublas, seen = is_of(entry, "cublas"), dict[Numbers, tuple[bool, str]]()
    for r in entry.get("ranges", []) if _is_named(entry, architecture) else []:
        named = {*map(numbers_of, (r["from"], r.get("to", r["from"]))), *(n for n in came_out() if of_cublas and len(n) == 3)}
        mended = {numbers_of(v) for v in r.get("before", [])} - {n for n, (affected, _) in seen.items() if affected}
        for numbers, affected in [*((n, False) for n in mended), *((n, True) for n in named if within(r, n, of_cublas))]:
            seen[numbers] = affected, f"{'.'.join(map(str, numbers))} ({'affected' if affected else 'mended'}, {said_by(entry, r)})"
    seen.update({numbers_of(v): (is_affected, f"{v} ({'affected' if is_affected else 'not affected'})") for v, is_affected in states(entry.get("measured", {}).get(architecture, NOTHING))})
    return seen


NOTHING: dict[str, list[str]] = {"affected": [], "not_affected": []}


def _nearest(entry: Entry, architecture: str, asked: Numbers) -> tuple[bool, bool, str]:
    """Whether the nearest release before a version and one behind it are affected, and where it lies among them."""
    of_cublas, seen, version = is_of(entry, "cublas"), _seen(entry, architecture), ".".join(map(str, asked))
    if asked in seen:
        return False, False, seen[asked][1]
    before = measured_before(version, seen, of_cublas)
    with_it = {*seen, asked}
    behind = sorted((not seen[n][0], n) for n in seen if n > asked and measured_before(".".join(map(str, n)), with_it, of_cublas) == asked)
    if not before and not behind and asked not in came_out():  # older than all that are listed
        behind = [(not seen[n][0], n) for n in sorted(seen) if n > asked]
    near = [seen[n] for n in (before, *(n for _, n in behind[:1])) if n]
    words = [text for _, text in near]
    where = f"between {words[0]} and {words[1]}" if before and behind else f"{'newer' if before else 'older'} than {words[0]}" if words else "none that it follows was measured"
    return bool(before) and near[0][0], bool(behind) and near[-1][0], where


def _is_among_affected(entry: Entry, architecture: str, asked: Numbers) -> bool:
    """Whether the releases that were measured next below and next above are both affected."""
    for of, there in entry.get("measured", {}).items():
        below = [is_affected for v, is_affected in states(there) if numbers_of(v) < asked]
        above = [is_affected for v, is_affected in states(there) if numbers_of(v) > asked]
        if architecture in ("", of) and below and above and below[-1] and above[0]:
            return True
    return False


def concern(entry: Entry, version: str, architecture: str) -> Optional[tuple[str, str]]:
    """THE RULE: what an entry says of a version on a compute capability (empty: any): one of LEVELS, and why; None: nothing."""
    measured, asked = entry.get("measured", {}), numbers_of(version)
    same = [(v, a, state == "affected") for a, m in measured.items() for state in m for v in m[state] if numbers_of(v) == asked]
    here = [of for of in same if architecture in ("", of[1])]
    if on := [(v, a) for v, a, affected in here if affected]:
        return "measured", f"measured with {on[-1][0]} on {', '.join(a for _, a in on)}"
    told = {said_by(entry, r) for r in entry.get("ranges", []) if _is_named(entry, architecture) and within(r, asked, is_of(entry, "cublas"))}
    if told and not (here and architecture and entry["sort"] == "measured"):
        there = {architecture: measured[architecture]} if architecture in measured else measured
        few = {a: ", ".join(m["affected"]) if len(m["affected"]) < 4 else f"{len(m['affected'])} releases" for a, m in there.items() if m["affected"]}
        seen = "; ".join(f"measured with {releases} on {a}" for a, releases in few.items())
        tried = "; ".join(f"tried with {v} on {a} and not seen" for v, a, _ in here)
        by = " and ".join({"documented": "documented by NVIDIA", "reported": "reported by users"}[of] for of in sorted(told))
        level = "likely_affected" if min(told) == "reported" and _is_among_affected(entry, architecture, asked) else min(told)
        return level, f"{by}; {tried or seen or 'not tried with this version'}"
    places = {a: _nearest(entry, a, asked) for a in ([architecture] if architecture else measured or [""])}
    if between := [f"{where}{f' on {a}' if a else ''}" for a, (before, behind, where) in places.items() if before and behind]:
        return "likely_affected", f"not measured; {'; '.join(between)}"
    if not here and (on := [(v, a) for v, a, affected in same if affected]):
        return "affected_elsewhere", f"measured with {on[-1][0]} on {', '.join(a for _, a in on)}"
    if architecture not in measured and not _seen(entry, architecture):
        places = {a: _nearest(entry, a, asked) for a in measured}
        if architecture and (between := [f"{where} on {a}" for a, (before, behind, where) in places.items() if before and behind]):
            return "affected_elsewhere", f"likely: {'; '.join(between)}"
    if open_end := [where for a, (before, _, where) in places.items() if before and a not in measured and entry["sort"] != "reported"]:
        return "not_measured", f"not measured; {open_end[0]}, and no note calls it mended"
    shown = {a: p for a, p in places.items() if measured.get(a, NOTHING)["affected"]}
    elsewhere = f" on {architecture}" if architecture and architecture not in measured else ""
    near = "; ".join(f"{where}{f' on {a}' if a else ''}" for a, (_, _, where) in shown.items())
    return ("not_measured", f"not measured{elsewhere}: {near}") if any(before or behind for before, behind, _ in shown.values()) else None


class Found(NamedTuple):
    """An entry of the list, and how it concerns the version that was asked for."""

    entry: Entry
    level: str
    because: str


def found_issues(entries: Iterable[Entry], version: str, architecture: str = "", library: str = "cublas") -> list[Found]:
    """Of a version of this library. Worst harm first; of one harm what is measured first. What is affected elsewhere, and what is not measured, comes last."""
    said = [(entry, concern(entry, version, architecture)) for entry in entries if is_of(entry, library)]
    found = [Found(entry, *about) for entry, about in said if about]
    return sorted(found, key=lambda f: (max(LEVELS.index(f.level), 3), HARMS.index(f.entry["harm"]), LEVELS.index(f.level)))


def architecture_of(gpus: dict[str, str], name: str) -> str:
    """"9.0" of "9.0", and of a name that has a known one in it: "NVIDIA H200"; empty where it is not known."""
    if re.fullmatch(r"[1-9][0-9]?\.[0-9]", name):
        return name
    words = f" {name.lower().replace('-', ' ')} "
    return next((architecture for gpu, architecture in gpus.items() if f" {gpu.lower()} " in words), "")


def issues(version: str, architecture: str = "", library: str = "cublas") -> list[Issue]:
    """Of a version ("13.1.0", or "13.1.0.3") on a compute capability ("9.0"; empty: any). `library`: "cublas" with cuBLASLt, "torch", "triton", "jax" or "cupy". Raises ValueError for what is no version."""
    if not numbers_of(version):
        raise ValueError(f"{version!r} is no version of {LIBRARIES[library]}; one is {'13.1.0' if library == 'cublas' else '2.11.0'}")
    found = []
    for entry in json.loads(_file().read_text())["issues"]:
        if is_of(entry, library) and (about := concern(entry, version, architecture)):
            ways = [workaround(w) for w in entry.get("workarounds", [])]
            told = (ways, entry.get("addresses", []), entry.get("calls", []), entry["reach"])
            found.append(Issue(entry["id"], about[0], entry["harm"], entry["what"], *told))
    return found


def _mapped(name: str) -> ctypes.CDLL | None:
    """A library that this process has loaded already."""
    try:
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.partition("/")[1:]
            if re.fullmatch(name + r"\.so(\.\d+)*", path[1].rpartition("/")[2]):
                return ctypes.CDLL("".join(path), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        pass
    return None


def cublas_version() -> str:
    """Of the cuBLAS that is loaded, else of the installed package; empty where there is neither."""
    if library := _mapped("libcublas"):
        part = ctypes.c_int()
        parts = []
        for which in range(3):  # MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
            if library.cublasGetProperty(which, ctypes.byref(part)) != 0:
                break
            parts.append(str(part.value))
        if len(parts) == 3:
            return ".".join(parts)
    for package in PACKAGES:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return ""


def architectures(root: str = "/") -> set[str]:
    """Compute capabilities of the GPUs that the driver lists in /proc. CUDA is not started for that; unknown names are left out."""
    known = json.loads(_file().read_text())["gpus"]
    found = set()
    for information in Path(root, "proc/driver/nvidia/gpus").glob("*/information"):
        model = re.search(r"^Model:\s*(.*?)\s*$", information.read_text(errors="replace"), re.MULTILINE)
        found.add(architecture_of(known, model[1]) if model else "")
    return found - {""}


def versions_here() -> dict[str, str]:
    """By library: of cuBLAS, and of each framework that this process has imported. "2.11.0" of "2.11.0+cu130"; none of what is no release."""
    said = {library: str(getattr(sys.modules.get(library), "__version__", "")).partition("+")[0] for library in list(LIBRARIES)[2:]}
    return {library: version for library, version in {"cublas": cublas_version(), **said}.items() if numbers_of(version)}


def check(
    harms: Collection[str] = ("wrong_numbers",),
    levels: Collection[str] = ("measured", "documented", "likely_affected"),
    ignore: Iterable[str] = (),
    reach: Collection[str] = REACHES[:2],
) -> list[Issue]:
    """Warns (KnownIssueWarning) of each known issue of versions_here() on the GPUs of this process, and returns them. What users report needs `levels`. Without a version or a known GPU it does nothing. Raises nothing but its warnings, where Python makes these errors."""
    found: dict[str, tuple[Issue, str, str]] = {}
    try:
        here, left_out = sorted(architectures()), set(ignore)
        for library, version in versions_here().items():
            asked = [i for a in here for i in issues(version, a, library) if i.harm in harms and i.level in levels and i.reach in reach]
            found.update({i.id: (i, library, version) for i in asked if i.id not in left_out})
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return []
    for i, library, version in found.values():
        where = i.addresses[0] if i.addresses else f"cufault known {f'--cublas {version}' if library == 'cublas' else f'--package {library}=={version}'}"
        helps = f" {i.workarounds[0]}" if i.workarounds else ""
        warnings.warn(f"{LIBRARIES[library]} {version}: {i.what}{helps} ({i.level}: {i.id}; {where})", KnownIssueWarning, stacklevel=2)
    return [i for i, _, _ in found.values()]


def _spans(entry: Entry) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], str, str]]:
    """The rule's answers: architectures, first version, the one behind the last, level, why. Architectures are words, of which one that begins with ! is left out; none: any was asked for."""
    measured, last = entry.get("measured", {}), (999999999, 0, 0)
    named = sorted({*measured, *entry.get("architectures", [])})
    asked = {"": "", **{a: a for a in named}, " ".join(f"!{a}" for a in named) or "!": "0.0"}
    for family in [a for a in named if a.endswith(".x")]:
        asked[" ".join([family, *(f"!{a}" for a in named if a != family and a.startswith(family[:-1]))])] = asked.pop(family)
    seen = [numbers_of(v) for m in measured.values() for state in m.values() for v in state]
    ranges = entry.get("ranges", [])
    seen += [numbers_of(r["to"]) for r in ranges if "to" in r]
    ends = [numbers_of(v) for r in ranges for v in (r["from"], *r.get("before", []))]
    seen += [r for r in came_out() if len(r) == 3 and is_of(entry, "cublas")]
    bounds = sorted({(0, 0, 0), last, *seen, *((a, b, c + 1) for a, b, c in seen), *ends})
    for words, architecture in asked.items():
        spans: list[tuple[tuple[int, ...], tuple[int, ...], str, str]] = []
        for first, end in zip(bounds, bounds[1:]):
            level, because = concern(entry, ".".join(map(str, first)), architecture) or ("", "")
            because = because if level != "not_measured" else ""
            if level and spans and spans[-1][1:] == (first, level, because):
                first = spans.pop()[0]
            if level:
                spans.append((first, end, level, because))
        yield from ((words, *span) for span in spans)


def header(known: dict[str, Any]) -> str:
    """<cufault/known_issues_table.hpp>: programs that include it need neither a parser nor a rule."""

    def row(*texts: str) -> str:
        return f"    {{{', '.join(json.dumps(text, ensure_ascii=False) for text in texts)}}},\n"

    def of(entry: Entry) -> tuple[str, ...]:
        ways = map(workaround, entry.get("workarounds", []))
        texts = (entry[key] for key in ("id", "sort", "library", "harm", "what", "reach"))
        return (*texts, entry.get("status", ""), " ".join(entry.get("calls", [])), "\n".join(ways), " ".join(entry.get("addresses", [])))

    entries = known["issues"]
    spans = (
        f'    {{{i}, "{words}", {{{", ".join(map(str, first))}}}, {{{", ".join(map(str, end))}}}, known_level::{level}, "{because}"}},\n'
        for i, entry in enumerate(entries)
        for words, first, end, level, because in _spans(entry)
    )
    return f"""// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Made of cases/known_issues.json by reports/answers/known_issues.py. Included by <cufault/known_issues.hpp>.
#pragma once

namespace cufault {{

inline constexpr known_gpu known_gpus[] = {{
{"".join(map(row, known["gpus"], known["gpus"].values()))}}};
inline constexpr known_issue known_issues_table[] = {{
{"".join(row(*of(e)) for e in entries)}}};
inline constexpr known_span known_spans[] = {{
{"".join(spans)}}};

}}  // namespace cufault
"""


if __name__ == "__main__":
    listed = json.loads(Path(sys.argv[1]).read_text())
    if defect_of(listed):
        sys.exit(f"{sys.argv[1]}: {defect_of(listed)}")
    print(header(listed), end="")
