# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault bisect --pins: which package brings what one environment does and another does not. One package at a time is swapped."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, cast

import asked
from asked import Refused, one_line, say
from bisect_environments import ANSWER_LIMIT, FAMILIES, Environment, Environments, InEnvironments
from bisect_releases import EXIT_RANGE, Release, search
from bisection import BAD, GOOD, Change, ReleaseTest
from processes import in_child
from processes import run as run_process

# The folders of packages, and what is installed there, the first on the path of each.
LIST = """
import importlib.util, json, os, re, sys
from importlib import metadata
sites = [p for p in sys.path if p and os.path.isdir(p) and any(n.endswith(("-info", ".egg-info")) for n in os.listdir(p))]
found = {}
for of in metadata.distributions(path=sites):
    name = re.sub("[-_.]+", "-", of.metadata["Name"] or "").lower()
    files = [str(f) for f in of.files or []]
    compiled = [importlib.util.cache_from_source(f) for f in files if f.endswith(".py")]  # in no RECORD where an import wrote it; files of wheels may all have one time
    found.setdefault(name, [of.version, str(of.locate_file("")), files + compiled])
print("\\n" + json.dumps(["%d.%d" % sys.version_info[:2], sites, found]))
"""


@dataclass
class Swapped(Environment):
    """One of the two environments, with packages of the other."""

    base: int = 0
    pins: tuple[str, ...] = ()


class Pin:
    """A package that is another in the two environments; of two CUDA majors it is one: nvidia-cudnn-cu12, nvidia-cudnn-cu13. `files`: of each, by their paths in site-packages."""

    def __init__(self) -> None:
        self.versions: tuple[list[str], list[str]] = [], []
        self.files: tuple[dict[str, str], dict[str, str]] = {}, {}
        self.seen: list[Optional[str]] = [None, None]
        self.brings = False

    def version(self, of: int) -> str:
        return " and ".join(sorted(self.versions[of])) or "absent"


class PinSource(Environments):
    def __init__(self, asked_for: asked.Asked, stop: int):
        self.room, self.sites = Path(), list[list[str]]()
        self.swapped = dict[int, tuple[str, ...]]()  # in the overlay of each
        self.pins, self.tops = dict[str, Pin](), set[str]()
        self.folders = [Path(folder).absolute() for folder in asked_for.options["pins"]]
        self.stop, pythons, installed = stop, [], set[str]()
        for i, folder in enumerate(self.folders):
            python, sites, found = self._list(Environment("", folder=folder))
            pythons.append(python)
            self.sites.append(sites)
            installed |= found.keys()
            for name, (version, site, files) in found.items():
                if any(".so" in file for file in files):
                    self.tops |= {file.partition("/")[0] for file in files}
                pin = self.pins.setdefault(re.sub(r"-cu\d+$", "", name), Pin())
                pin.versions[i].append(version)
                pin.files[i].update({file: f"{site}/{file}" for file in map(os.path.normpath, files) if not file.startswith("..")})
        if pythons[0] != pythons[1]:
            raise Refused(f"{self.folders[0]} has Python {pythons[0]}, and {self.folders[1]} has {pythons[1]}: their packages cannot be swapped")
        self.pins = {name: pin for name, pin in sorted(self.pins.items()) if pin.versions[0] != pin.versions[1]}
        if not self.pins:
            raise Refused(f"{self.folders[0]} and {self.folders[1]} have the same packages: that compares a thing with itself")
        for name, pin in self.pins.items():
            if any(pin.versions[i] and not pin.files[i] for i in range(2)):
                raise Refused(f"{name} cannot be swapped: the RECORD of what was installed is missing; install it by pip")
        self.tops -= {".."}
        self.tops |= {file.partition("/")[0] for pin in self.pins.values() for files in pin.files for file in files}
        asked_for.options.setdefault("package", next((name for name in FAMILIES if name in installed), ""))
        if not asked_for.options["package"]:
            raise Refused(f"--package says what the command imports: {self.folders[0]} has none of {', '.join(FAMILIES)}")
        self.linked = tuple(os.path.realpath(f"{site}/{top}") + "/" for sites in self.sites for site in sites for top in self.tops)
        super().__init__(asked_for, stop)

    def _list_index(self, options: dict[str, Any]) -> None:
        self.origin = f"--pins {self.folders[0]} {self.folders[1]}"
        self.all = [Swapped(name, folder=folder, base=i) for i, (name, folder) in enumerate(zip((GOOD, BAD), self.folders))]

    def _list(self, of: Environment) -> Any:
        self.require_python(of)
        said = run_process([of.python, "-c", LIST], ANSWER_LIMIT, self.stop, of.variables(), 1 << 28)
        try:
            return json.loads(said.out.split(b"\n")[-2])
        except (ValueError, IndexError):
            raise Refused(f"{of.python} does not list its packages: {said.words()}") from None

    def add(self, base: int, names: Iterable[str]) -> int:
        pins = tuple(names)
        swapped = " and ".join(f"{name} {self.pins[name].version(1 - base)}" for name in pins)
        self.all.append(Swapped(f"{self.all[base].name} with {swapped}", folder=self.folders[base], base=base, pins=pins))
        return len(self.all) - 1

    def ready(self, which: int) -> Release:
        """With PYTHONPATH at an overlay: the packages of one environment by linked files, some of the other's. Behind a linked folder a library would find those of the folder's own tree."""
        of = cast(Swapped, self.all[which])
        into = self.room / self.all[of.base].name
        of.path = str(into)
        if of.base not in self.swapped:
            into.mkdir()
            if into.stat().st_dev != self.folders[of.base].stat().st_dev:
                say(f"bisect: {into.parent} is on another file system than {self.folders[of.base]}: files are copied; TMPDIR beside it is faster")
            for site in self.sites[of.base]:
                link_tree(site, of.path, self.tops)
            self.swapped[of.base] = ()
        comes = {name: 1 - of.base if name in of.pins else of.base for name in {*of.pins} ^ {*self.swapped[of.base]}}
        for name, side in comes.items():
            for file in self.pins[name].files[1 - side]:
                (into / file).unlink(missing_ok=True)
        for name, side in comes.items():
            for file, there in self.pins[name].files[side].items():
                if os.path.exists(there):
                    (into / file).parent.mkdir(parents=True, exist_ok=True)
                    link_file(there, f"{into}/{file}")
        self.swapped[of.base] = of.pins
        return of


def link_file(file: str, target: str) -> None:
    """What is there stays. A hard link has a path of its own, however it is looked at; a library looks beside its link, of either kind. A hard link to NVIDIA's gigabytes would be a copy in a container."""
    library = ".so" in os.path.basename(file)
    try:
        if library and "/nvidia/" in file:
            os.symlink(os.path.abspath(file), target)
        else:
            os.link(os.path.realpath(file) if os.path.islink(file) else file, target)
    except FileExistsError:
        pass
    except OSError:
        if library:
            os.symlink(os.path.abspath(file), target)
        else:
            shutil.copy2(file, target)


def link_tree(folder: str, into: str, only: Container[str] = ()) -> None:
    """What is there hides a package behind it, as on the path of Python; folders without __init__.py are merged."""
    for entry in os.scandir(folder):
        target = f"{into}/{entry.name}"
        if only and entry.name not in only:
            continue
        if entry.is_file():
            link_file(entry.path, target)
        elif entry.is_dir() and not os.path.exists(f"{target}/__init__.py"):
            os.makedirs(target, exist_ok=True)
            link_tree(entry.path, target)


class PinChange(Change):
    words = ""

    def line(self) -> str:
        return self.words


class Swapping(InEnvironments):
    source_of = PinSource
    source: PinSource

    def __init__(self, asked_for: asked.Asked, scratch: str, stop: int):
        super().__init__(asked_for, scratch, stop)
        self.source.room = Path(scratch)

    def end_of(self, name: str, which: int) -> str:
        return f"--pins, the {name} end"

    def _require_its_own(self, of: Environment) -> None:
        if not Path(os.path.realpath(of.file)).is_relative_to(os.path.realpath(of.path)):
            raise Refused(f"{of.python} imports {of.file} before what PYTHONPATH names: packages cannot be swapped")

    def _require_environment(self, of: Environment, loaded: set[Path], must: bool) -> None:
        for file in loaded:
            if str(file).startswith(self.source.linked) and not file.is_relative_to(os.path.realpath(of.path)):
                raise Refused(f"the command loaded {one_line(str(file))}, and not by the packages that were swapped: it opens a library by its path")
        super()._require_environment(of, loaded, must)

    def _like(self, base: int, names: Iterable[str], test: ReleaseTest) -> str:
        which = self.source.add(base, names)
        self._decide(which, test)
        one = self.tried[which]
        say(f"bisect: {self.name_of(which)}: {one.result} in {one.seconds:.1f} s")
        return one.result

    def search(self) -> int:
        test = self._compare_ends(0, 1)
        self.decided = True
        found = self._find(test)
        if not self.report.is_arm and not self.control:
            self._require_good_still(0, test)
        if found:
            change = PinChange(False, GOOD, BAD, [], len(self.tried) - 1)
            change.words = found
            self.report.changes = [change]
            self.print()
            return 0
        why = "no package brings it alone, and there is none without which it goes: several bring it, each by itself, or it needs more of them together"
        self.print([{"arms": [], "exit_code": EXIT_RANGE, "why": why}])
        say(f"cufault: {why}")
        return EXIT_RANGE

    def _find(self, test: ReleaseTest) -> str:
        """In words; empty where it is not found."""
        pins = self.source.pins
        for name, pin in pins.items():
            pin.seen[0] = self._like(0, [name], test)
            pin.brings = pin.seen[0] == BAD
            pin.seen[1] = self._like(1, [name], test) if pin.brings else None
            if pin.seen[1] == GOOD:
                return f"BROKE: {self._change_of([name])} brings it; with the old one it goes"
        if brings := [name for name in pins if pins[name].brings]:
            return f"BROKE: {self._change_of(brings)} {'brings it; with the old one it stays' if len(brings) == 1 else 'bring it, each alone; with the old one of either it stays'}"
        for name, pin in pins.items():
            pin.seen[1] = self._like(1, [name], test)
        needed = [name for name, pin in pins.items() if pin.seen[1] == GOOD]
        unclear = [name for name, pin in pins.items() if pin.seen[1] not in (GOOD, BAD)]  # as those without which others do not run
        for names in [needed, needed + unclear] if unclear else [needed]:
            if len(names) < 2 or self._like(0, names, test) != BAD:
                continue
            lead = needed or names
            for name in lead:
                pins[name].brings = True
            along = [name for name in names if name not in lead]
            said = f"{self._change_of(lead)} {'brings it' if len(lead) == 1 else 'bring it together, and none of them alone'}"
            said += f", with {self._change_of(along)}, without which it does not run" if along else ""
            mends = "; with the old one of either it goes" if len(lead) > 1 else "; with the old one it goes"
            return f"BROKE: {said}{mends if needed else ''}"
        return ""

    def _change_of(self, names: Iterable[str]) -> str:
        return " and ".join(f"{name} {self.source.pins[name].version(0)} -> {self.source.pins[name].version(1)}" for name in names)

    def print(self, reasons: Any = ()) -> None:
        self.report.more["pins"] = [
            {"name": name, "good": pin.version(0), "bad": pin.version(1), "in_good": pin.seen[0], "in_bad": pin.seen[1], "brings": pin.brings} for name, pin in self.source.pins.items()
        ]  # fmt: skip
        super().print(reasons)


def main(asked_for: asked.Asked) -> int:
    return in_child(lambda stop: search(asked_for, stop, Swapping))


if __name__ == "__main__":
    asked.run(main)
