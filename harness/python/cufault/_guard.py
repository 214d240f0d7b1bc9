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
        self._lost_in = ""
        self._unseen = 0  # tests since the last look
        self._before: dict[str, int] = {}
        self._has_driver = False
        self._fresh: _FreshPytest | None = None
        self._next: pytest.Item | None = None
        worker = getattr(config, "workerinput", {})
        self._items = Path(items).read_text(encoding="utf-8").splitlines() if items is not None else None
        # Where the last report goes before this process ends; None for the first process of a plain pytest.
        self._last_report = Path(reports) if reports is not None else None
        if _WORKER in worker:
            self._last_report = Path(worker[_WORKER], worker["workerid"])
        self._folder = tempfile.TemporaryDirectory(prefix="cufault-pytest-") if self._last_report is None else None

    def pytest_report_header(self) -> str:
        # In another process: the guard loads no driver.
        load = [sys.executable, "-IS", "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"]
        self._has_driver = subprocess.run(load, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
        none = "" if self._has_driver else "; there is no driver (libcuda.so.1): no context can be lost, unless tests load one from elsewhere"
        return f"cufault guard: looks after {'each test' if self._each else 'failed tests'}{none}"

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
        for report in self._reports_of_fresh(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        report: pytest.TestReport = (yield).get_result()
        self._unseen += call.when == "setup"
        if not self._lost_in and (report.failed or hasattr(report, "wasxfail") or (self._each and call.when != "setup")):
            self._look(item, report)
        if self._lost_in and call.when == "teardown":
            self._end_with(item, report)

    def _look(self, item: pytest.Item, report: pytest.TestReport) -> None:
        why, after = self._contexts.look()
        if why:
            self._lost_in = item.nodeid
            if self._unseen > 1:
                why += f"; passed tests before this one that were not looked at: {self._unseen - 1} (--cufault-guard=each looks after each)"
            self._tell_of_loss(item, report, why)
        self._unseen = 0
        if self._each and report.when == "teardown":
            left = [f"{what}: {self._before[what]}, then {now}" for what, now in after.items() if now > self._before.get(what, now)]
            if left:
                report.user_properties.append((_LEFT, "; ".join(left)))
            self._before = after

    def _tell_of_loss(self, item: pytest.Item, report: pytest.TestReport, why: str) -> None:
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

    def _end_with(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Tears down what later tests would have needed, and ends this process unless it is the one that reports them."""
        if self._contexts.hangs:
            item.session._setupstate.stack.clear()  # what fixtures would do at their end may hang, too
        torn_down = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(None), when="teardown")
        if torn_down.excinfo is not None:
            report.sections.append(("cufault guard: while tearing down", str(torn_down.excinfo.getrepr(style="short"))))
        if self._last_report is None or (self._next is None and hasattr(item.config, "workerinput")):
            return
        _ReportsToFile(item.config, self._last_report).pytest_runtest_logreport(report)
        for xdist in (plugin for plugin in item.config.pluginmanager.get_plugins() if hasattr(plugin, "sendevent")):
            xdist.sendevent("runtest_protocol_complete", item_index=xdist.item_index, duration=0.0)
            # The end of this process may not be seen: a process that the tests left may hold its pipe.
            xdist.channel._executing = False
            with contextlib.suppress(OSError):
                xdist.channel.close(f"context lost in {item.nodeid}")
        os._exit(1)

    # Of the first process of a plain pytest.

    def _reports_of_fresh(self, item: pytest.Item) -> Sequence[pytest.TestReport]:
        if item.config.getoption("usepdb", False) or hasattr(item.config, "workerinput"):
            reports: list[pytest.TestReport] | str = "with --pdb or --dist=each nothing goes on"
        else:
            if self._fresh is None:
                assert self._folder is not None
                left = item.session.items[item.session.items.index(item) :]
                self._fresh = _FreshPytest(item.config, [one.nodeid for one in left], Path(self._folder.name))
            reports = self._fresh.reports(item)
        if isinstance(reports, str):
            skipped = _report(item, "setup", "")
            why = f"not run: context lost in {self._lost_in}; {reports}"
            skipped.outcome, skipped.longrepr = "skipped", (str(item.path), item.location[1] or 0, why)
            return [skipped]
        return reports

    def pytest_unconfigure(self) -> None:
        if self._fresh is not None:
            self._fresh.end()
        if self._folder is not None:
            self._folder.cleanup()

    # Of the controller of xdist.

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self._folder is not None and node.config.getoption("dist") != "each":
            node.workerinput[_WORKER] = self._folder.name
            send = node.sendcommand

            def send_if_open(name: str, **words: Any) -> None:
                with contextlib.suppress(OSError):  # a worker that has ended itself, of which xdist hears next
                    send(name, **words)

            node.sendcommand = send_if_open

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
        if self._each and (lines or self._has_driver) and injector_calls() is None:
            lines.append("not watched: streams, events and handles, which needs `cufault inject -- python -m pytest`")
        if lines:
            terminalreporter.section("cufault guard")
            for line in lines:
                terminalreporter.write_line(line)


class _FreshPytest:
    """Another pytest, with the arguments of this one, for tests that are left; then another, where it loses a context or crashes."""

    def __init__(self, config: pytest.Config, items: list[str], folder: Path) -> None:
        self._config, self._left, self._folder = config, dict.fromkeys(items), folder
        self._process: subprocess.Popen[bytes] | None = None
        self._file, self._output = folder / "reports0", folder / "output"
        self._count = self._read = 0
        self._running = self._broken = ""
        self._reports: dict[str, list[dict[str, Any]]] = {}
        self._crashes: dict[str, str] = {}

    def reports(self, item: pytest.Item) -> list[pytest.TestReport] | str:
        """Of that test, once it has ended; else why it was not run."""
        name = item.nodeid
        while name in self._left and not self._broken:
            self._read_on()
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
        items.write_text("\n".join(self._left), encoding="utf-8")
        config, command = self._config, [sys.executable, "-m", "pytest", *self._config.invocation_params.args, "--maxfail=0"]
        if config.pluginmanager.hasplugin("xdist"):
            command.append("-n0")
        if config.pluginmanager.hasplugin("junitxml"):
            command.append("--junit-xml=")
        environment = {**os.environ, _REPORTS: str(self._file), _PARENT: str(os.getpid()), _ITEMS: str(items)}
        with self._output.open("wb") as output:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
            return subprocess.Popen(command, env=environment, cwd=config.invocation_params.dir, start_new_session=True, **streams)

    def _read_on(self) -> None:
        """What the process reports in the next moment; and how it ended, if it did."""
        self._process = self._process or self._start()
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(0.05)
        if self._file.exists():
            with self._file.open("rb") as file:
                file.seek(self._read)
                for line in file:
                    if line.endswith(b"\n"):
                        self._read += len(line)
                        self._keep(json.loads(line))
        if code is not None:
            self.end()
            self._account_for_end(code)

    def _keep(self, told: dict[str, Any]) -> None:
        if "began" in told:
            self._running = told["began"]
        elif "ended" in told:
            self._left.pop(told["ended"], None)
            self._running = ""
        else:
            self._reports.setdefault(told["nodeid"], []).append(told)

    def _account_for_end(self, code: int) -> None:
        printed = self._output.read_text(encoding="utf-8", errors="replace")[-_OUTPUT_KEPT:].strip()
        if self._running:
            if not any(report["when"] == "teardown" for report in self._reports.get(self._running, [])):
                self._crashes[self._running] = f"{_how_it_ended(code)}\n{printed}"
            self._keep({"ended": self._running})  # after the report of its teardown it ended itself: its context is lost
        elif code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._left.clear()
        elif not self._read:
            self._broken = f"a fresh pytest ran none: {_how_it_ended(code)}\n{printed}"
