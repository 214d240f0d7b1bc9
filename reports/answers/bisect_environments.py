# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault bisect --package: which release of a Python package broke an arm or a command, by an environment for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, cast

import asked
from asked import Refused, one_line
from bisect_releases import Bisecting, Release, Source, Unusable, is_of_version, loaded_in, program_path, search, traced, version_from
from bisection import Tried
from processes import Ended, in_child
from processes import run as run_process

IMPORT_LIMIT, ANSWER_LIMIT = 30.0, 20.0  # seconds
FAMILIES = {"torch": "pytorch", "jax": "jax", "cupy": "cupy"}
TRIALS = Path(__file__).resolve().parents[1] / "frameworks"  # where it is installed
if not TRIALS.is_dir():
    TRIALS = TRIALS.parents[1] / "cases/frameworks/python"
sys.path.append(str(TRIALS))
from framework_trials.identity import named

PROBE = r"""
import sys
sys.path[:1] = [p for p in sys.path[:1] if p]
import importlib, json
of = importlib.import_module(sys.argv[1])
git, version = getattr(getattr(of, "version", None), "git_version", ""), str(getattr(of, "__version__", ""))
sys.path.append(sys.argv[2])
from framework_trials.identity import unmet_pins
print("\n" + json.dumps({"file": of.__file__, "version": version, "git": str(git), "unmet": of.__file__ and unmet_pins(sys.argv[1], version)}))
"""


def without_cuda(package: str) -> str:
    """nvidia-cudnn of nvidia-cudnn-cu13, cupy of cupy-cuda12x, jax-pjrt of jax_cuda13_pjrt."""
    return re.sub(r"-cu(da)?\d+x?(?=-|$)", "", re.sub("[-_.]+", "-", package).lower())


@dataclass
class Environment(Release):
    folder: Optional[Path] = None  # of a virtual environment
    path: str = ""  # PYTHONPATH
    file: Path = Path()  # that was imported
    version: str = ""  # that was imported
    libraries: dict[str, Path] = field(default_factory=dict)  # that an import loads for a command, by their paths in site-packages
    shown: Tried = field(default_factory=Tried)

    @property
    def place(self) -> Optional[Path]:
        return self.folder

    @property
    def python(self) -> Path:
        assert self.folder
        return self.folder / "bin/python"

    def take(self, imported: dict[str, Any]) -> None:
        self.file, self.version, self.shown.unmet = Path(imported["file"]), imported.get("version", "").partition("+")[0], imported.get("unmet", [])
        self.shown.version, self.shown.build_id = self.version, "".join(re.findall("^[0-9a-f]+$", imported.get("git", "")))

    def variables(self) -> dict[str, str]:
        """Of what runs in it."""
        assert self.folder
        return {"PATH": f"{self.folder / 'bin'}:{os.environ.get('PATH', '/bin:/usr/bin')}", "VIRTUAL_ENV": str(self.folder), "PYTHONHOME": "", "PYTHONPATH": self.path}


class Environments(Source):
    def __init__(self, asked_for: asked.Asked, stop: int):
        self.what = asked_for.options["package"]
        self.package = re.sub(r"\[.*", "", self.what).lower()
        self.module = "cupy" if self.package.startswith("cupy") else self.package.replace("-", "_")
        self.prefix, self.form = f"{self.what}==", "no folder in it has a bin/python"
        self.limit = min(float(asked_for.options.get("timeout", IMPORT_LIMIT)), IMPORT_LIMIT)
        super().__init__(asked_for, stop)

    def _found_at(self, entry: Path) -> Optional[Release]:
        package, _, version = entry.name.rpartition("==")
        if not (entry / "bin/python").exists() or package not in ("", self.package, self.what):
            return None
        if not version_from(version):
            version = self._version_installed(entry)
            if not version_from(version):
                raise Refused(f"{entry}: {one_line(version) or 'no version in the metadata'} is no release of {self.package}")
        return Environment(version, folder=entry.absolute())

    def _version_installed(self, folder: Path) -> str:
        """By metadata: an import may take long, and tells whether they are right only where the release is tried."""
        sites = [*folder.glob("lib*/python3*/site-packages")]
        sites += [site / line for site in sites for file in site.glob("*.pth") for line in file.read_text(errors="replace").splitlines()]
        found = (of.version for name, of in named(*map(str, [folder, *sites])) if without_cuda(name) == without_cuda(self.package))
        return next(found, "").partition("+")[0]

    def _list_index(self, options: dict[str, Any]) -> None:
        for end in (*options["good"], options["bad"]):
            if not version_from(end):
                raise Refused(f"'{one_line(end)}' is no release in the package index; give a version, as 2.11.0")
        said = run_process([program_path("python3"), "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "--only-binary=:all:", "-d", "/", f"{self.package}==0"], 300, self.stop)
        listed = re.search(r"from versions: ([^)]*)", said.err.decode(errors="replace"))
        self.all = [Environment(v) for v in sorted(filter(version_from, listed[1].split(", ")), key=version_from)] if listed else []
        if not self.all:
            raise Refused(f"the package index does not tell the versions of {self.package}: {said.words()}; --releases FOLDER takes environments that are here")
        self._keep_in(options, "environments")

    def fetching(self, version: str, into: Path) -> Iterator[Sequence[str | Path]]:
        """Without pip and activate, which have its path: it is renamed."""
        python = program_path("python3")
        yield [python, "-m", "venv", "--without-pip", into]
        for activate in into.glob("bin/[Aa]ctivate*"):
            activate.unlink()
        (site,) = into.glob("lib/python3*/site-packages")
        yield [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-warn-script-location", "--only-binary=:all:", "--target", site, f"{self.what}=={version}"]

    def fetched_in(self, name: str, folder: Path) -> Release:
        return Environment(name, folder=folder)

    def is_fetched(self, folder: Path) -> bool:
        return (folder / "bin/python").exists()

    def require_python(self, environment: Environment) -> None:
        """Before it gets a program, which another program might misread."""
        said = run_process([environment.python, "--version"], ANSWER_LIMIT, self.stop, environment.variables())
        if said.how != "exit 0" or not said.out.startswith(b"Python 3."):
            raise Refused(f"{environment.python} is no Python 3: its --version ended by {said.words()}")

    def import_in(self, environment: Environment) -> None:
        """Throws Refused with its path where the package cannot be imported."""
        self.require_python(environment)
        python, variables = environment.python, environment.variables()
        with tempfile.TemporaryDirectory(prefix="cufault-bisect-") as scratch:
            ran = run_process([python, "-c", PROBE, self.module, TRIALS], self.limit, self.stop, {**variables, **traced(Path(scratch))})
            loaded = loaded_in(Path(scratch))
        if ran.how == "its timeout":
            raise Refused(f"{python}: import {self.module} has not ended within {self.limit:g} s")
        try:
            imported = json.loads(ran.out.split(b"\n")[-2])
        except (ValueError, IndexError):
            raise Refused(f"{python}: import {self.module} fails: {ran.words()}") from None
        if not imported["file"]:
            raise Refused(f"{python}: {self.module} is a folder without __init__.py")
        environment.take(imported)
        for folder in (self.module, f"{self.module}lib", f"{self.module}.libs"):  # as torch, jaxlib, numpy.libs
            there = os.path.realpath(environment.file.parents[1] / folder)
            environment.libraries |= {f"{folder}/{library.relative_to(there)}": library for library in loaded if library.is_relative_to(there)}


class InEnvironments(Bisecting):
    source_of = Environments
    source: Environments

    def __init__(self, asked_for: asked.Asked, scratch: str, stop: int):
        self.seen = dict[tuple[int, int], Environment]()  # by the files that were imported
        super().__init__(asked_for, scratch, stop)
        self.report.more["package"] = self.source.what

    def _look_at_command(self) -> None:
        word = self.command[0]
        if "/" in word and re.fullmatch(r"python[0-9.]*", os.path.basename(word)):
            raise Refused(f"{one_line(word)} is one Python: give {os.path.basename(word)}, which is that of each environment")

    def _look_at_arm(self) -> None:
        family = FAMILIES.get(self.source.module)
        if self.case.partition(".")[0] != family:
            raise Refused(f"--package {self.source.what}: {one_line(self.report.what)} is no arm of it; `cufault list {family or 'CASE'}` lists arms")
        super()._look_at_arm()

    def _describe_release(self, release: Release, shown: Tried, scratch: Path) -> None:
        environment = cast(Environment, release)
        shown.name, environment.shown = environment.name, shown
        if self.report.is_arm:
            return  # its record says what was imported
        self._import(environment)
        if not environment.libraries:
            raise Refused(f"{environment.file}: {self.source.module} has no library: which one a command has imported cannot be told")
        if not self.report.driver:
            with suppress(Refused):
                self._name_machine(self.source.own(["stack", "--json"]))

    def _import(self, environment: Environment) -> None:
        try:
            self.source.import_in(environment)
        except Refused as why:
            raise Unusable(str(why)) from None
        self._require_its_own(environment)

    def _require_its_own(self, environment: Environment) -> None:
        """What was imported: of the release that it should be, and of no other environment."""
        if environment.version and not is_of_version(environment.version, environment.name):
            raise Unusable(f"{environment.folder}: its {self.source.module} says that it is {environment.version}, in {environment.file}")
        file = os.stat(environment.file)
        other = self.seen.setdefault((file.st_dev, file.st_ino), environment)
        if other is not environment:
            raise Refused(f"{other.folder} and {environment.folder} import {self.source.module} of the same files, as {os.path.realpath(other.file)}: nothing can be compared")

    def run_options(self, release: Release) -> list[str]:
        return ["--python", str(cast(Environment, release).python)]

    def _require_pair(self, release: Release, stack: dict[str, Any]) -> None:
        self._name_machine(stack)
        environment = cast(Environment, release)
        imported = (stack["python"].get("frameworks") or {}).get(FAMILIES[self.source.module])
        if not imported:
            self._import(environment)  # says why not
            return
        environment.take(imported)
        self._require_its_own(environment)

    def _in_release(self, release: Release, argv: Sequence[str], scratch: Path, timeout: float, own: bool = False) -> Ended:
        environment = cast(Environment, release)
        changes, (program, *words) = environment.variables(), argv
        changes |= {"TMPDIR": str(scratch), "CUFAULT_PYTHON": ""} if own else traced(scratch)
        ended = run_process([shutil.which(program, path=changes["PATH"]) or program_path(program), *words], timeout, self.stop, changes)
        if not own:
            self._require_environment(environment, loaded_in(scratch), argv is self.command)
        return ended

    def _require_environment(self, environment: Environment, loaded: set[Path], must: bool) -> None:
        ours = {*environment.libraries.values()}
        for file in loaded - ours:
            if str(file).endswith(tuple(f"/{library}" for library in environment.libraries)):
                raise Refused(f"the command loaded {one_line(str(file))} in place of that of {environment.folder}: it starts another Python, or changes where Python looks")
        if must and not loaded & ours:
            raise Refused(f"no process of the command loaded {self.source.module} of {environment.folder}: it does not import {self.source.module}, or starts another Python")


def main(asked_for: asked.Asked) -> int:
    return in_child(lambda stop: search(asked_for, stop, InEnvironments))
