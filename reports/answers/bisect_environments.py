# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault bisect --package: which release of a Python package broke an arm or a command, by an environment for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, cast

import asked
from asked import Refused, one_line
from bisect_releases import Bisecting, Release, Source, Unusable, is_of_version, program_path, search, version_from
from bisection import Report, Tried
from processes import Ended, in_child
from processes import run as run_process

PIECES = "sm_*.tar.zst.*"  # of a pack of ci/campaign
IMPORT_LIMIT, ANSWER_LIMIT = 30.0, 20.0  # seconds
FAMILIES = {"torch": "pytorch", "jax": "jax", "cupy": "cupy"}
PROBE = """
import sys
sys.path[:1] = [p for p in sys.path[:1] if p]
import importlib, json
of = importlib.import_module(sys.argv[1])
git = getattr(getattr(of, "version", None), "git_version", "")
print("\\n" + json.dumps({"file": of.__file__, "version": str(getattr(of, "__version__", "")), "git": str(git)}))
"""


def traced(scratch: Path) -> dict[str, str]:
    return {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(scratch / "loaded")}


def loaded_in(scratch: Path) -> set[Path]:
    """By each process that got traced(), by the folders they lie in, which are resolved: a file may be a link into another environment."""
    found = set()
    for log in scratch.glob("loaded.*"):
        for line in re.finditer(r"calling init: (.*\.so[^/\n]*)$", log.read_text(errors="surrogateescape"), re.MULTILINE):
            found.add(Path(os.path.realpath(os.path.dirname(line[1])), os.path.basename(line[1])))
        log.unlink()
    return found


@dataclass
class Environment(Release):
    """`place` of one: its folder. `path`: PYTHONPATH. Known once it was imported: `file` and `version` of the package, and of commands its `libraries` by their paths in site-packages."""

    folder: Optional[Path] = None
    path: str = ""
    file: Path = Path()
    version: str = ""
    libraries: dict[str, Path] = field(default_factory=dict)
    shown: Tried = field(default_factory=Tried)

    @property
    def place(self) -> Optional[Path]:
        return self.folder

    @property
    def python(self) -> Path:
        assert self.folder
        return self.folder / "bin/python"

    def take(self, imported: dict[str, str]) -> None:
        self.file, self.version = Path(imported["file"]), imported.get("version", "").partition("+")[0]
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
        self.form = f"no folder in it has a bin/python, and none is a pack of ci/campaign, {self.package}==VERSION"
        self.limit = min(float(asked_for.options.get("timeout", IMPORT_LIMIT)), IMPORT_LIMIT)
        self.options, self.packs = asked_for.options, dict[str, Path]()
        super().__init__(asked_for, stop)

    def _found_at(self, entry: Path) -> Optional[Release]:
        name = entry.name.removeprefix(f"{self.package}==")
        if (entry / "bin/python").exists():
            found = Environment(name, folder=entry.absolute())
            if not version_from(name):
                self.import_in(found)
                found.name = found.version
                if not version_from(found.name):
                    raise Refused(f"{entry}: {one_line(found.name) or 'no version'} is no release")
            return found
        if name == entry.name or not any(entry.glob(PIECES)):
            return None
        self.packs[name] = entry.absolute()
        if self.keep == Path():
            self._keep_in(self.options, self.package)
        return Environment(name)

    def _list_index(self, options: dict[str, Any]) -> None:
        for end in (*options["good"], options["bad"]):
            if not version_from(end):
                raise Refused(f"'{one_line(end)}' is no release in the package index; give a version, as 2.11.0")
        said = run_process([program_path("python3"), "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "--only-binary=:all:", "-d", "/", f"{self.package}==0"], 300, self.stop)
        listed = re.search(r"from versions: ([^)]*)", said.err.decode(errors="replace"))
        self.all = [Environment(v) for v in sorted(filter(version_from, listed[1].split(", ")), key=version_from)] if listed else []
        if not self.all:
            raise Refused(f"the package index does not tell the versions of {self.package}: {said.words()}; --releases FOLDER takes environments that are here")
        self._keep_in(options, self.package)

    def fetching(self, version: str, into: Path) -> Iterator[Sequence[str | Path]]:
        """Without pip in it, so that it can be renamed: no file of it has its path."""
        python = program_path("python3")
        yield [python, "-m", "venv", "--without-pip", into]
        (site,) = into.glob("lib/python3*/site-packages")
        if version not in self.packs:
            yield [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-warn-script-location", "--only-binary=:all:", "--target", site, f"{self.what}=={version}"]
            return
        pack, unpack = self.packs[version], 'cat "${@:2}" | zstd -dqc | tar -C "$1" -xf -'
        yield ["/bin/sh", "-c", 'cd "$1" && exec sha256sum --check --quiet sha256sums', "sh", pack]
        yield ["/bin/bash", "-o", "pipefail", "-c", unpack, "bash", into, *sorted(pack.glob(PIECES))]
        # As ci/campaign makes it. What a pack lacks is of python3; the libraries of NVIDIA are looked for beside those of the pack.
        said = run_process([python, "-c", "import sys; print(*(p for p in sys.path if p.endswith('-packages')), sep='\\n')"], ANSWER_LIMIT, self.stop)
        rest = said.out.decode(errors="surrogateescape").split()
        for file in (file for place in rest for file in Path(place, "nvidia").rglob("*") if file.is_file()):
            own = into / "site/nvidia" / str(file).rpartition("-packages/nvidia/")[2]
            if not own.exists():
                own.parent.mkdir(parents=True, exist_ok=True)
                own.symlink_to(file)
        (site / "campaign.pth").write_text("\n".join(["../../../site", *rest, ""]), encoding="utf-8")

    def fetched_in(self, name: str, folder: Path) -> Release:
        return Environment(name, folder=folder)

    def is_fetched(self, folder: Path) -> bool:
        return (folder / "bin/python").exists()

    def require_python(self, of: Environment) -> None:
        """Before it gets a program, which another program might misread."""
        said = run_process([of.python, "--version"], ANSWER_LIMIT, self.stop, of.variables())
        if said.how != "exit 0" or not said.out.startswith(b"Python 3."):
            raise Refused(f"{of.python} is no Python 3: its --version ended by {said.words()}")

    def import_in(self, of: Environment) -> None:
        """Throws Refused with its path where the package cannot be imported."""
        self.require_python(of)
        python, variables = of.python, of.variables()
        with tempfile.TemporaryDirectory(prefix="cufault-bisect-") as scratch:
            ran = run_process([python, "-c", PROBE, self.module], self.limit, self.stop, {**variables, **traced(Path(scratch))})
            loaded = loaded_in(Path(scratch))
        if ran.how == "its timeout":
            raise Refused(f"{python}: import {self.module} has not ended within {self.limit:g} s")
        try:
            imported = json.loads(ran.out.split(b"\n")[-2])
        except (ValueError, IndexError):
            raise Refused(f"{python}: import {self.module} fails: {ran.words()}") from None
        if not imported["file"]:
            raise Refused(f"{python}: {self.module} is a folder without __init__.py")
        of.take(imported)
        for folder in (self.module, f"{self.module}lib", f"{self.module}.libs"):  # as torch, jaxlib, numpy.libs
            there = os.path.realpath(of.file.parents[1] / folder)
            of.libraries |= {f"{folder}/{library.relative_to(there)}": library for library in loaded if library.is_relative_to(there)}


@dataclass
class PackageReport(Report):
    """`more`: members of its JSON that a bisection of cuBLAS has not."""

    more: dict[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return dict(sorted({**super().json(), **self.more}.items()))


class InEnvironments(Bisecting):
    source_of, report_of = Environments, PackageReport
    source: Environments
    report: PackageReport

    def __init__(self, asked_for: asked.Asked, scratch: str, stop: int):
        self.seen = dict[tuple[int, int], Environment]()  # by the files that were imported
        super().__init__(asked_for, scratch, stop)
        self.report.more["package"] = self.source.what
        try:
            stack = self.source.own(["stack", "--json"])
        except Refused:
            stack = {}
        for member, key in (("gpu", "name"), ("driver", "version"), ("runtime", "version")):
            setattr(self.report, member, (stack.get(member) or {}).get(key, ""))

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
        of = cast(Environment, release)
        shown.name, of.shown = of.name, shown
        if self.report.is_arm:
            return  # its record says what was imported
        self._import(of)
        if not of.libraries:
            raise Refused(f"{of.file}: {self.source.module} has no library: which one a command has imported cannot be told")

    def _import(self, of: Environment) -> None:
        try:
            self.source.import_in(of)
        except Refused as why:
            raise Unusable(str(why)) from None
        self._require_its_own(of)

    def _require_its_own(self, of: Environment) -> None:
        """What was imported: of the release that it should be, and of no other environment."""
        if of.version and not is_of_version(of.version, of.name):
            raise Unusable(f"{of.folder}: its {self.source.module} says that it is {of.version}, in {of.file}")
        file = os.stat(of.file)
        other = self.seen.setdefault((file.st_dev, file.st_ino), of)
        if other is not of:
            raise Refused(f"{other.folder} and {of.folder} import {self.source.module} of the same files, as {os.path.realpath(other.file)}: that compares a thing with itself")

    def taking(self, release: Release) -> list[str]:
        return ["--python", str(cast(Environment, release).python)]

    def _require_pair(self, release: Release, stack: dict[str, Any]) -> None:
        of = cast(Environment, release)
        imported = (stack["python"].get("frameworks") or {}).get(FAMILIES[self.source.module])
        if not imported:
            self._import(of)  # says why not
            return
        of.take(imported)
        self._require_its_own(of)

    def _in_release(self, release: Release, argv: Sequence[str], scratch: Path, timeout: float, own: bool = False) -> Ended:
        of = cast(Environment, release)
        changes, (program, *words) = of.variables(), argv
        changes |= {"TMPDIR": str(scratch), "CUFAULT_PYTHON": ""} if own else traced(scratch)
        ended = run_process([shutil.which(program, path=changes["PATH"]) or program_path(program), *words], timeout, self.stop, changes)
        if not own:
            self._require_environment(of, loaded_in(scratch), argv is self.command)
        return ended

    def _require_environment(self, of: Environment, loaded: set[Path], must: bool) -> None:
        ours = {*of.libraries.values()}
        for file in loaded - ours:
            if str(file).endswith(tuple(f"/{library}" for library in of.libraries)):
                raise Refused(f"the command loaded {one_line(str(file))} in place of that of {of.folder}: it starts another Python, or changes where Python looks")
        if must and not loaded & ours:
            raise Refused(f"no process of the command loaded {self.source.module} of {of.folder}: it does not import {self.source.module}, or starts another Python")


def main(asked_for: asked.Asked) -> int:
    return in_child(lambda stop: search(asked_for, stop, InEnvironments))


if __name__ == "__main__":
    asked.run(main)
