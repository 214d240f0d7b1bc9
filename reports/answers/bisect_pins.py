# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault bisect --pins: which package causes what one environment does and another does not. Packages of the bad one are put into the good one."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import asked
from asked import Refused, one_line, say
from bisect_environments import ANSWER_LIMIT, FAMILIES, TRIALS, Environment, Environments, InEnvironments, without_cuda
from bisect_releases import EXIT_RANGE, Release, file_in_real_folder, search
from bisection import BAD, GOOD
from processes import in_child
from processes import run as run_process

# What is installed, the first of each name on the path.
LIST = r"""
import importlib.util, json, re, sys
sys.path.append(sys.argv[1])
from framework_trials.identity import distributions
found = {}
for name, of in distributions().items():
    files = [str(f) for f in of.files or []]
    compiled = [importlib.util.cache_from_source(f) for f in files if f.endswith(".py")]  # in no RECORD if an import wrote it; files of wheels may all have one time
    requires = [re.match(r"[\w.-]*", need)[0] for need in of.requires or []]
    found[name] = [of.version, str(of.locate_file("")), files + compiled, requires]
print("\n" + json.dumps(["%d.%d" % sys.version_info[:2], found]))
"""


@dataclass
class Mixture(Environment):
    """One of the two environments, with packages of the other."""

    base: int = 0
    swapped: tuple[str, ...] = ()


@dataclass
class Package:
    """As both environments have it."""

    versions: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    files: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))  # by their paths in site-packages
    requires: set[str] = field(default_factory=set)

    def version(self, of: int) -> str:
        return " and ".join(sorted(self.versions[of])) or "absent"

    def tops(self) -> set[str]:
        return {file.partition("/")[0] for files in self.files for file in files}

    def libraries(self) -> set[Path]:
        """By the folders that they lie in, as loaded_in() tells them."""
        return {file_in_real_folder(there) for files in self.files for file, there in files.items() if ".so" in file}


class PinSource(Environments):
    def __init__(self, asked_for: asked.Asked, stop: int):
        self.stop, self.room, self.linked = stop, Path(), -1
        self.packages = dict[str, Package]()  # of two CUDA majors it is one: nvidia-cudnn-cu12, nvidia-cudnn-cu13
        self.folders = [Path(folder).absolute() for folder in asked_for.options["pins"]]
        pythons, installed = zip(*(self._list(Environment("", folder=folder)) for folder in self.folders))
        if pythons[0] != pythons[1]:
            raise Refused(f"{self.folders[0]} has Python {pythons[0]}, and {self.folders[1]} has {pythons[1]}: their packages cannot be swapped")
        for i, found in enumerate(installed):
            for name, (version, site, files, requires) in found.items():
                package = self.packages.setdefault(without_cuda(name), Package())
                package.versions[i].append(version)
                package.files[i].update({file: f"{site}/{file}" for file in map(os.path.normpath, files) if not file.startswith("..") and os.path.exists(f"{site}/{file}")})
                package.requires |= {*map(without_cuda, requires)}
        different = [name for name, package in self.packages.items() if package.version(0) != package.version(1)]
        self.order = sorted(different, key=lambda name: (self._number_required(name), name))
        if not self.order:
            raise Refused(f"{self.folders[0]} and {self.folders[1]} have the same packages: nothing can be swapped")
        for name in self.order:
            if any(self.packages[name].versions[i] and not self.packages[name].files[i] for i in range(2)):
                raise Refused(f"{name} cannot be swapped: the RECORD of what was installed is missing; install it by pip")
        asked_for.options.setdefault("package", next((name for name in FAMILIES if name in self.packages), ""))
        if not asked_for.options["package"]:
            raise Refused(f"--package says what the command imports: {self.folders[0]} has none of {', '.join(FAMILIES)}")
        # A library finds those of other packages by its own path.
        tops = {top for name, package in self.packages.items() if name in self.order or package.libraries() for top in package.tops()}
        self.packages = {name: package for name, package in self.packages.items() if package.tops() & tops}
        self.libraries = set[Path]().union(*(package.libraries() for package in self.packages.values()))
        super().__init__(asked_for, stop)

    def _number_required(self, name: str) -> int:
        """Of packages that it does not run without, itself included: less than that of each package that requires it."""
        found, left = set[str](), {name}
        while left:
            found.add(one := left.pop())
            left |= (self.packages[one].requires & self.packages.keys()) - found
        return len(found)

    def _list_index(self, options: dict[str, Any]) -> None:
        self.origin = f"--pins {self.folders[0]} {self.folders[1]}"
        between = [Mixture(f"good up to {name} {self.packages[name].version(1)}", folder=self.folders[0], swapped=tuple(self.order[: i + 1])) for i, name in enumerate(self.order)]
        self.all = [Mixture(GOOD, folder=self.folders[0]), *between, Mixture(BAD, folder=self.folders[1], base=1)]

    def _list(self, environment: Environment) -> Any:
        self.require_python(environment)
        said = run_process([environment.python, "-c", LIST, TRIALS], ANSWER_LIMIT, self.stop, environment.variables(), 1 << 28)
        try:
            return json.loads(said.out.split(b"\n")[-2])
        except (ValueError, IndexError):
            raise Refused(f"{environment.python} does not list its packages: {said.words()}") from None

    def ready(self, which: int) -> Release:
        """With PYTHONPATH at links to its files, not to folders: $ORIGIN follows a linked folder."""
        mixture = cast(Mixture, self.all[which])
        mixture.path = str(self.room / "packages")
        if self.linked == which:
            return mixture
        if self.linked < 0 and self.room.stat().st_dev != mixture.folder.stat().st_dev:  # type: ignore[union-attr]
            say(f"bisect: {self.room} is on another file system than {mixture.folder}: files are copied, and arms find two copies of libraries; set TMPDIR to a folder beside it")
        self.linked = -1  # until all is there
        shutil.rmtree(mixture.path, ignore_errors=True)
        for name, package in self.packages.items():
            for file, there in package.files[1 - mixture.base if name in mixture.swapped else mixture.base].items():
                os.makedirs(os.path.dirname(f"{mixture.path}/{file}"), exist_ok=True)
                link_file(there, f"{mixture.path}/{file}")
        self.linked = which
        return mixture


def link_file(file: str, target: str) -> None:
    """Hard links, because realpath() must stay in the mixture. Symbolic links for NVIDIA's gigabytes: overlayfs copies on link. What is there is of another package, too, and stays."""
    library = ".so" in os.path.basename(file)
    if os.path.lexists(target):
        return
    try:
        if not library or "/nvidia/" not in file:
            os.link(os.path.realpath(file), target)
            return
    except OSError:  # another file system
        pass
    if library:
        os.symlink(os.path.abspath(file), target)
    else:
        shutil.copy2(file, target)


class Swapping(InEnvironments):
    source_of = PinSource
    source: PinSource

    def __init__(self, asked_for: asked.Asked, scratch: str, stop: int):
        super().__init__(asked_for, scratch, stop)
        self.source.room = Path(scratch)
        self.suspects = list[str]()

    def end_of(self, name: str, which: int) -> str:
        return f"--pins, the {name} end"

    def _require_its_own(self, environment: Environment) -> None:
        if not Path(os.path.realpath(environment.file)).is_relative_to(os.path.realpath(environment.path)):
            raise Refused(f"{environment.python} imports {environment.file} before what PYTHONPATH names: packages cannot be swapped")

    def _require_environment(self, environment: Environment, loaded: set[Path], must: bool) -> None:
        for file in loaded & self.source.libraries:
            raise Refused(f"the command loaded {one_line(str(file))}, and not by the packages that were swapped: it opens a library by its path")
        super()._require_environment(environment, loaded, must)

    def search(self) -> int:
        test = self._search_between(0, len(self.source.all) - 1)
        if not self.suspects:
            self.print()
            return EXIT_RANGE
        self.source.all.append(Mixture(f"bad with the old {' and '.join(self.suspects)}", folder=self.source.folders[1], base=1, swapped=tuple(self.suspects)))
        which = len(self.source.all) - 1
        like = self._decide(which, test)
        stays = {GOOD: "is good", BAD: "stays bad"}.get(like or "", f"says nothing ({self.tried[which].why or self.tried[which].result})")
        self.report.changes[-1] = self.report.changes[-1]._replace(said=f"{self.report.changes[-1].said}; BAD {stays} with the old {' and '.join(self.suspects)}")
        self.print()
        return EXIT_RANGE if len(self.suspects) > 1 else 0

    def _add_change(self) -> None:
        assert self.seeking
        before, self.suspects = self.source.order[: self.seeking.good], self.source.order[self.seeking.good : self.seeking.bad]
        said = f"BROKE: {self._change_of(self.suspects)} causes it" if len(self.suspects) == 1 else f"BROKE: one of these causes it, or several do: {self._change_of(self.suspects)}"
        if not self.suspects:
            before, said = [], "BROKE: no package causes it whose versions differ: look at files outside of packages, at builds of one version, and at Python"
        said += f" if {' and '.join(before)} {'is' if len(before) == 1 else 'are'} new, too" if before else ""
        gone = [name for name in self.source.order if not self.source.packages[name].versions[1]]
        said += f"; {' and '.join(gone)}, which BAD lacks, could be imported in mixtures, and may be the cause" if gone else ""
        super()._add_change()
        self.report.changes[-1] = self.report.changes[-1]._replace(said=said)

    def _change_of(self, names: Iterable[str]) -> str:
        return ", ".join(f"{name} {self.source.packages[name].version(0)} -> {self.source.packages[name].version(1)}" for name in names)

    def print(self, reasons: Any = ()) -> None:
        packages = self.source.packages
        self.report.more["pins"] = [{"name": name, "good": packages[name].version(0), "bad": packages[name].version(1), "causes": name in self.suspects} for name in self.source.order]
        super().print(reasons)


def main(asked_for: asked.Asked) -> int:
    return in_child(lambda stop: search(asked_for, stop, Swapping))
