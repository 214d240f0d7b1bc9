# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault drill: the context of a server is made to fail after warm-up; does the server end, recover, say so, or live on as a zombie?
cufault ctl: changes the rules of a running process. Both write a file of rules, which the injector reads again when it changes."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import queue
import random
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Optional
from xml.sax.saxutils import quoteattr

import asked
import processes
import text
from asked import Asked, Refused, did_you_mean, one_line

Rule = dict[str, Any]
OK = {"ends", "recovers", "says so"}
PAUSE, SETTLED, GRACE, EXIT_INTERRUPTED = 0.2, 5.0, 3.0, 130  # seconds: between looks; right answers for so long; for SIGTERM
WARM = 0.6  # seconds: between the first probes, so that a time in seconds in their answers changes
LARGE, LARGEST = 16 << 20, 1 << 20  # bytes: of the injector's log; of an answer
WORK = ("cuLaunch*", "cuGraphLaunch", "cuMemcpy*", "cuMemset*", "cuMemAlloc*")  # who calls these uses a GPU
LIBRARIES = ("cublasLt", "cublas", "cudnn", "cusolver", "nccl", "nvml", "cuda")  # names begin so; the last one is cudart
NOBODY = 2**31 - 1  # a process ID that there is not
COLLECTIVES = "ncclAllReduce ncclAllGather ncclAlltoAll ncclReduceScatter ncclReduce ncclBroadcast ncclBcast ncclGather ncclScatter ncclSend ncclRecv ncclGroupEnd"


class Preset(NamedTuple):
    """`rules`: of the processes that are hit; `later`: of those that start behind it, too."""

    xid: int
    what: str
    rules: list[Rule]
    later: list[Rule] = []


def each_of(names: str, **effect: Any) -> list[Rule]:
    return [{"function": name, **effect} for name in names.split()]


def lost(xid: int, code: str) -> Preset:
    """The next call that needs the context returns the code, and every later one in that context: as after an error of a kernel."""
    rules = each_of("cu[LMSE]* cuGraphLaunch cuCtxSynchronize", sticky=True, force=True, hits=1, **{"return": code})
    return Preset(xid, f"every call in the context returns {code}", rules)


# Recorded of sticky.device_fault on an H200: Xid 13 behind a misaligned address, 31 behind an illegal one, 43 behind a trap. What returns behind the other
# Xids is not recorded: their codes are chosen by their words in cuda.h.
PRESETS = {
    "exception": lost(13, "MISALIGNED_ADDRESS"),
    "illegal_address": lost(31, "ILLEGAL_ADDRESS"),
    "stopped": lost(43, "LAUNCH_FAILED"),
    "ecc": lost(48, "ECC_UNCORRECTABLE"),
    "nvlink": lost(74, "NVLINK_UNCORRECTABLE"),
    "off_the_bus": lost(79, "UNKNOWN"),
    "contained": lost(94, "CONTAINED"),
    "uncontained": lost(95, "ECC_UNCORRECTABLE"),
    "out_of_memory": Preset(0, "allocations of device memory and of pinned memory fail from now on", each_of("cuMemAlloc* cuMemCreate cuMemHostAlloc", **{"return": "OUT_OF_MEMORY"})),
    "hang": Preset(0, "a kernel never ends: waits, copies and frees do not return, and queries say NOT_READY", each_of("cu*Synchronize cuMemcpy cuMemcpyPeer cuMemcpy?to? cuMemcpy2D cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DPeer cuMemFree", spin=True)),
    "nccl_peer_lost": Preset(0, "every collective returns ncclRemoteError", each_of(COLLECTIVES, **{"return": "ncclRemoteError"})),
    "wrong_numbers": Preset(0, "one element of each product of one matrix, of cuBLAS, has other bits", each_of("cublas*[gG]emm* cublasLtMatmul", corrupt="element")),
}
PRESETS["hang"].rules.extend(each_of("cuStreamQuery cuEventQuery", **{"return": "NOT_READY"}))
PRESETS["off_the_bus"].rules.extend(each_of("nvmlDeviceGet*", **{"return": "GPU_IS_LOST"}))
PRESETS["off_the_bus"] = PRESETS["off_the_bus"]._replace(later=each_of("cuInit", **{"return": "NO_DEVICE"}), what="every call in the context returns UNKNOWN, NVML says GPU_IS_LOST, and processes that start find no device")
BY_XID = {f"xid{preset.xid}": name for name, preset in PRESETS.items() if preset.xid}


def rules_asked_for(options: dict[str, Any]) -> tuple[list[Rule], Preset]:
    fails, name, names = options.get("fail", []), options.get("as"), [*PRESETS, *BY_XID]
    if name and name not in names:
        raise Refused(f"--as {one_line(name)}: one of {', '.join(names)}{did_you_mean(name, names)}")
    preset = PRESETS[BY_XID.get(name, name)] if name else Preset(0, "", [])
    return [*preset.rules, *({"fail": each} for each in fails)], preset._replace(what="; ".join(filter(None, [preset.what, *fails])))


def library_of(rule: Rule) -> str:
    """As `cufault inject --library` names it; "" of a function of the driver."""
    function: str = rule.get("fail") or rule.get("function") or ""
    return next((name for name in LIBRARIES if function.startswith(name)), "").replace("cuda", "cudart")


def read_rules(file: Path) -> list[Rule]:
    try:
        return list(json.loads(file.read_bytes())["rules"])
    except (ValueError, KeyError, TypeError):
        raise Refused(f"{one_line(str(file))}: is no file of rules, as {{\"rules\": []}}") from None


def write_rules(file: Path, rules: Iterable[Rule]) -> None:
    """Whole, or not at all: it is read at any time."""
    new = file.with_name(file.name + ".new")
    new.write_text(json.dumps({"rules": [*rules]}))
    new.replace(file)


def check(asked_for: Asked, rules: list[Rule], scratch: Path, more: Iterable[str] = ()) -> None:
    """Throws where the injector refuses one."""
    write_rules(scratch / "checked.json", rules)
    ran = processes.run([asked_for.file("program"), "inject", "--require", "0", *more, "--rules", scratch / "checked.json", "--", "true"], 60, -1)
    if ran.code != 0:
        raise Refused(re.sub(r"^.*checked\.json: |^cufault: ", "", ran.err.decode(errors="replace").strip().split("\n")[-1]) or ran.how)


def environment_of(pid: int) -> dict[str, str]:
    try:
        each = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape").split("\0")
    except OSError:
        return {}
    return dict(word.split("=", 1) for word in each if "=" in word)


def is_url(said: str) -> bool:
    return said.startswith(("http://", "https://"))


def rank_of(pid: int) -> Optional[int]:
    variables = environment_of(pid)
    rank = variables.get("RANK", variables.get("LOCAL_RANK", ""))
    return int(rank) if rank.isdigit() else None


def name_of(pid: int) -> str:
    try:
        return one_line(os.path.basename(os.readlink(f"/proc/{pid}/exe")))
    except OSError:
        return "?"


class Answer(NamedTuple):
    status: int
    body: bytes
    said: str

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300


def fetch(url: str, data: Optional[bytes], seconds: float, stop: int) -> Answer:
    """Without a proxy. One that takes longer, at whatever pace, is no answer. Throws Interrupted where `stop` can be read."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    told: queue.Queue[Answer] = queue.Queue()

    def ask() -> None:
        try:
            with opener.open(urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {}), timeout=2 * seconds) as reply:
                body = reply.read(LARGEST)
                whole = not reply.length or len(body) == LARGEST
                told.put(Answer(reply.status, body, f"HTTP {reply.status}") if whole else Answer(0, b"", "the answer broke off"))
        except urllib.error.HTTPError as error:
            told.put(Answer(error.code, b"", f"HTTP {error.code}"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = getattr(error, "reason", error)
            told.put(Answer(0, b"", one_line(getattr(why, "strerror", None) or str(why) or type(why).__name__).lower()))

    threading.Thread(target=ask, daemon=True).start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            return told.get(timeout=0.05)
        except queue.Empty:
            processes.wait(stop, 0)
    return Answer(0, b"", f"no answer within {seconds:g} s")


def names_in(body: bytes) -> list[str]:
    """Of a JSON object: they stay where its values differ from answer to answer."""
    with contextlib.suppress(ValueError, RecursionError):
        return sorted(told) if isinstance(told := json.loads(body), dict) else []
    return []


def values_in(body: bytes) -> dict[str, str]:
    """Of a JSON object, by their paths; a list of numbers or strings is one value."""
    found: dict[str, str] = {}

    def add(path: str, told: Any) -> None:
        inner = [*told.items()] if isinstance(told, dict) else [*enumerate(told)] if isinstance(told, list) and told and isinstance(told[0], dict) else []
        for name, each in inner:
            add(f"{path}.{name}" if path else str(name), each)
        if not inner:
            found[path] = json.dumps(told)

    with contextlib.suppress(RecursionError):
        if names_in(body):
            add("", json.loads(body))
    return found


def difference(was: bytes, now: bytes) -> str:
    at = next((i for i, (a, b) in enumerate(zip(was, now)) if a != b), min(len(was), len(now)))
    is_now, was_then = (one_line(each[max(0, at - 20) : at + 40].decode(errors="replace")) for each in (now, was))
    return f"'{is_now}' in place of '{was_then}'"


class Drill:
    def __init__(self, asked_for: Asked, scratch: Path, stop: int):
        options = self.options = asked_for.options
        self.asked, self.stop, self.file, self.log = asked_for, stop, scratch / "rules.json", scratch / "log"
        self.rules, self.preset = rules_asked_for(options)
        if not self.rules:
            raise Refused(f"say what fails: --as NAME, or --fail; names are {', '.join([*PRESETS, *BY_XID])}")
        self.probe, self.health, self.ready = options["probe"], options.get("health", ""), options.get("after-ready", "")
        for url in filter(None, (self.probe, self.health)):
            if not is_url(url):
                raise Refused(f"{one_line(url)}: is no http:// or https:// address")
        if not self.health and is_url(self.ready):
            self.health = self.ready
        try:
            self.pattern, self.wanted = (re.compile(options.get(name, "").encode(), re.MULTILINE) for name in ("after-ready", "answer"))
        except re.error as error:
            raise Refused(f"{error.pattern!r} is no regular expression: {error}") from None
        self.limit, self.of_exit, self.of_probe = (float(options[name]) for name in ("ready-within", "expect-exit", "probe-timeout"))
        self.ranks = self.drawn_ranks()
        check(asked_for, [{**rule, "pid": 1} for rule in self.rules] + self.preset.later, scratch)
        self.seen: dict[str, Any] = {"processes": [], "timeline": []}
        self.steady, self.differs, self.last = dict[str, str](), "", b""
        self.pids: list[int] = []
        self.began, self.read_to, self.is_ready, self.last_line = time.monotonic(), 0, threading.Event(), b""
        self.users: dict[int, None] = {}  # processes that called the driver, in their order
        self.struck, self.acts = 0.0, 0  # when; how often
        self.worked, self.untouched, self.looks = False, "", 0
        self.in_effect: list[Rule] = []

    def drawn_ranks(self) -> list[int]:
        if not (said := self.options.get("ranks")):
            return []
        of = re.fullmatch(r"(\d+) of (\d+)", said)
        if not of or not 1 <= int(of[1]) <= int(of[2]) <= 100_000:
            raise Refused(f"--ranks {one_line(said)}: as in '2 of 8'")
        return sorted(random.Random(self.options["seed"]).sample(range(int(of[2])), int(of[1])))

    def since(self) -> float:
        return round(time.monotonic() - self.began, 2)

    # ---- the program ----

    def start(self) -> None:
        processes.adopt_orphans()
        self.put([{**rule, "pid": NOBODY} for rule in self.rules])  # what intercepts the libraries that they name is preloaded for these
        words: list[str | Path] = [self.asked.file("program"), "inject", "--require", "0", "--rules", self.file, "--log", self.log]
        self.process = subprocess.Popen([*words, "--", *self.asked.behind], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        threading.Thread(target=self.pass_on, daemon=True).start()

    def put(self, rules: list[Rule]) -> None:
        """These rules into effect. The first work of each process on a GPU from now on is told."""
        self.in_effect, self.worked, self.looks = rules, False, self.looks + 1
        write_rules(self.file, [*({"function": each, "log": True, "hits": 1, "seed": self.looks} for each in WORK), *rules])

    def works(self) -> bool:
        """Whether a GPU works while --probe is asked: a right answer can come from a cache."""
        self.read_log()
        self.put(self.in_effect)
        deadline = time.monotonic() + SETTLED
        while not self.worked and time.monotonic() < deadline:
            answer = self.ask()
            if answer.good and not self.struck and names_in(answer.body) in self.names:
                self.learn(answer.body)
            processes.wait(self.stop, PAUSE)  # a process takes the rules within it
            self.read_log()
        return self.worked

    def pass_on(self) -> None:
        """What the program says, to standard error."""
        said = b""
        for new in iter(lambda: self.process.stdout.read1(1 << 16), b""):  # type: ignore[union-attr]
            with contextlib.suppress(OSError):  # the program goes on where nobody reads
                os.write(2, new)
            said = (said + new)[-(1 << 16) :]
            self.last_line = said.rstrip().rpartition(b"\n")[2] or self.last_line
            if self.ready and self.pattern.search(said):  # a prompt has no end of line
                self.is_ready.set()

    def living(self) -> list[int]:
        """Processes of the program: all that have this one above them."""
        above: dict[int, int] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = stat.read_bytes().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    above[int(stat.parent.name)] = int(parent)
            except (OSError, IndexError):
                pass  # it is gone
        ours = {os.getpid()}
        while more := {pid for pid, parent in above.items() if parent in ours} - ours:
            ours |= more
        still = {self.process.pid} if self.process.poll() is None else set()  # its first thread may have ended before the others
        return sorted((ours - {os.getpid()}) | still)

    def exit_of_leader(self) -> str:
        code = self.process.poll()
        return "" if code is None else processes.how(code)

    def exit_of(self, pid: int) -> str:
        """Of one that became ours when what started it ended."""
        with contextlib.suppress(ChildProcessError):
            if ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return processes.how(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
        return "it ended"

    def end(self) -> None:
        for pid in self.living():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while (left := self.living()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.seen["sigkill"] = len(left)
        processes.end_tree(self.process)

    def read_log(self) -> None:
        """Who called the driver, and what acted."""
        try:
            with self.log.open("rb") as lines:
                self.read_to = max(self.read_to, lines.seek(0, os.SEEK_END) - LARGE)
                lines.seek(self.read_to)
                new = lines.read(LARGE).rpartition(b"\n")[0] + b"\n"
        except OSError:
            return
        self.read_to += len(new) if len(new) > 1 else 0
        if self.read_to > LARGE and self.pids:  # a program that asks again and again
            os.truncate(self.log, 0)
            self.read_to = 0
        for line in new.splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            event, pid = told.get("event"), told.get("pid", 0)
            if event == "call":
                self.users[pid] = None
                self.worked |= told.get("result") == "CUDA_SUCCESS"
            elif event == "not injected":
                self.untouched = f"; {one_line(str(told.get('function')))} was left alone: {one_line(str(told.get('because')))}"
            elif event in ("injected", "sticky") and self.pids:
                self.struck, self.acts = self.struck or time.monotonic(), self.acts + 1

    # ---- the drill ----

    def become_ready(self) -> None:
        """Throws where it does not. Then `right` is what an answer is compared with."""
        deadline, url = time.monotonic() + self.limit, is_url(self.ready)
        last, answers = Answer(0, b"", "it was not asked"), list[Answer]()
        while len(answers) < 3:
            self.refuse_end(self.living(), "it was ready")
            if time.monotonic() > deadline:
                is_asked = self.probe if not self.ready or self.is_ready.is_set() else self.ready if url else ""
                what = f"{is_asked}: {last.said}" if is_asked else f"it did not print {self.ready} (some programs keep what they print to a pipe, as Python without -u)"
                raise Refused(f"not ready within {self.limit:g} s: {one_line(what)}")
            if url and not self.is_ready.is_set():
                last = fetch(self.ready, None, self.of_probe, self.stop)
                if last.good:
                    self.is_ready.set()
            if not self.ready or self.is_ready.is_set():
                last = self.ask()
                good = last.good and self.wanted.search(last.body)
                answers = [*answers, last] if good else []
                last = last if good or not last.good else last._replace(said="no answer that --answer asks for")
            processes.wait(self.stop, WARM if answers else PAUSE)
        if "after" in self.options:
            processes.wait(self.stop, float(self.options["after"]))
        self.seen["ready_s"] = self.since()
        self.right, self.is_exact, self.names, self.steady = answers[0].body, True, [names_in(answers[0].body)], values_in(answers[0].body)
        for answer in answers:
            self.learn(answer.body)

    def learn(self, body: bytes) -> None:
        """From an answer without a fault: what a right one may be."""
        self.is_exact = self.is_exact and body == self.right
        self.names.append(names_in(body))
        now = values_in(body)
        self.steady = {path: value for path, value in self.steady.items() if now.get(path) == value}
        self.seen["answers"] = "pattern" if "answer" in self.options else "equal" if self.is_exact else "vary"

    def is_as_before(self, body: bytes) -> bool:
        """`differs` tells what is not."""
        if self.seen["answers"] == "pattern":
            changed, is_right = None, bool(self.wanted.search(body))
        else:
            now, has_names = values_in(body), names_in(body) in self.names
            changed = next((path for path, value in self.steady.items() if has_names and now.get(path) != value), None)
            is_right = body == self.right if self.is_exact else changed is None and has_names
        self.differs = "" if is_right else f"{changed} is {one_line(now.get(changed, 'absent'))} in place of {one_line(self.steady[changed])}" if changed else difference(self.right, body)
        return is_right

    def refuse_end(self, living: list[int], before: str) -> None:
        if not living:
            said = f"it said: {one_line(self.last_line.decode(errors='replace'))}" if self.last_line else "it said nothing"
            raise Refused(f"the program ended by {self.exit_of_leader()} before {before}; {said}")

    def ask(self) -> Answer:
        data = self.options.get("data")
        return fetch(self.probe, data.encode() if data is not None else None, self.of_probe, self.stop)

    def arm(self) -> None:
        worked, living = self.works(), self.living()
        self.refuse_end(living, "calls were to fail")
        users = [pid for pid in self.users if pid in living]
        if not users or not worked:
            raise Refused("no process of the program called the driver while --probe was asked: does that need the GPU, or is it answered from a cache, and is the injector loaded (not setuid, LD_PRELOAD kept)?")
        if self.ranks:
            of = {pid: rank_of(pid) for pid in users}
            if missing := [rank for rank in self.ranks if rank not in of.values()]:
                raise Refused(f"no process that uses the GPU has RANK or LOCAL_RANK {missing[0]}; there are {', '.join(dict.fromkeys(str(rank) for rank in of.values() if rank is not None)) or 'none'}")
            users = [pid for pid in users if of[pid] in self.ranks]
        elif len(users) > 1 and not self.options.get("every-process"):
            raise Refused(f"{len(users)} processes of the program use the GPU (pid {', '.join(map(str, users))}): --ranks says which are hit, and --every-process hits all")
        self.pids = users
        self.seen["processes"] = [{"pid": pid, "program": name_of(pid), **({"rank": rank} if (rank := rank_of(pid)) is not None else {})} for pid in users]
        self.leads = self.process.poll() is None
        now = time.time()  # what such a process becomes later, and what it starts, is not hit
        self.put([{**rule, "pid": pid, "began_before": now} for pid in self.pids for rule in self.rules] + self.preset.later)
        self.armed = time.monotonic()
        self.seen["armed_s"] = self.since()

    def look(self) -> tuple[str, bool]:
        """Whether the answer is right, wrong or none, and whether the program says that it is well."""
        answer = self.ask()
        kind = "none"
        if answer.good:
            kind, self.last = "right" if self.is_as_before(answer.body) else "wrong", answer.body
        health = fetch(self.health, None, self.of_probe, self.stop) if self.health else None
        now = {"answer": kind, "probe": answer.said, **({"health": health.said} if health else {})}
        if not self.seen["timeline"] or {name: self.seen["timeline"][-1].get(name) for name in now} != now:
            self.seen["timeline"].append({"s": self.since(), **now})
        return kind, health is None or health.good

    def verdict(self) -> tuple[str, str]:
        limit, settled = self.of_exit, min(SETTLED, self.of_exit / 3)
        right_since, probes, failed = 0.0, 0, 0
        while True:
            kind, healthy = self.look()
            living, ended = self.living(), self.exit_of_leader()
            self.read_log()  # behind the look at processes: one that ended has told what made it fail
            now, began = time.monotonic(), self.struck or self.armed
            if ended and "exit" not in self.seen and (self.leads or not living):
                self.seen["exit"] = {"how": ended if self.leads else self.exit_of(self.pids[0]), "s": round(now - began, 2)}
            if kind == "wrong" and self.struck:
                return "wrong answers", f"HTTP 2xx, and {self.differs}{'; --answer says what is right' if self.seen['answers'] == 'vary' else ''}"
            if kind == "wrong" and names_in(self.last) in self.names:  # by itself: a time that changes seldom
                self.learn(self.last)
            probes, failed = (probes + 1, failed + (kind == "none")) if self.struck else (0, 0)
            is_right = bool(kind == "right" and healthy and self.struck)
            right_since = (right_since or now) if is_right else 0.0
            if not self.struck:
                self.refuse_end(living, "anything failed")
            if not living:
                return "ends", f"{self.seen['exit']['how']} after {now - began:.1f} s"
            if is_right and now - right_since >= settled:
                if not self.works():
                    raise Refused("the answers are right, and no call that works on a GPU succeeds: they come from a cache, or from the CPU; ask --probe what needs the GPU")
                compared = f"; compared: status{f', names and {len(self.steady)} values of their JSON' if self.names[0] else ''}" if self.seen["answers"] == "vary" else ""
                return "recovers", f"right answers for {now - right_since:.1f} s{compared}"
            if now >= began + limit and not is_right:  # a right answer at the end is no recovery yet: it has to last
                break
            processes.wait(self.stop, PAUSE)
        if not self.struck:
            raise Refused(f"nothing failed within {limit:g} s: the processes that were hit made no call that the rules are for{self.untouched}")
        if "exit" in self.seen and kind != "right":
            return "ends", f"{self.seen['exit']['how']} after {self.seen['exit']['s']:.1f} s; {text.plural(len(living), 'process')} stayed"
        if not healthy:
            return "says so", f"alive; --health ({self.health}): {self.seen['timeline'][-1]['health']}"
        says = f"{self.health} answers {self.seen['timeline'][-1]['health']}" if self.health else "there is no --health"
        return "zombie", f"after {limit:g} s it lives, {says}, and {failed} of {text.plural(probes, 'probe')} failed, the last: {self.seen['timeline'][-1]['probe']}"

    def run(self) -> tuple[str, str]:
        if self.ask().good:
            raise Refused(f"{self.probe} answers before the program is started: end what answers, or take another port")
        self.start()
        try:
            self.become_ready()
            self.arm()
            return self.verdict()
        finally:
            self.end()


def drill(asked_for: Asked, stop: int) -> int:
    options, began = asked_for.options, time.monotonic()
    name = options.get("as") or " ".join(options.get("fail", []))

    def junit(kind: str, why: str) -> None:
        counts = f'tests="1" failures="{int(kind == "failure")}" errors="{int(kind == "error")}" time="{time.monotonic() - began:.3f}"'
        inner = f"<{kind} message={quoteattr(why)}/>" if kind else ""
        case = f'<testcase classname="cufault.drill" name={quoteattr(name)}>{inner}</testcase>'
        if "junit" in options:
            try:
                Path(options["junit"]).write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}><testsuite name="cufault.drill" {counts}>{case}</testsuite></testsuites>\n')
            except OSError as error:
                raise Refused(f"--junit {one_line(options['junit'])}: {error.strerror}") from None

    junit("error", "it was killed")  # before anything is started: can it be written?
    try:
        with tempfile.TemporaryDirectory(prefix="cufault-drill-") as folder:
            one = Drill(asked_for, Path(folder), stop)
            verdict, why = one.run()
    except processes.Interrupted:
        junit("error", why := "interrupted; nothing of the program is left")
        raise Refused(why, EXIT_INTERRUPTED) from None
    except Refused as error:
        junit("error", str(error))
        raise
    code = 0 if verdict in OK else 1
    if asked_for.json:
        told = {"schema": 1, "as": name, "xid": one.preset.xid or None, "what": one.preset.what, "command": shlex.join(asked_for.behind), "ranks": one.ranks}
        text.print_json({**told, **one.seen, "acts": one.acts, "verdict": verdict, "why": why, "exit_code": code})
    else:
        xid = f" (Xid {one.preset.xid})" if one.preset.xid else ""
        hit = ", ".join(f"{each['program']} {each['pid']}" + (f" of rank {each['rank']}" if "rank" in each else "") for each in one.seen["processes"])
        asked_for.out.print(f"{name}{xid}: {one.preset.what}")
        asked_for.out.print(f"ready after {one.seen['ready_s']:.1f} s; then calls failed in {hit}")
        if one.seen["answers"] == "vary":
            asked_for.out.print("answers without a fault differ: only their status and the names in their JSON were judged; --answer says what is right")
        asked_for.out.print(f"{verdict}: {why}")
    junit("" if code == 0 else "failure", f"{verdict}: {why}")
    return code


def ctl(asked_for: Asked) -> int:
    options = asked_for.options
    pid = int(asked_for.names[0]) if asked_for.names and asked_for.names[0].isdigit() else 0
    variables = environment_of(pid)
    if not pid or not variables:
        raise Refused(f"{one_line(' '.join(asked_for.names))}: there is no such process, or it is of another user")
    file = Path(os.path.realpath(f"/proc/{pid}/cwd"), variables.get("CUFAULT_RULES", ""))
    if not file.is_file() or "libcufault" not in variables.get("LD_PRELOAD", ""):
        if name_of(pid) == asked_for.file("program").name:
            raise Refused(f"process {pid} is cufault: name the process that it started, or start that by cufault inject --require 0, which becomes it")
        raise Refused(f"process {pid} has no file of rules: start it under cufault inject --rules FILE, whose FILE may hold {{\"rules\": []}}")
    rules, _ = rules_asked_for(options)
    rules += read_rules(Path(options["rules"])) if "rules" in options else []
    if bool(rules) == bool(options.get("clear")):
        raise Refused("say what fails (--as, --fail or --rules), or --clear")
    if missing := [each for each in map(library_of, rules) if each and f"libcufault_{each}.so" not in variables["LD_PRELOAD"]]:
        raise Refused(f"process {pid} cannot be told to fail functions of {missing[0]}: start it under cufault inject --library {missing[0]}")
    fcntl.flock(os.open(file.parent, os.O_RDONLY), fcntl.LOCK_EX)  # until this process ends: another ctl would write back what it has read
    with tempfile.TemporaryDirectory(prefix="cufault-ctl-") as folder:
        kept = [rule for rule in read_rules(file) if rule.get("pid") != pid]
        check(asked_for, new := kept + [{**rule, "pid": pid} for rule in rules], Path(folder), ["--shared-gpu"] if options.get("shared-gpu") else [])
        write_rules(file, new)
    asked_for.out.print(f"{text.plural(len(rules), 'rule')} for process {pid}, in {file}")
    return 0


def main(asked_for: Asked) -> int:
    return ctl(asked_for) if asked_for.command == "ctl" else processes.in_child(lambda stop: drill(asked_for, stop))
