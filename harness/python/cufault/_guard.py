# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""--cufault-guard: after a failed test, or each, a look whether the CUDA context lives. Where it is lost the rest runs in a fresh process.

The process that lost it ends after that test: xdist replaces a worker, and the first process of a plain pytest starts another pytest for
what is left and takes over its reports.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ExceptionRepr

from ._context import Contexts, injector_calls
from .pytest_plugin import _ITEMS, _OUTPUT_KEPT, _PARENT, _REPORTS, _how_it_ended, _read_report, _report, _ReportsToFile

_LOST, _LEFT = "cufault_context_lost", "cufault_left_behind"
_WORKER = "cufault_guard"


class Guard:
    def __init__(self, config: pytest.Config, each: bool, reports: str | None, items: str | None) -> None:
        self._each, self._contexts = each, Contexts()
        self._lost_in = self._alive_after = ""
        self._looked, self._unseen = False, 0  # at this test; tests since the last look
        self._before: dict[str, int] = {}
        self._fresh: _Fresh | None = None
        self._next: pytest.Item | None = None
        worker = getattr(config, "workerinput", {})
        self._items = Path(items).read_text(encoding="utf-8").splitlines() if items is not None else None
        # Where the last report goes before this process ends; None for the first process of a plain pytest.
        self._last = Path(reports) if reports is not None else None
        if _WORKER in worker:
            self._last = Path(worker[_WORKER], worker["workerid"])
        self._folder = tempfile.TemporaryDirectory(prefix="cufault-pytest-") if self._last is None else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._items is not None:
            known = {item.nodeid: item for item in items}
            items[:] = [known[nodeid] for nodeid in self._items if nodeid in known]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        self._next = nextitem
        if not self._lost_in:
            self._contexts.begin()
            if self._each and not self._before:
                self._before = self._contexts.look()[1]
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._go_on(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        report: pytest.TestReport = (yield).get_result()
        ends = call.when == "teardown"
        if not self._lost_in and (report.failed or hasattr(report, "wasxfail") or (self._each and call.when != "setup")):
            self._looked = True
            why, after = self._contexts.look()
            if why:
                self._lose(item, report, why)
            left = [f"{what}: {self._before[what]}, then {now}" for what, now in after.items() if now > self._before.get(what, now)]
            if left and self._each and ends:
                report.user_properties.append((_LEFT, "; ".join(left)))
            if ends:
                self._before = after
        if not ends:
            return
        self._unseen, self._alive_after = (0, item.nodeid) if self._looked else (self._unseen + 1, self._alive_after)
        self._looked = False
        if self._lost_in:
            # What later tests would have needed: they are not run here.
            torn_down = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(None), when="teardown")
            if torn_down.excinfo is not None:
                report.sections.append(("cufault guard: while tearing down", str(torn_down.excinfo.getrepr(style="short"))))
        if self._lost_in and self._last is not None and (self._next is not None or not hasattr(item.config, "workerinput")):
            _ReportsToFile(item.config, self._last).pytest_runtest_logreport(report)
            for xdist in (plugin for plugin in item.config.pluginmanager.get_plugins() if hasattr(plugin, "sendevent")):
                xdist.sendevent("runtest_protocol_complete", item_index=xdist.item_index, duration=0.0)
                # The end of this process may not be seen: a process that the tests left may hold its pipe.
                xdist.channel._executing = False
                with contextlib.suppress(OSError):
                    xdist.channel.close(f"context lost in {item.nodeid}")
            os._exit(1)

    def _lose(self, item: pytest.Item, report: pytest.TestReport, why: str) -> None:
        self._lost_in = item.nodeid
        if self._unseen > 0:
            since = f"since {self._alive_after}" if self._alive_after else "at all"
            why += f"; passed tests before this one that were not looked at {since}: {self._unseen} (--cufault-guard=each looks after each)"
        if self._contexts.hangs:
            item.session._setupstate.stack.clear()  # what fixtures would do at their end may hang, too
        text = f"cufault guard: the CUDA context is lost: {why}"
        for told in (item, report):
            told.user_properties.append((_LOST, why))
        if hasattr(report, "wasxfail"):
            report.wasxfail += f"; {text}"
        elif not report.failed:
            report.outcome, report.longrepr = "failed", text
        elif isinstance(report.longrepr, ExceptionRepr):
            report.longrepr.addsection("cufault guard", text)
        else:
            report.longrepr = f"{report.longrepr}\n{text}"

    # Of the process that goes on where this one stopped.

    def _go_on(self, item: pytest.Item) -> Sequence[pytest.TestReport]:
        not_run = f"not run: context lost in {self._lost_in}"
        if item.config.getoption("usepdb", False) or hasattr(item.config, "workerinput"):
            return [_skipped(item, f"{not_run}; with --pdb or --dist=each nothing goes on")]
        if self._fresh is None:
            assert self._folder is not None
            rest = item.session.items[item.session.items.index(item) :]
            self._fresh = _Fresh(item.config, [one.nodeid for one in rest], Path(self._folder.name))
        reports = self._fresh.reports(item)
        return [_skipped(item, f"{not_run}; {reports}")] if isinstance(reports, str) else reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._fresh is not None:
            self._fresh.end()

    def pytest_unconfigure(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    # Of the controller of xdist.

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self._folder is not None and node.config.getoption("dist") != "each":
            node.workerinput[_WORKER] = self._folder.name

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        """Not a crash: a worker ended itself before that test, and the report of the one before is still to be given."""
        worker = report.node
        last = Path(self._folder.name, worker.gateway.id) if self._folder is not None else Path()
        if not last.is_file():
            return
        data = json.loads(last.read_text(encoding="utf-8"))
        report.__dict__.update(worker.config.hook.pytest_report_from_serializable(config=worker.config, data=data).__dict__)
        with contextlib.suppress(NotImplementedError):  # where tests are distributed by scope they wait again already
            sched.mark_test_pending(crashitem)
        runs = worker.config.pluginmanager.getplugin("dsession")
        if worker.config.getoption("maxworkerrestart", None) is None and hasattr(runs, "_failed_nodes_count"):
            runs._failed_nodes_count -= 1  # the default limit is for workers that crash

    # Of whichever process prints.

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        told = {(r.nodeid, name): text for all in terminalreporter.stats.values() for r in all for name, text in getattr(r, "user_properties", [])}
        lines = [f"context lost in {nodeid}: {text}" for (nodeid, name), text in told.items() if name == _LOST]
        if lines:
            lines.append("later tests of that process ran in a fresh one; any that could not are skipped, as not run")
        lines += [f"left behind by {nodeid}: {text}" for (nodeid, name), text in told.items() if name == _LEFT]
        if self._each and injector_calls() is None:
            lines.append("not watched: streams, events and handles, which needs `cufault inject -- python -m pytest`")
        if lines:
            terminalreporter.section("cufault guard")
            for line in lines:
                terminalreporter.write_line(line)


def _skipped(item: pytest.Item, why: str) -> pytest.TestReport:
    report = _report(item, "setup", "")
    report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, why)
    return report


class _Fresh:
    """Another pytest, with the arguments of this one, that runs some of its tests; then another, where it loses a context or crashes."""

    def __init__(self, config: pytest.Config, items: Sequence[str], folder: Path) -> None:
        self._config, self._items, self._folder = config, items, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._file: Path | None = None
        self._count = self._read = 0
        self._running = self._broken = ""
        self._ended: set[str] = set()
        self._reports: dict[str, list[dict[str, Any]]] = {}
        self._crashes: dict[str, str] = {}

    def reports(self, item: pytest.Item) -> list[pytest.TestReport] | str:
        """Of that test, once it has ended; else why it was not run."""
        name = item.nodeid
        while name not in self._ended and not self._broken:
            self._go_on()
        reports = [_read_report(item, data) for data in self._reports.pop(name, [])]
        if name in self._crashes:
            reports.append(_report(item, {0: "setup", 1: "call"}.get(len(reports), "teardown"), self._crashes[name]))
        return reports or self._broken or "a fresh pytest does not collect it"

    def end(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._count += 1
        self._read = 0
        self._file, items = self._folder / f"reports{self._count}", self._folder / "items"
        items.write_text("\n".join(name for name in self._items if name not in self._ended), encoding="utf-8")
        config, command = self._config, [sys.executable, "-m", "pytest", *self._config.invocation_params.args, "--maxfail=0"]
        if config.pluginmanager.hasplugin("xdist"):
            command.append("-n0")
        if config.pluginmanager.hasplugin("junitxml"):
            command.append("--junit-xml=")
        environment = {**os.environ, _REPORTS: str(self._file), _PARENT: str(os.getpid()), _ITEMS: str(items)}
        with self._output.open("wb") as output:
            return subprocess.Popen(
                command,
                env=environment,
                cwd=config.invocation_params.dir,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def _output(self) -> Path:
        return self._folder / "output"

    def _go_on(self) -> None:
        if self._process is None:
            self._process = self._start()
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(0.05)
        assert self._file is not None
        if self._file.exists():
            with self._file.open("rb") as file:
                file.seek(self._read)
                for line in file:
                    if line.endswith(b"\n"):
                        self._read += len(line)
                        self._take(json.loads(line))
        if code is not None:
            self.end()
            self._closed(code)

    def _take(self, told: dict[str, Any]) -> None:
        if "began" in told:
            self._running = told["began"]
        elif "ended" in told:
            self._ended.add(told["ended"])
            self._running = ""
        else:
            self._reports.setdefault(told["nodeid"], []).append(told)

    def _closed(self, code: int) -> None:
        printed = self._output.read_text(encoding="utf-8", errors="replace")[-_OUTPUT_KEPT:].strip()
        if self._running:
            if not any(report["when"] == "teardown" for report in self._reports.get(self._running, [])):
                self._crashes[self._running] = f"{_how_it_ended(code)}\n{printed}"
            self._ended.add(self._running)  # after the report of its teardown it ended itself: its context is lost
            self._running = ""
        elif code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._ended.update(self._items)
        elif not self._read:
            self._broken = f"a fresh pytest ran none: {_how_it_ended(code)}\n{printed}"
