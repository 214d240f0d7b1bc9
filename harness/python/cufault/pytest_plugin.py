# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""pytest plugin: tests whose driver calls, or calls of CUDA libraries, fail.

A test with the marker ``cufault`` runs in a process of its own, a fresh ``python -m pytest`` under the injector: a context of CUDA that was
lost, or that does not outlive a fork, is no other test's. ``--cufault-sweep`` runs each selected test once for each driver call failed. Calls are
told apart as ``cufault sweep -- COMMAND`` does it: by call site, the hash of the call stack, and by number there.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ._injector import Injection, injection_of
from ._program import program

# Of a test's own process: where it writes its reports, and whose child it is.
_REPORTS, _PARENT = "CUFAULT_PYTEST_REPORTS", "CUFAULT_PYTEST_PARENT"
# As `cufault sweep -- COMMAND` finds call sites.
_LOG_ALL: dict[str, object] = {"function": "*", "log": True, "stack": True}
# What a sweep fails a function with: the first that is documented for it.
_CODES = ("OUT_OF_MEMORY", "NOT_SUPPORTED", "INVALID_VALUE", "NOT_INITIALIZED")
_SWEPT = "cufault_sweep"
_GUARD = ("failures", "each")
# Of a process that goes on where another lost its context (_guard.py): a file with the tests that it runs.
_ITEMS = "CUFAULT_PYTEST_ITEMS"
_OUTPUT_KEPT = 64 * 1024

_is_own_process = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cufault", "failing driver calls (cufault)")
    group.addoption(
        "--cufault-sweep",
        action="store_true",
        help="run each selected test once for each call that it makes to the CUDA driver, with that call failed, and print a table; "
        "fail where the test then crashes or hangs",
    )
    group.addoption(
        "--cufault-sweep-calls",
        type=_positive(int),
        metavar="N",
        help="of each call site, the first N calls (default: all)",
    )
    group.addoption(
        "--cufault-timeout",
        type=_positive(float),
        metavar="SECONDS",
        help="end a run of a sweep whose call failed after so long (default: ten times that of the run without failures, at least 60)",
    )
    group.addoption(
        "--cufault-guard",
        choices=_GUARD,
        help="look whether the CUDA context lives, after failed tests or after each; where it is lost, name the test and run the rest in a "
        "fresh process. each: tell also what a test leaves behind (default: cufault_guard of the configuration, else no look)",
    )
    parser.addini("cufault_guard", "as --cufault-guard: failures or each", default="")
    parser.addini(
        "cufault_args",
        "arguments for pytest in the processes of tests marked with cufault: options of your own plugins, for example",
        type="args",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "cufault(fail=None, *, rules=None, must_act=True, timeout=None): run the test in a process of its own whose driver calls fail. "
        "fail: 'FUNCTION[:N[+]]=CODE' or several of them; rules: a list of rules; must_act: fail the test if no rule acted; "
        "timeout: in seconds",
    )
    reports = os.environ.pop(_REPORTS, None)  # not of processes that the test starts
    parent = os.environ.pop(_PARENT, None)
    items = os.environ.pop(_ITEMS, None)
    config.stash[_is_own_process] = reports is not None and items is None
    guard = config.getoption("cufault_guard") or config.getini("cufault_guard")
    if guard and guard not in _GUARD:
        raise pytest.UsageError(f"cufault_guard = {guard}: failures or each")
    if reports is not None and parent is not None:
        _end_with(int(parent))
        config.pluginmanager.register((_ReportsToFile if items is None else _EventsToFile)(config, Path(reports)), "cufault_reports")
    if guard and not config.stash[_is_own_process]:
        from ._guard import Guard

        config.pluginmanager.register(Guard(config, guard == "each", reports, items), "cufault_guard")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if item.config.stash[_is_own_process]:
        return None
    marker = item.get_closest_marker("cufault")
    sweeping = item.config.getoption("cufault_sweep")
    if marker is None and not sweeping:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = _sweep(item) if sweeping else _run_marked(item, marker)
    # What earlier tests set up and the next one does not need: this item set nothing up here.
    torn_down = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
    if torn_down.excinfo is not None:
        reports.append(pytest.TestReport.from_item_and_call(item, torn_down))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            for name, rows in getattr(report, "user_properties", []):
                if name == _SWEPT:
                    terminalreporter.section(f"cufault sweep: {report.nodeid}")
                    terminalreporter.write_line(str(rows))


# The side of the test's own process.


def _end_with(parent: int) -> None:
    """Ends this process when that one ends, however that was."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class _ReportsToFile:
    """Each report as a line, written at once: those before a crash are kept."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self._config, self._path = config, path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def _write(self, data: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=repr) + "\n")


class _EventsToFile(_ReportsToFile):
    """Also where tests begin and end."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write({"began": nodeid})

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write({"ended": nodeid})


# The side that starts it.


@dataclass(frozen=True)
class _Site:
    """A place that calls the driver."""

    function: str
    stack: str
    caller: str


@dataclass
class _Run:
    """What a test did in a process of its own."""

    exit_code: int
    timed_out: bool
    seconds: float
    output: str
    """Of the process, beside what pytest captured."""
    reports: list[pytest.TestReport]
    injections: list[Injection]
    calls: Counter[str] = field(default_factory=Counter)
    """Driver calls by function, of the process that made most of them: rules count in each process for itself."""
    sites: dict[_Site, int] = field(default_factory=dict)
    """Likewise by call site, in the order of their first calls; only under _LOG_ALL."""

    @property
    def end(self) -> str:
        """How it ended other than as pytest does; empty where it did."""
        if self.timed_out:
            return f"the test's process did not end within {self.seconds:.0f} s, and was ended"
        if self.exit_code not in (0, 1) or not any(r.when == "teardown" for r in self.reports):
            return _how_it_ended(self.exit_code)
        return ""

    @property
    def failed(self) -> pytest.TestReport | None:
        return next((r for r in self.reports if r.failed), None)


def _how_it_ended(exit_code: int) -> str:
    if exit_code >= 0:
        return f"the test's process ended with exit code {exit_code} and without a report of all phases"
    known = {one.value: one.name for one in signal.Signals}
    return f"the test's process was ended by {known.get(-exit_code, f'signal {-exit_code}')}"


def _told(one: Injection) -> str:
    asked_for = "" if one.bytes is None else f" for {one.bytes} bytes"
    return f"{one.function}: call {one.ordinal}, by {one.caller}{asked_for}: {one.did}"


def _run_marked(item: pytest.Item, marker: pytest.Mark | None) -> list[pytest.TestReport]:
    assert marker is not None
    try:
        wanted = _Wanted(*marker.args, **marker.kwargs)
    except (TypeError, ValueError) as error:
        why = str(error).replace("_Wanted.__init__() ", "")
        return [_report(item, "setup", f"pytest.mark.cufault: {why}")]
    run = _run(item, wanted.texts, wanted.rules or (), wanted.timeout)
    reports = list(run.reports)
    told = "\n".join(_told(one) for one in run.injections)
    if run.end:
        # In place of the phase that it ended in, which has no report; at the end of the process that of teardown.
        phase = {0: "setup", 1: "call"}.get(len(reports), "teardown")
        reports = [r for r in reports if r.when != phase]
        reports.append(_report(item, phase, "\n".join(filter(None, [run.end, run.output]))))
    never = "" if run.injections or not wanted.must_act else _never_acted(wanted, run)
    for report in reports:
        if told:
            report.sections.append(("cufault: injected", told))
        if never and report.failed:
            report.sections.append(("cufault", never))
        elif never and report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            report.outcome, report.longrepr = "failed", never
    return reports


@dataclass
class _Wanted:
    """Arguments of the marker. Throws TypeError, or ValueError."""

    fail: str | Sequence[str] | None = None
    _: KW_ONLY
    rules: Sequence[dict[str, object]] | None = None
    must_act: bool = True
    timeout: float | None = None

    def __post_init__(self) -> None:
        self.texts = (self.fail,) if isinstance(self.fail, str) else tuple(self.fail or ())
        if not self.texts and not self.rules:
            raise ValueError("it needs fail='FUNCTION[:N[+]]=CODE' or rules=[{...}]")
        if not all(isinstance(text, str) and text and not any(c.isspace() for c in text) for text in self.texts):
            raise ValueError(f"fail={self.fail!r}: texts without spaces, FUNCTION[:N[+]]=CODE")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout={self.timeout!r}: seconds above 0")


def _never_acted(wanted: _Wanted, run: _Run) -> str:
    rules = ", ".join([*wanted.texts, *(json.dumps(rule) for rule in wanted.rules or ())])
    made = ", ".join(f"{function} {count}" for function, count in sorted(run.calls.items()))
    missed = any(text.startswith("cuda") for text in wanted.texts) and not any(f.startswith("cuda") for f in run.calls)
    static = "A CUDA runtime that is linked statically is not seen: fail the driver's function. " if missed else ""
    return (
        f"cufault: no rule acted ({rules}), so that this test shows nothing; driver calls of its process: {made or 'none'}. "
        f"{static}If that is meant: must_act=False"
    )


def _report(item: pytest.Item, when: Any, why: str) -> pytest.TestReport:
    return pytest.TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "failed", why, when)


def _run(
    item: pytest.Item, fail: Sequence[str], rules: Sequence[dict[str, object]] = (), timeout: float | None = None
) -> _Run:
    with tempfile.TemporaryDirectory(prefix="cufault-pytest-") as folder:
        log, reports = Path(folder, "log"), Path(folder, "reports")
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        environment[_REPORTS], environment[_PARENT] = str(reports), str(os.getpid())
        environment["CUFAULT_FAIL"] = " ".join(fail)
        environment["CUFAULT_RULES"] = json.dumps({"rules": rules}) if rules else ""
        command = [str(program()), "inject", "--require", "0", "--log", str(log), "--", sys.executable, "-m", "pytest", *_arguments(item)]
        began = time.monotonic()
        exit_code, output = _run_to_its_end(command, environment, str(item.config.invocation_params.dir), timeout)
        run = _Run(exit_code or 0, exit_code is None, time.monotonic() - began, output, [], [])
        if reports.exists():
            run.reports = [_read_report(item, json.loads(line)) for line in reports.read_text(encoding="utf-8").splitlines()]
        lines = log.read_bytes().splitlines() if log.exists() else []
        run.injections = [found for line in lines if (found := injection_of(line)) is not None]
        run.calls, run.sites = _calls_in(lines)
        return run


def _calls_in(log: Sequence[bytes]) -> tuple[Counter[str], dict[_Site, int]]:
    """As _Run has them."""
    by_process: dict[int, Counter[str]] = {}
    at_sites: dict[_Site, Counter[int]] = {}
    for line in log:
        with contextlib.suppress(ValueError):  # a line that was not written whole
            told = json.loads(line)
            if told.get("event") == "calls":  # one for each library that resolved the function
                by_process.setdefault(told["pid"], Counter())[told["function"]] += told["calls"]
            elif told.get("event") == "call" and "stack" in told:
                caller = told["caller"] + (f"+{told['offset']}" if told.get("offset") else "")
                at_sites.setdefault(_Site(told["function"], told["stack"], caller), Counter())[told["pid"]] += 1
    most: Counter[str] = Counter()
    for calls in by_process.values():
        most |= calls
    return most, {site: max(processes.values()) for site, processes in at_sites.items()}


def _read_report(item: pytest.Item, data: dict[str, Any]) -> pytest.TestReport:
    report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
    assert isinstance(report, pytest.TestReport)
    report.nodeid, report.location = item.nodeid, item.location
    if isinstance(report.longrepr, list):  # of a skip: file, line, reason
        report.longrepr = (report.longrepr[0], report.longrepr[1], report.longrepr[2])
    return report


def _arguments(item: pytest.Item) -> list[str]:
    """Of a pytest that runs this test alone, as this one would: with its configuration and plugins, without its addopts, which may ask for
    files and processes that are this one's."""
    config = item.config
    _, separator, rest = item.nodeid.partition("::")
    arguments = [f"{item.path}{separator}{rest}", "--rootdir", str(config.rootpath), "-o", "addopts=", "-p", "no:cacheprovider"]
    if config.inipath is not None:
        arguments += ["-c", str(config.inipath)]
    arguments += ["--import-mode", config.getoption("importmode"), "--tb", config.getoption("tbstyle")]
    if config.getoption("confcutdir", None):
        arguments += ["--confcutdir", config.getoption("confcutdir")]
    for option, given in (("-p", "plugins"), ("-o", "override_ini"), ("-W", "pythonwarnings")):
        for value in config.getoption(given, None) or []:
            if value not in ("no:terminal", "addopts="):  # the first is xdist's, of its workers
                arguments += [option, value]
    if config.pluginmanager.hasplugin("xdist"):
        arguments.append("-n0")
    return [*arguments, *config.getini("cufault_args")]


def _run_to_its_end(
    command: list[str], environment: dict[str, str], folder: str, timeout: float | None
) -> tuple[int | None, str]:
    """Exit code, negative for a signal, None where the time ran out; and the end of what it printed. What it started is ended, too."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        code: int | None = None
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _OUTPUT_KEPT))
        return code, output.read().decode(errors="replace").strip()


# A sweep.


def _sweep(item: pytest.Item) -> list[pytest.TestReport]:
    timeout: float | None = item.config.getoption("cufault_timeout")
    limit: int | None = item.config.getoption("cufault_sweep_calls")
    clean = _run(item, [], [_LOG_ALL])
    reports = list(clean.reports)
    if clean.end:
        return [_report(item, "setup", f"without a failure: {clean.end}; nothing was swept\n{clean.output}")]
    call = next((r for r in reports if r.when == "call"), None)
    if clean.failed is not None or call is None or not call.passed:
        for report in reports:
            report.sections.append(("cufault", "without a failure; nothing was swept"))
        return reports  # failed, or skipped
    if not clean.sites:
        return [_report(item, "call", "cufault: the test calls no function of the CUDA driver that the injector sees; nothing was swept")]
    rows, bad = list[tuple[str, str, str]](), 0
    codes: dict[str, str | None] = {}
    for site, count in clean.sites.items():
        if site.function not in codes:
            codes[site.function] = _code_for(site.function)
        code = codes[site.function]
        if code is None:
            rows.append((f"{site.function}@{site.stack}", "not failed", f"none of {', '.join(_CODES)} is documented for it"))
            continue
        for ordinal in range(1, min(count, limit or count) + 1):
            fail = f"{site.function}@{site.stack}:{ordinal}={code}"
            run = _run(item, [fail], timeout=timeout or max(60.0, 10 * clean.seconds))
            outcome, detail = _outcome(run)
            bad += outcome in ("crashed", "hung")
            rows.append((fail, outcome, f"called by {site.caller}: {detail}"))
            call.duration += run.seconds
    call.user_properties.append((_SWEPT, _table(rows)))
    if bad:
        call.outcome, call.longrepr = "failed", f"cufault: {bad} of the runs crashed or hung:\n{_table(rows)}"
    return reports


def _outcome(run: _Run) -> tuple[str, str]:
    """What a run with one call failed came to, and more about it."""
    if run.timed_out:
        return "hung", run.end
    if run.end:
        return "crashed", run.end
    if not run.injections:
        return "not reached", "the call was not made this time"
    if run.failed is not None:
        crash = getattr(run.failed.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else str(run.failed.longrepr)
        return "failed", f"in {run.failed.when}: {message.splitlines()[0] if message else ''}"
    return "passed", "handled, or not noticed"


def _code_for(function: str) -> str | None:
    for code in _CODES:
        command = [str(program()), "inject", "--fail", f"{function}={code}", "--", "true"]
        if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return code
    return None


def _table(rows: list[tuple[str, str, str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{what:{widths[0]}}  {outcome:{widths[1]}}  {detail}" for what, outcome, detail in rows)


def _positive(kind: type) -> Any:
    def convert(text: str) -> Any:
        value = kind(text)
        if not value > 0:
            raise ValueError(text)
        return value

    convert.__name__ = f"positive {kind.__name__}"  # argparse names it
    return convert
