# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What is known to be wrong in the cuBLAS that this process uses.

A framework checks at its import, and neither loads a library nor starts CUDA by that::

    import cufault.known
    cufault.known.check()  # warns of wrong numbers that were measured or documented for this version on these GPUs

`cufault known` prints the same list, and says where each entry comes from.
"""

import ctypes
import importlib.metadata
import json
import os
import re
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("nvidia-cublas", "nvidia-cublas-cu12")
LEVELS = ("measured", "documented", "reported", "not_measured")


class KnownIssueWarning(UserWarning):
    """The cuBLAS of this process has a known issue."""


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
    """"forced_algorithm": only by an algorithm chosen by hand; "refused_call": only by a call that other releases refuse; else "any"."""


def _file() -> Path:
    given = os.environ.get("CUFAULT_KNOWN_ISSUES")
    return Path(given) if given else Path(__file__).resolve().parent / "share" / "cufault" / "known_issues.json"


def _numbers(version: str) -> tuple[int, ...]:
    found = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]{1,9})?", version)
    return tuple(map(int, found.groups())) if found else ()


def _nearness(measured: dict[str, list[str]], version: tuple[int, ...]) -> int:
    """2: measured with this version; 1: with the nearest one below or above it; else 0."""
    states = sorted((_numbers(v), state == "affected") for state, versions in measured.items() for v in versions)
    for seen, affected in states:
        if seen == version:
            return 2 if affected else 0
    below = [affected for seen, affected in states if seen < version][-1:]
    above = [affected for seen, affected in states if seen > version][:1]
    return int(any(below + above))


def _level(entry: dict[str, Any], version: tuple[int, ...], architecture: str) -> str:
    """Empty: nothing is known of this version."""
    if entry["sort"] == "measured":
        measured = entry["measured"]
        there = {architecture: measured[architecture]} if architecture in measured else measured
        nearest = max((_nearness(m, version) for m in there.values() if m["affected"]), default=0)
        exact = nearest == 2 and (not architecture or architecture in measured)
        return "" if nearest == 0 else "measured" if exact else "not_measured"
    architectures = entry.get("architectures", [])
    family = architecture.split(".")[0] + ".x"
    if architecture and architectures and not {architecture, family} & set(architectures):
        return ""
    inside = any(_numbers(r["from"]) <= version < _numbers(r["before"]) for r in entry["ranges"])
    return str(entry["sort"]) if inside else ""


def issues(version: str, architecture: str = "") -> list[Issue]:
    """Of a version ("13.1.0", or "13.1.0.3") on a compute capability ("9.0"; empty: any). Raises ValueError for what is no version."""
    numbers = _numbers(version)
    if not numbers:
        raise ValueError(f"{version!r} is no version of cuBLAS; one is 13.1.0")
    found = []
    for entry in json.loads(_file().read_text())["issues"]:
        if level := _level(entry, numbers, architecture):
            ways = [w["text"] for w in entry.get("workarounds", [])]
            told = (ways, entry.get("addresses", []), entry.get("calls", []), entry["reach"])
            found.append(Issue(entry["id"], level, entry["harm"], entry["what"], *told))
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
        name = f" {model[1].lower().replace('-', ' ')} " if model else ""
        found.update([a for gpu, a in known.items() if f" {gpu.lower()} " in name][:1])
    return found


def check(
    harms: Collection[str] = ("wrong_numbers",),
    levels: Collection[str] = ("measured", "documented"),
    ignore: Iterable[str] = (),
    reach: Collection[str] = ("any",),
) -> list[Issue]:
    """Warns (KnownIssueWarning) of each known issue of the cuBLAS of this process on its GPUs, and returns them. Without a version or a known GPU it does nothing. Raises nothing but its warnings, where Python makes these errors."""
    try:
        version = cublas_version()
        if not _numbers(version):
            return []
        here = sorted(architectures())
        asked = [i for a in here for i in issues(version, a) if i.harm in harms and i.level in levels and i.reach in reach]
        found = {i.id: i for i in asked if i.id not in set(ignore)}
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return []
    for i in found.values():
        where = i.addresses[0] if i.addresses else f"cufault known --cublas {version}"
        helps = f" {i.workarounds[0]}" if i.workarounds else ""
        warnings.warn(f"cuBLAS {version}: {i.what}{helps} ({i.level}: {i.id}; {where})", KnownIssueWarning, stacklevel=2)
    return list(found.values())
