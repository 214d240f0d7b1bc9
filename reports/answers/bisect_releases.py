# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault bisect: which release of cuBLAS broke an arm or a command, and which mended it?"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shlex import join as quoted
from typing import Any, Optional

import asked
import text
from asked import Refused, one_line, say
from bisection import BAD, FIRST_COMPARISON, GOOD, Bisection, Change, ReleaseTest, Report, Tried, error_of_comparison, words_of
from known_issues import came_out, way_between
from processes import Ended, Interrupted, in_child
from processes import run as run_process

EXIT_RANGE, EXIT_SKIPPED, EXIT_INTERRUPTED = 3, 77, 130
LONGEST_LINE = 1024  # that is searched
STEM, LT_STEM = "libcublas.so", "libcublasLt.so"
FETCH_LIMIT = 3600.0


class Unusable(Exception):
    """A release says nothing of the change: it is skipped or, of an end, there is no search."""

    def __init__(self, why: str, exit_code: int = 2):
        super().__init__(why)
        self.exit_code = exit_code


@dataclass
class Release:
    """As --good and --bad name it: a version, or an image. `pair`: cuBLAS and cuBLASLt, links resolved; empty of an image, and of one that is not fetched yet."""

    name: str
    pair: tuple[Path, ...] = ()

    @property
    def place(self) -> Optional[Path]:
        """None of an image, and of one that is not fetched yet."""
        return self.pair[0] if self.pair else None


def version_from(name: str) -> tuple[int, ...]:
    """Empty of what is no version."""
    parts = [int(p) for p in name.split(".")] if re.fullmatch(r"[0-9]+(\.[0-9]+)*", name) else []
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def is_of_version(name: str, version: str) -> bool:
    return name == version or name.startswith(version + ".")


def program_path(name: str) -> str:
    if "/" in name:
        why = "No such file or directory" if not os.path.exists(name) else "Permission denied" if not os.access(name, os.X_OK) else "it is a folder" if os.path.isdir(name) else ""
        if why:
            raise Refused(f"{one_line(name)}: cannot be run: {why}")
        return name
    found = shutil.which(name, path=os.environ.get("PATH", "/bin:/usr/bin"))
    if not found:
        raise Refused(f"{one_line(name)}: cannot be run: no such program is in PATH")
    return found


def traced(scratch: Path) -> dict[str, str]:
    return {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(scratch / "loaded")}


def file_in_real_folder(file: str) -> Path:
    return Path(os.path.realpath(os.path.dirname(file)), os.path.basename(file))


def loaded_in(scratch: Path) -> set[Path]:
    """By each process that got traced(), by the folders they lie in, which are resolved: a file may be a link into another environment."""
    found = set()
    for log in scratch.glob("loaded.*"):
        for line in re.finditer(r"calling init: (.*\.so[^/\n]*)$", log.read_text(errors="surrogateescape"), re.MULTILINE):
            found.add(file_in_real_folder(line[1]))
        log.unlink()
    return found


# ---- where releases are from ----


def release_of_file(name: str, cublas: Path) -> Release:
    cublaslt = cublas.parent / (LT_STEM + cublas.name[len(STEM) :])
    if not cublaslt.exists():
        raise Refused(f"{cublas}: there is no {cublaslt.name} beside it")
    return Release(name, (cublas.resolve(), cublaslt.resolve()))


def release_in(name: str, folder: Path) -> Release:
    files = sorted(folder.glob(f"{STEM}.*"))
    if not files:
        raise Refused(f"{folder} holds no {STEM}.*")
    for file in files:
        if not file.samefile(files[0]):
            raise Refused(f"{folder} holds more than one libcublas: {files[0].name} and {file.name}")
    return release_of_file(name, files[0])


class Source:
    """The releases that there are, in order. `stop`: as in processes.run()."""

    what, prefix, form = "cuBLAS", "", f"no folder and no file in it is a {STEM}.*"

    def __init__(self, asked_for: asked.Asked, stop: int):
        options, self.stop, self.keep, self.all = asked_for.options, stop, Path(), list[Release]()
        self.program, self.fetch = asked_for.file("program"), asked_for.file("fetch_cublas")
        if "images" in options:
            self.origin = "--images"
            self.all = [Release(image) for image in options["images"]]
        elif "releases" in options:
            self.origin = f"--releases {options['releases']}"
            self._list_folder(Path(options["releases"]))
        else:
            self.origin = "the package index for this platform"
            self._list_index(options)

    def own(self, words: Sequence[str | Path], limit: float = 600) -> Any:
        """What cufault prints as JSON."""
        ended = run_process([self.program, *words], limit, self.stop)
        try:
            said: Any = json.loads(ended.out)
        except ValueError:
            raise Refused(f"cufault {words[0]}: {ended.words()}") from None
        if "reasons" in said:
            raise Refused(said["reasons"][0]["why"] if said["reasons"] else ended.words())
        return said

    def _found_at(self, entry: Path) -> Optional[Release]:
        """None where it is none. Throws Refused."""
        if not entry.is_dir() and not entry.name.startswith(STEM + "."):
            return None
        found = release_in(entry.name, entry) if entry.is_dir() else release_of_file(entry.name, entry)
        if not version_from(entry.name):
            found.name = self._version_said_by(found.pair[0])
        return found

    def _version_said_by(self, library: Path) -> str:
        """What the library says, where its folder's name does not."""
        try:
            said = self.own(["library", "--json", library])
        except Refused as error:
            raise Refused(f"its version is not known: {error}") from None
        if "version" not in said:
            raise Refused(f"its version is not known: {said.get('version_unknown', '')}")
        return str(re.match("[0-9.]*", said["version"])[0])  # type: ignore[index]

    def _list_folder(self, folder: Path) -> None:
        for entry in [Path(folder, e) for e in os.listdir(folder)]:
            try:
                found = self._found_at(entry)
                self.all += [found] if found else []
            except Refused as why:
                say(f"bisect: {why}; it is left out")
        self.all.sort(key=lambda r: version_from(r.name))
        # libcublas.so, libcublas.so.13 and libcublas.so.13.1.0 are one.
        self.all = [r for i, r in enumerate(self.all) if i == 0 or not r.place or r.place != self.all[i - 1].place]
        for one, other in zip(self.all, self.all[1:]):
            if one.name == other.name:
                raise Refused(f"{one.place} and {other.place} are both {one.name}")
        if not self.all:
            raise Refused(f"{folder} holds no release: {self.form}")

    def _keep_in(self, options: dict[str, Any], usual: str) -> None:
        cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
        if "keep" not in options and not cache.startswith("/") and not home:
            raise Refused("neither XDG_CACHE_HOME nor HOME is set: --keep FOLDER says where fetched releases go")
        self.keep = Path(options["keep"]).absolute() if "keep" in options else Path(cache if cache.startswith("/") else Path(home, ".cache"), "cufault", usual)
        try:
            self.keep.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise Refused(f"--keep {one_line(str(self.keep))}: it is no folder, and none can be made") from None

    def _list_index(self, options: dict[str, Any]) -> None:
        for end in (*options["good"], options["bad"]):
            if version_from(end) < (12,):
                raise Refused(f"'{one_line(end)}' is no release in the package index; give a version from 12.0 on, as 13.1.0.3")
        said = run_process(["/usr/bin/env", "bash", self.fetch, "--list"], 300, self.stop)
        if said.how != "exit 0":
            why = "it did not answer within 5 minutes" if said.how == "its timeout" else said.last_words()
            raise Refused(f"the package index does not tell the versions of cuBLAS: {why}; --releases FOLDER takes libraries that are here")
        self.all = sorted(map(Release, said.out.decode().split()), key=lambda r: version_from(r.name))
        self._keep_in(options, "cublas")

    def keep_to_the_way(self, ends: list[int]) -> list[str]:
        """Leaves out what is on no way from one of these to the next, a later patch of another branch, and says what. Releases without a date stay."""
        if type(self) is not Source or self.origin == "--images":
            return []
        numbers = [tuple(map(int, r.name.split(".")[:3])) if version_from(r.name) else () for r in self.all]
        ways = [way_between(numbers[one], numbers[other]) for one, other in zip(ends, ends[1:])]
        way = [n for i, of in enumerate(ways) for n in of[1 if i else 0 :]]
        if not all(ways):
            return []
        kept = [i for i, n in enumerate(numbers) if n in way or (n not in came_out() and way == sorted(way))]
        if way != sorted(way):
            kept.sort(key=lambda i: way.index(numbers[i]))
        left_out = [r.name for i, r in enumerate(self.all) if i not in kept and ends[0] < i < ends[-1]]
        self.all = [self.all[i] for i in kept]
        return left_out

    def index_of(self, option: str, name: str) -> int:
        """Throws Refused with its neighbours where there is no such release. `option`: who asks."""
        names = [r.name for r in self.all]
        found = [i for i, of in enumerate(names) if is_of_version(of, name)]
        if name in names or len(found) == 1:
            return names.index(name) if name in names else found[0]
        after = next((i for i, of in enumerate(names) if version_from(of) >= version_from(name)), len(names)) if version_from(name) and self.origin != "--images" else len(names)
        near = names[max(0, after - 1) : after + max(1, len(found))] if after else names[: 1 + max(1, len(found))]
        raise Refused(f"{option} {one_line(name)}: {'this is not one release' if found else 'there is no such release'} of {self.origin}; near it: {', '.join(near)}")

    def ready(self, which: int) -> Release:
        """With its files, fetched where they are not there."""
        r = self.all[which]
        if self.keep == Path() or r.place:
            return r
        folder = self.keep / f"{self.prefix}{r.name}"
        if not self.is_fetched(folder):
            self._fetch(r.name, folder)
        try:
            self.all[which] = self.fetched_in(r.name, folder)
        except Refused as why:
            raise Refused(f"{why}; remove it, so that it is fetched again") from None
        return self.all[which]

    def _fetch(self, version: str, folder: Path) -> None:
        """Its folder is there when all of it is. Nothing but a lock is left where it fails or is interrupted."""
        beside = folder.parent / f".fetching-{folder.name}"
        with ExitStack() as at_end:
            lock = at_end.enter_context(open(f"{beside}.lock", "w", encoding="ascii"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"bisect: another process fetches into {beside}: waiting for its end")
                waited = run_process(["flock", lock.name, "true"], FETCH_LIMIT, self.stop)  # which a signal ends
                if waited.how != "exit 0":
                    raise Refused(f"{beside}: another process fetches into it: {waited.words()}") from None
                self._fetch(version, folder)
                return
            at_end.callback(shutil.rmtree, beside, ignore_errors=True)
            if self.is_fetched(folder):
                return
            for left in (beside, folder):  # by a run that was killed
                shutil.rmtree(left, ignore_errors=True)
            say(f"bisect: fetching {version} into {folder}")
            for words in self.fetching(version, beside):
                ended = run_process(words, FETCH_LIMIT, self.stop)
                if ended.how != "exit 0":
                    raise Refused(f"{self.what} {version} could not be fetched: {ended.words()}")
            beside.rename(folder)

    def fetching(self, version: str, into: Path) -> Iterator[Sequence[str | Path]]:
        """Commands, run one after another."""
        yield ["/usr/bin/env", "bash", self.fetch, version, into]

    def fetched_in(self, name: str, folder: Path) -> Release:
        return release_in(name, folder)

    def is_fetched(self, folder: Path) -> bool:
        """As ci/fetch-cublas leaves it: the licence comes last."""
        return any(folder.glob("*.licence.txt"))


# ---- the search ----


class Bisecting:
    source_of: type[Source] = Source

    def __init__(self, asked_for: asked.Asked, scratch: str, stop: int):
        self.asked_for, self.options, self.command, self.scratch, self.stop = asked_for, asked_for.options, asked_for.behind, scratch, stop
        self.source, self.program = self.source_of(asked_for, stop), asked_for.file("program")
        options, arm = self.options, "".join(asked_for.names)
        self.case, _, self.arm_name = arm.partition("/")
        self.most: int = options["most"]
        self.report = Report(arm or quoted(self.command), bool(arm), self.source.origin, quoted(asked_for.line), "once" in options, options["error"])
        self.timeout = float(options.get("timeout", 600))
        self.images, self.ok, self.control = "images" in options, options.get("ok", ""), options.get("control", "")
        self.tried, self.containers = dict[int, Tried](), 0
        self.seeking: Optional[Bisection] = None
        self.decided = False  # the ends differ
        self.known: list[tuple[str, Path]] = []  # what an arm that does not race came to, by name, and its record
        if arm:
            self._look_at_arm()
        elif not self.images:
            self._look_at_command()
        try:
            self.pattern = re.compile(options.get("text", ""))
        except re.error as error:
            raise Refused(f"--text {one_line(options['text'])}: {error}") from None
        self.engine = os.environ.get("CUFAULT_ENGINE", "docker run --rm --gpus all").split() if self.images else []
        if self.images and "run" not in self.engine:
            raise Refused(f"CUFAULT_ENGINE='{one_line(os.environ['CUFAULT_ENGINE'])}' has no word run, as in: docker run --rm --gpus all")
        self.engine[:1] = [program_path(word) for word in self.engine[:1]]

    def _look_at_command(self) -> None:
        program_path(self.command[0])

    def _look_at_arm(self) -> None:
        try:
            cases = self.source.own(["list", "--json", self.case])["cases"]
        except Refused:
            cases = []
        case: dict[str, Any] = next((c for c in cases if c["name"] == self.case), {"arms": []})
        arm = next((a for a in case["arms"] if a["name"] == self.arm_name), None)
        if arm is None:
            raise Refused(f"there is no arm {one_line(self.report.what)}; `cufault list CASE` names those of a case")
        self.report.once = not arm["races"]
        if case["needs"] == "gpu" and not self.images and "releases" not in self.options:  # before releases are fetched, which takes minutes
            if no_gpu := self.source.own(["stack", "--json"]).get("no_gpu"):
                raise Refused(f"there is no GPU: {no_gpu}", EXIT_SKIPPED)

    def name_of(self, which: int) -> str:
        return self.source.all[which].name

    def end_of(self, name: str, which: int) -> str:
        return f"--{name} {self.name_of(which)}"

    def of(self, which: int) -> Tried:
        return self.tried.setdefault(which, Tried())

    def search(self) -> int:
        bad = self.source.index_of("--bad", self.options["bad"])
        goods = sorted(self.source.index_of("--good", name) for name in self.options["good"])
        if bad in goods:
            raise Refused(f"--good and --bad are both {self.name_of(bad)}")
        if len(goods) == 2 and not goods[0] < bad < goods[1]:
            raise Refused("both --good are on one side of --bad: give one that is older and one that is newer")
        names = [self.name_of(which) for which in (bad, *goods)]
        left_out = self.source.keep_to_the_way(sorted([bad, *goods]))
        bad, *goods = (next(i for i, r in enumerate(self.source.all) if r.name == name) for name in names)
        if left_out:
            self.report.origin += f", each beside the one that it follows; left out, as patches of other branches: {', '.join(left_out)}"
        for good in goods:
            self._search_between(good, bad)
        self.print()
        return EXIT_RANGE if any(change.between for change in self.report.changes) else 0

    def end_early(self, error: str, exit_code: int) -> None:
        """Of a search that an error ended: prints what was decided, with the error, and throws Refused; returns where nothing was."""
        if not self.decided:
            return
        so_far = "nothing more is known"
        if self.seeking:
            so_far = f"{self.name_of(self.seeking.good)} is good and {self.name_of(self.seeking.bad)} is bad so far"
            self._add_change()
        for which, one in self.tried.items():
            one.name = self.name_of(which)
            if not one.result:
                one.result, one.why = "undecided", "the search ended here"
        why = f"{error}; {so_far}"
        self.print([{"arms": [], "exit_code": exit_code, "why": why}])
        raise Refused(why, exit_code, told=self.asked_for.json)

    def _search_between(self, good: int, bad: int) -> ReleaseTest:
        test = self._compare_ends(good, bad)
        self.decided, self.seeking = True, Bisection(good, bad)
        while (which := self.seeking.next()) is not None:
            self.seeking.add(which, self._decide(which, test))
            one = self.tried[which]
            say(f"bisect: {one.name or self.name_of(which)}: {one.result} in {one.seconds:.1f} s; {len(self.seeking.between())} left")
        if not self.report.is_arm and not self.control:
            self._require_good_still(good, test)
        self._add_change()
        return test

    def _add_change(self) -> None:
        assert self.seeking
        s, self.seeking = self.seeking, None
        self.report.changes.append(Change(s.mended, self.name_of(s.good), self.name_of(s.bad), [self.name_of(i) for i in s.between()], s.decisions + 1))

    def _compare_ends(self, good: int, bad: int) -> ReleaseTest:
        """Trials of both ends, until they differ by more than chance."""
        ends = {good: ("good", self.of(good)), bad: ("bad", self.of(bad))}
        (_, one), (_, other) = ends.values()
        comparison = 0
        while True:
            trials = 1 if self.report.once else min(FIRST_COMPARISON << comparison, 2 * self.most)
            for which, (name, tried) in ends.items():
                say(f"bisect: {self.name_of(which)}, the {name} end: {text.plural(trials, 'trial')}")
                try:
                    while sum(tried.outcomes.values()) < trials:
                        self._try_once(which)
                except Unusable as why:
                    raise Refused(f"{self.end_of(name, which)}: {why}", why.exit_code) from None
            test = ReleaseTest(one.outcomes, other.outcomes, self.report.error)
            if one.outcomes != other.outcomes if self.report.once else test.chance < error_of_comparison(comparison, self.report.error):
                one.result, other.result = GOOD, BAD
                return test
            if self.report.once or trials >= 2 * self.most:
                raise Refused(f"{self.name_of(good)} and {self.name_of(bad)} cannot be told apart by {text.plural(trials, 'trial')} of each: {words_of(one.outcomes)}; {words_of(other.outcomes)}")
            comparison += 1

    def _decide(self, which: int, test: ReleaseTest) -> Optional[str]:
        one = self.of(which)
        try:
            while sum(one.outcomes.values()) < self.most:
                self._try_once(which)
                like = test.likeness_of(min(one.outcomes)) if self.report.once else test.decide(one.outcomes)
                if like:
                    one.result = like
                    return like
            one.result, one.why = "undecided", f"not decided: {words_of(one.outcomes)}"
        except Unusable as why:
            one.result, one.why = "skipped", str(why)
        return None

    def _require_good_still(self, good: int, test: ReleaseTest) -> None:
        """A command without a control: had something else changed meanwhile, the good end would show it."""
        one = self.tried[good]
        before, one.outcomes = one.outcomes, Counter()
        like = self._decide(good, test)
        now, one.outcomes = one.outcomes, before + one.outcomes
        if like == GOOD:
            return
        self.seeking = None
        raise Refused(f"{self.name_of(good)} was good ({words_of(before)}) and at the end is not ({words_of(now) if now else one.why}): something else changed meanwhile, and the search says nothing")

    # ---- one run ----

    def _try_once(self, which: int) -> None:
        """Adds the outcomes of one run. Throws Unusable."""
        one, begun = self.of(which), time.monotonic()
        try:
            release = self.source.ready(which)  # one that cannot be had says nothing
        except (Refused, OSError) as why:
            raise Unusable(str(why)) from None
        with tempfile.TemporaryDirectory(prefix="cufault-bisect-") as folder:
            scratch = Path(folder)
            if not one.name:
                self._describe_release(release, one, scratch)
            one.outcomes.update(self._outcomes_of_arm(release, scratch) if self.report.is_arm else [self._outcome_of_command(release, scratch)])
        one.seconds += time.monotonic() - begun

    def _describe_release(self, release: Release, shown: Tried, scratch: Path) -> None:
        """Version and build id, by a process that loads the pair; GPU and driver of the first."""
        shown.name = release.name
        if release.pair:
            stack = self.source.own(["stack", "--json", "--cublas", release.pair[0], "--cublaslt", release.pair[1], "--device", str(self.options["device"])])
            self._require_code(release, (stack.get("gpu") or {}).get("compute_capability", ""))
        else:
            said = self._in_release(release, [str(self.program), "stack", "--json"], scratch, 600, own=True)
            try:
                stack = json.loads(said.out)
            except ValueError:
                stack = {"reasons": []}
            if "reasons" in stack:
                raise Unusable(f"cufault stack does not run in this image: {said.words()}")
        self._name_machine(stack)
        shown.version = (stack.get("cublas") or {}).get("version", "")
        shown.build_id = ((stack.get("files") or {}).get("cublas") or {}).get("build_id", "")
        if "cublas" not in stack:
            return  # a build without CUDA binds none
        if stack.get("error"):
            raise Unusable(stack["error"])
        if release.pair and not is_of_version(release.name, shown.version):
            raise Unusable(f"{release.pair[0]}: the library says that it is {shown.version}")
        self._require_pair(release, stack)

    def _name_machine(self, stack: dict[str, Any]) -> None:
        for member, key in (("gpu", "name"), ("driver", "version"), ("runtime", "version")):
            setattr(self.report, member, getattr(self.report, member) or (stack.get(member) or {}).get(key, ""))

    def _require_code(self, release: Release, gpu: str) -> None:
        """That a library is for this processor, and has code for this GPU or none at all. Throws Unusable."""
        capability = int(gpu.replace(".", "") or 0)

        def runs(code: dict[str, str]) -> bool:
            architecture, specific = int(re.sub("[^0-9]", "", code["architecture"])), code["architecture"].endswith("a")
            same_family = code["kind"] == "ptx" or architecture // 10 == capability // 10
            return architecture == capability if specific else same_family and architecture <= capability

        for file in release.pair:
            try:
                facts = self.source.own(["library", "--json", "--no-load", file])
            except Refused as no_library:
                raise Unusable(str(no_library)) from None
            if facts["machine"] != os.uname().machine:
                raise Unusable(f"{file} is for {facts['machine']}, and this machine is {os.uname().machine}")
            if capability and facts["code"] and not any(map(runs, facts["code"])):
                raise Unusable(f"{file} has no code for this GPU (sm_{capability}): it has {' '.join(c['architecture'] for c in facts['code'])}")

    def run_options(self, release: Release) -> list[str]:
        """With which `cufault run` takes it."""
        return ["--cublas", str(release.pair[0]), "--cublaslt", str(release.pair[1])] if release.pair else []

    def _require_pair(self, release: Release, stack: dict[str, Any]) -> None:
        """A step in which another library was loaded than asked is an error."""
        for library, key, asked in (("cublas", "path", 0), ("cublaslt", "path", 1), ("cublaslt", "called_by_cublas", 1)):
            loaded = (stack.get(library) or {}).get(key)
            if release.pair and loaded and loaded != str(release.pair[asked]):
                raise Refused(f"{loaded} was loaded in place of {release.pair[asked]}")

    def _in_release(self, release: Release, argv: Sequence[str], scratch: Path, timeout: float, own: bool = False) -> Ended:
        """Runs a program on a release, in its image if it is one. `own`: cufault itself, which an image gets from here. Any other gets the pair preloaded."""
        program, *words = argv
        changes: dict[str, str] = {}
        container = ""
        if not release.pair:
            self.containers += 1
            container = f"cufault-bisect-{os.getpid()}-{self.containers}"
            line: list[str] = [*self.engine, "--name", container]
            if own:  # at a path that no image has: of a package the tree is /usr
                tree = self.program.parent.parent
                line += ["-v", f"{tree}:/cufault:ro", "-v", f"{scratch}:{scratch}"]
                program = str(Path("/cufault", self.program.relative_to(tree)))
            line += ["--entrypoint", program, release.name, *words]
        else:
            line = [program_path(program), *words]
            if own:
                changes = {"TMPDIR": str(scratch), "CUFAULT_PYTHON": ""}  # what a killed run leaves goes with scratch
            else:  # cuBLASLt first: DT_RPATH of a libcublas would find another one before LD_LIBRARY_PATH
                preload = [str(release.pair[1]), str(release.pair[0]), *filter(None, [os.environ.get("LD_PRELOAD")])]
                changes = {"LD_PRELOAD": ":".join(preload), **traced(scratch)}
        ended = None
        try:
            ended = run_process(line, timeout, self.stop, changes)
        finally:
            if container and (ended is None or ended.code < 0):  # it is no child of ours
                run_process([*self.engine[: self.engine.index("run")], "rm", "-f", container], 60, -1)
        if release.pair and not own:
            self._require_loaded(release, scratch)
        return ended

    @staticmethod
    def _require_loaded(release: Release, scratch: Path) -> None:
        """By what the loader told of each process that kept our environment: LD_PRELOAD keeps nothing from opening another library by its path."""
        loaded = [file for file in loaded_in(scratch) if re.match(r"libcublas(Lt)?\.so", file.name)]
        for file in loaded:
            asked = release.pair[file.name.startswith(LT_STEM)]
            if not file.exists() or not file.samefile(asked):
                raise Refused(f"the command loaded {file} beside {asked}: it opens a library by its path, and cannot be bisected so; give it --images")
        if not any(file.name.startswith(STEM) for file in loaded):
            raise Refused(f"no process of the command loaded {release.pair[0]}: the command is linked statically, or not with glibc; give it --images")

    def _outcome_of_command(self, release: Release, scratch: Path) -> str:
        if self.control:
            control = self._in_release(release, ["/bin/sh", "-c", self.control], scratch, self.timeout)
            if control.how != "exit 0":
                raise Unusable(f"the control failed: {control.words()}")
        ran = self._in_release(release, self.command, scratch, self.timeout)
        outcome = ran.how
        if self.ok:
            outcome = "acceptable" if self._accepts(ran, scratch) else f"{outcome}, not acceptable"
        if "text" not in self.options:
            return outcome
        lines = (ran.out + b"\n" + ran.err).decode(errors="surrogateescape").split("\n")
        return outcome + (", with the text" if any(self.pattern.search(line[:LONGEST_LINE]) for line in lines) else ", without the text")

    def _accepts(self, ran: Ended, scratch: Path) -> bool:
        """What the user's oracle says of a run."""
        out, err = scratch / "stdout", scratch / "stderr"
        out.write_bytes(ran.out)
        err.write_bytes(ran.err)
        changes = {"CUFAULT_RUN_STDOUT": str(out), "CUFAULT_RUN_STDERR": str(err), "CUFAULT_RUN_OUTCOME": ran.how, "CUFAULT_RUN_FAILED": ""}
        said = run_process(["/bin/sh", "-c", self.ok], 600, self.stop, {**changes, "CUFAULT_RUN_EXIT": str(ran.code) if ran.code >= 0 else ""})
        if said.code in (-1, 126, 127):
            raise Refused(f"--ok {one_line(self.ok)}: it does not answer; it ended by {said.words()}")
        return said.code == 0

    def _outcomes_of_arm(self, release: Release, scratch: Path) -> list[str]:
        """The arm with the controls of its case, by `cufault run` in a process of its own. It judges; what it saw is the outcome."""
        records = scratch / "records"
        records.mkdir()  # ours, also where a container writes to it
        argv = [str(self.program), "run", "--json", "--tier=full", "--repeats=6", f"--device={self.options['device']}", f"--wait={self.options['wait']}", "--records", str(records), self.report.what, *self.run_options(release)]
        ran = self._in_release(release, argv, scratch, 7200, own=True)
        files = sorted(records.glob("*.jsonl"))
        lines = [json.loads(line) for line in files[0].read_text().splitlines()] if files else []
        if not lines or not lines[-1].get("complete"):
            raise Refused(f"{release.name}: cufault run: {ran.words()}")
        stack = lines[0]["stack"]
        self._require_pair(release, stack)
        unresolved = {(u["case"], u["arm"]): u["why"] for u in json.loads(ran.out)["unexpected"] if u["verdict"] == "UNRESOLVED"}
        of_case = [line for line in lines if line.get("case") == self.case]
        for line in of_case:
            if line["kind"] == "control" and (self.case, line["arm"]) in unresolved:
                raise Unusable(f"control {line['arm']}: {unresolved[self.case, line['arm']]}")
        arm = next((line for line in of_case if line["arm"] == self.arm_name), None)
        if arm is None and stack.get("no_gpu"):
            raise Unusable(f"there is no GPU: {stack['no_gpu']}", EXIT_SKIPPED)
        if arm is None:
            raise Refused(f"{release.name}: the record has no arm {self.report.what}")
        return self._outcomes_of(arm, unresolved.get((self.case, self.arm_name), ""), files[0])

    def _outcomes_of(self, arm: dict[str, Any], unresolved: str, record: Path) -> list[str]:
        if not arm["trials"]:
            raise Unusable("no trial was made")
        for trial in arm["trials"]:
            if trial.get("ended") in ("not_provoked", "harness_failed"):
                raise Unusable(f"{trial['ended']}: {trial.get('why') or 'no reason was given'}")
        if unresolved:
            raise Unusable(f"timed_out: {unresolved}")
        if arm.get("races"):
            counted = re.findall(r"(?:^| \| )([0-9]+) of [0-9]+: (.*?)(?= \| [0-9]+ of [0-9]+: |$)", arm["saw"])
            return [saw for trials, saw in counted for _ in range(int(trials))] or [arm["saw"]] * len(arm["trials"])
        name: str = arm["saw"]
        for known, before in self.known:  # as records are compared: levels and measurements within their bands
            compared = json.loads(run_process([self.program, "diff", "--json", before, record], 600, self.stop).out)
            differs = next((a for a in compared["arms"] if (a["case"], a["arm"]) == (self.case, self.arm_name) and not a["noted"]), None)
            if differs is None:
                return [known]
            name = f"{arm['saw']} ({differs['why']})" if known == arm["saw"] else name
        kept = Path(self.scratch, f"{len(self.known)}.jsonl")
        shutil.copy(record, kept)
        self.known.append((name, kept))
        return [name]

    def print(self, reasons: Sequence[dict[str, Any]] = ()) -> None:
        report = self.report
        report.releases, report.reasons = [self.tried[which] for which in sorted(self.tried)], list(reasons)
        for change in report.changes if report.is_arm and not self.images and "pins" not in self.options else ():
            bad = self.source.ready(self.source.index_of("--bad", change.bad))
            report.repeat += f"; one release: cufault run {quoted(self.run_options(bad)[:2])} {report.what}"
        report.cufault = run_process([self.program, "--version"], 60, -1).out.decode().strip().removeprefix("cufault ")
        if self.asked_for.json:
            text.print_json(report.json())
        else:
            report.print(self.asked_for.out, self.asked_for.markdown)
        sys.stdout.flush()


def search(asked_for: asked.Asked, stop: int, of: type[Bisecting] = Bisecting) -> int:
    bisecting = None
    with tempfile.TemporaryDirectory(prefix="cufault-bisect-") as scratch:
        try:
            bisecting = of(asked_for, scratch, stop)
            return bisecting.search()
        except Interrupted:
            if bisecting:
                bisecting.end_early("interrupted", EXIT_INTERRUPTED)
            raise Refused("interrupted; no release is decided", EXIT_INTERRUPTED) from None
        except (Refused, OSError) as error:
            if bisecting:
                bisecting.end_early(str(error), error.code if isinstance(error, Refused) else 2)
            raise


def main(asked_for: asked.Asked) -> int:
    return in_child(lambda stop: search(asked_for, stop))
