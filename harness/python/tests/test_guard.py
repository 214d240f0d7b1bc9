# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""--cufault-guard, each time in a pytest of its own, with a driver that loses its contexts when it is told."""

import json
import os
import re
import signal
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import conftest
import cufault
from cufault._context import _MADE, LOST
from cufault._guard import Guard
from test_pytest_plugin import running, wait_for

# What tests do to the fake driver; `ran` keeps in which process each test ran.
GPU = """
import ctypes, os, pathlib
_cuda = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcuda.so.1")
def lose(code=700):
    _cuda.fake_log(b"an address that is not mapped")
    _cuda.fake_log(f"Returning {code} (CUDA_ERROR_ILLEGAL_ADDRESS) from cuMemFree_v2".encode())
    _cuda.fake_lose_contexts(code)
def alive():
    free = ctypes.c_size_t()
    assert _cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(free)) == 0
def allocate(size):
    assert _cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(size)) == 0
def ran(name):
    with pathlib.Path(__file__).with_name("ran").open("a") as file:
        file.write(f"{name} {os.getpid()}\\n")
"""
LOSES = """
    def test_before():
        ran("before"), alive()
    def test_lost():
        ran("lost"), lose()
        assert False, "its own message"
    def test_next():
        ran("next"), alive()
    @pytest.mark.parametrize("n", [1, 2])
    def test_last(n):
        ran(f"last{n}"), alive()
"""
LOSING = """
    def test_lost():
        lose()
        assert False
"""
NEXT = """
    def test_next():
        alive()
"""

has = partial(conftest.has, uses="gpu import _cuda, alive, allocate, lose, ran")


@pytest.fixture
def suite(outer: pytest.Pytester) -> pytest.Pytester:
    outer.makepyfile(gpu=GPU)
    return outer


def processes(suite: pytest.Pytester) -> dict[str, str]:
    """In which process each test ran; none ran twice."""
    lines = [line.split() for line in (suite.path / "ran").read_text().splitlines()]
    assert len(lines) == len({name for name, _ in lines})
    return {name: process for name, process in lines}


def junit(suite: pytest.Pytester) -> dict[str, ElementTree.Element]:
    cases = list(ElementTree.parse(suite.path / "j.xml").iter("testcase"))
    assert len(cases) == len({case.get("name") for case in cases})
    return {case.get("name", ""): case for case in cases}


@pytest.mark.parametrize("how", [[], ["-n1"], ["-n1", "--dist=loadfile"], ["-n1", "--dist=worksteal"]])
def test_the_first_that_lost_it_is_named_and_the_rest_runs_in_a_fresh_process(suite: pytest.Pytester, how: list[str]) -> None:
    has(suite, LOSES)
    result = suite.runpytest_subprocess("--cufault-guard=failures", "--junit-xml=j.xml", *how)
    result.assert_outcomes(passed=4, failed=1)
    told = "CUDA_ERROR_ILLEGAL_ADDRESS (an address that is not mapped; Returning 700 (CUDA_ERROR_ILLEGAL_ADDRESS) from cuMemFree_v2)"
    result.stdout.fnmatch_lines(["*its own message*", f"cufault guard: the CUDA context is lost: {told}; passed tests before*: 1 (*"])
    result.stdout.fnmatch_lines(["*= cufault guard =*", f"context lost in test_*::test_lost: {told}*"])
    ran = processes(suite)
    assert ran["before"] == ran["lost"] != ran["next"] == ran["last1"] == ran["last2"]
    cases = junit(suite)
    assert len(cases) == 5
    failure = cases["test_lost"].find("failure")
    assert failure is not None and told in (failure.text or "")
    assert [case.get("name") for case in cases.values() if len(case.findall("failure") + case.findall("error"))] == ["test_lost"]


@pytest.mark.parametrize("how", [[], ["-n1"]])
def test_each_finds_one_that_passes(suite: pytest.Pytester, how: list[str]) -> None:
    has(suite, """
        def test_1():
            alive()
        def test_2():
            lose()
        @pytest.fixture
        def breaks():
            yield
            lose()
        def test_3(breaks):
            alive()
        def test_4():
            alive()
    """)
    result = suite.runpytest_subprocess("--cufault-guard=each", "--junit-xml=j.xml", *how)
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines(["context lost in *::test_2: *", "context lost in *::test_3: *", "not watched: streams*"])
    cases = junit(suite)
    assert cases["test_2"].find("failure") is not None and cases["test_3"].find("error") is not None
    assert sorted(name for name, case in cases.items() if case.find("properties/property[@name='cufault_context_lost']") is not None) == ["test_2", "test_3"]


@pytest.mark.parametrize("configuration", ["", "cufault_guard = failures"])
def test_nothing_is_done_without_a_loss_or_without_the_option(suite: pytest.Pytester, configuration: str) -> None:
    """A failed test is not a lost context, nor is an error that leaves the context as it was (1: CUDA_ERROR_INVALID_VALUE)."""
    suite.makeini(f"[pytest]\n{configuration}\n")
    has(suite, f"""
        def test_1():
            ran(1)
            lose({1 if configuration else 700})
            assert False
        def test_2():
            ran(2)
        def test_3():
            ran(3)
            assert False
    """)
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=2)
    assert "cufault guard =" not in result.stdout.str()
    assert len(set(processes(suite).values())) == 1


def test_a_wrong_word_in_the_configuration_is_refused(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\ncufault_guard = always\n")
    result = suite.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*cufault_guard = always: failures or each"])


def test_an_expected_failure_that_loses_it_stays_expected(suite: pytest.Pytester) -> None:
    has(suite, "    @pytest.mark.xfail(strict=True)" + LOSING, NEXT)
    suite.makeini("[pytest]\ncufault_guard = failures\n")
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1, xfailed=1)
    result.stdout.fnmatch_lines(["context lost in *::test_lost: *"])


def test_the_header_says_that_there_is_no_driver(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.makepyfile("def test_it(): pass")
    result = suite.runpytest_subprocess("--cufault-guard=each")
    result.stdout.fnmatch_lines(["cufault guard: looks after each test; there is no driver (libcuda.so.1)*"])
    assert "cufault guard =" not in result.stdout.str()
    monkeypatch.setenv("LD_LIBRARY_PATH", os.environ["CUFAULT_FAKES"])
    result = suite.runpytest_subprocess("--cufault-guard=failures")
    result.stdout.re_match_lines(["cufault guard: looks after failed tests$"])


def test_no_driver_and_no_context_is_no_loss(suite: pytest.Pytester) -> None:
    """The guard loads no driver and makes no context."""
    suite.makepyfile("""
        import pathlib
        def driver_loaded():
            return "libcuda" in pathlib.Path("/proc/self/maps").read_text()
        def test_no_driver():
            assert False
        def test_still_none():
            assert not driver_loaded()
        def test_no_context():
            import ctypes, gpu
            gpu._cuda.cuCtxSetCurrent(None)
            gpu._cuda.cuDevicePrimaryCtxReset_v2(0)
            gpu.lose()
            assert False
        def test_none_was_made():
            import ctypes, gpu
            context = ctypes.c_void_p(1)
            assert gpu._cuda.cuCtxGetCurrent(ctypes.byref(context)) == 0 and not context
            active = ctypes.c_int()
            gpu._cuda.cuDevicePrimaryCtxGetState(0, ctypes.byref(ctypes.c_uint()), ctypes.byref(active))
            assert not active
    """)
    result = suite.runpytest_subprocess("--cufault-guard=each")
    result.assert_outcomes(passed=2, failed=2)
    assert "context lost" not in result.stdout.str()


def test_the_context_of_another_device_counts(suite: pytest.Pytester) -> None:
    """It is not current in the thread of the tests, but the primary context of a device is lost."""
    has(suite, """
        def test_lost():
            _cuda.cuCtxSetCurrent(None)
            lose()
    """, NEXT)
    suite.runpytest_subprocess("--cufault-guard=each").assert_outcomes(passed=1, failed=1)


def test_a_hanging_driver_is_bounded(suite: pytest.Pytester) -> None:
    has(suite, """
        @pytest.fixture(scope="module")
        def thing():
            yield
            alive()
        def test_hangs(thing):
            _cuda.fake_hang()
            assert False
    """, NEXT)
    began = time.monotonic()
    result = suite.runpytest_subprocess("--cufault-guard=failures", timeout=60)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["context lost in *::test_hangs: the driver did not answer within 5 s*"])
    assert time.monotonic() - began < 50


@pytest.mark.parametrize("how", [[], ["-n1"]])
def test_a_process_that_a_test_leaves_holds_nothing_up(suite: pytest.Pytester, how: list[str]) -> None:
    has(suite, """
        @pytest.mark.parametrize("n", range(2))
        def test_lost(n):
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            lose()
            assert False
    """, NEXT)
    began = time.monotonic()
    result = suite.runpytest_subprocess("--cufault-guard=failures", "--color=no", *how, timeout=60)
    result.assert_outcomes(passed=1, failed=2)
    assert time.monotonic() - began < 30
    if how:
        result.stdout.fnmatch_lines(["*node down: *context lost in *::test_lost*"])


@pytest.mark.parametrize("how", [[], ["-n1"]])
def test_a_crash_after_a_loss_is_that_tests_failure(suite: pytest.Pytester, how: list[str]) -> None:
    has(suite, LOSING, """
        def test_crashes():
            os.kill(os.getpid(), signal.SIGSEGV)
    """, NEXT)
    result = suite.runpytest_subprocess("--cufault-guard=failures", *how, timeout=60)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*ended by SIGSEGV*" if not how else "*crashed while running*test_crashes*"])


def test_a_forked_child_does_not_look(suite: pytest.Pytester) -> None:
    has(suite, """
        from cufault._context import Contexts
        def test_it():
            contexts = Contexts()
            lose()
            assert contexts.look()[0]
            child = os.fork()
            if child == 0:
                os._exit(0 if contexts.look() == ("", {}) else 1)
            assert os.waitpid(child, 0)[1] == 0
    """)
    suite.runpytest_subprocess().assert_outcomes(passed=1)


def test_where_nothing_goes_on_tests_are_told_as_not_run(suite: pytest.Pytester) -> None:
    """Tests that a fresh process does not have, and a fresh process that does not start."""
    has(suite, LOSING, """
        @pytest.mark.parametrize("n", [os.getpid()])
        def test_changes_its_name(n):
            alive()
    """, NEXT)
    result = suite.runpytest_subprocess("--cufault-guard=failures", "-rs", "--junit-xml=j.xml")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*not run: context lost in *::test_lost; a fresh pytest does not collect it"])
    assert sum(case.find("skipped") is not None for case in junit(suite).values()) == 1
    suite.makeconftest("""
        import os, pathlib
        started = pathlib.Path("started")
        if started.exists():
            raise RuntimeError("it does not start twice")
        started.touch()
    """)
    result = suite.runpytest_subprocess("--cufault-guard=failures", "-rs", "-vv")
    result.assert_outcomes(failed=1, skipped=2)
    result.stdout.fnmatch_lines(["*not run: context lost in *::test_lost; a fresh pytest ran none:*"])


def test_options_fixtures_and_maxfail_hold_in_the_process_that_goes_on(suite: pytest.Pytester) -> None:
    suite.makeconftest("""
        import pathlib, pytest
        def pytest_addoption(parser):
            parser.addoption("--gpu", default="none")
        @pytest.fixture(scope="session", autouse=True)
        def whole(request):
            yield
            with pathlib.Path("torn_down").open("a") as file:
                file.write("x")
    """)
    has(suite, LOSING, """
        def test_option(request):
            assert request.config.getoption("gpu") == "3"
        def test_fails():
            assert False
        def test_not_reached():
            pass
    """)
    result = suite.runpytest_subprocess("--cufault-guard=failures", "--gpu=3", "--maxfail=2")
    result.assert_outcomes(failed=2, passed=1)
    assert (suite.path / "torn_down").read_text().startswith("x")


def test_an_interrupt_ends_the_process_that_goes_on(suite: pytest.Pytester) -> None:
    has(suite, LOSING, """
        def test_waits():
            pathlib.Path("part").write_text(str(os.getpid()))
            os.rename("part", "waits")
            signal.pause()
    """)
    process = suite.popen([sys.executable, "-m", "pytest", "--cufault-guard=failures", "--capture=no"], preexec_fn=default_interrupt)
    wait_for((suite.path / "waits").exists, "the last test did not begin")
    started = int((suite.path / "waits").read_text())
    assert started != process.pid
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == pytest.ExitCode.INTERRUPTED
    assert not running(started)


def default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background begins without it


def test_many_losses_do_not_use_up_the_workers(suite: pytest.Pytester) -> None:
    has(suite, *(LOSING.replace("test_lost", f"test_lost_{n}") for n in range(7)), NEXT)
    suite.runpytest_subprocess("--cufault-guard=failures", "-n1").assert_outcomes(failed=7, passed=1)
    suite.runpytest_subprocess("--cufault-guard=failures").assert_outcomes(failed=7, passed=1)


def test_what_a_test_leaves_behind_is_told(suite: pytest.Pytester) -> None:
    has(suite, """
        runtime = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcudart.so.13")
        def test_clean():
            address = ctypes.c_uint64()
            assert _cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64)) == 0
            assert _cuda.cuMemFree_v2(address) == 0
        def test_memory():
            allocate(4096)
        def test_error():
            assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(0)) == 1
        def test_clean_again():
            pass
    """)
    result = suite.runpytest_subprocess("--cufault-guard=each", "--junit-xml=j.xml")
    result.assert_outcomes(passed=4)
    lines = [line for line in result.stdout.lines if line.startswith("left behind")]
    assert [line.partition("::")[2] for line in lines] == [
        "test_memory: bytes in use on the device by any process: 0, then 4096",
        "test_error: last error of the runtime: 0, then 1",
    ]
    assert junit(suite)["test_memory"].find("properties/property[@name='cufault_left_behind']") is not None


def under_the_injector(suite: pytest.Pytester, rules: list[dict[str, object]], *options: str) -> pytest.RunResult:
    (suite.path / "rules.json").write_text(json.dumps({"rules": rules}))
    inject = [cufault.program(), "inject", "--require", "0", "--rules", "rules.json", "--log", "log"]
    return suite.run(*inject, "--", sys.executable, "-m", "pytest", *options)


def test_under_the_injector_streams_are_counted(suite: pytest.Pytester) -> None:
    has(suite, """
        def create():
            stream = ctypes.c_void_p()
            assert _cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
            return stream
        def test_clean():
            assert _cuda.cuStreamDestroy_v2(create()) == 0
        def test_leaks():
            create(), create()
    """)
    result = under_the_injector(suite, [{"function": "cuMemAlloc", "log": True}], "--cufault-guard=each")
    result.assert_outcomes(passed=2)
    assert "test_clean:" not in result.stdout.str() and "not watched" not in result.stdout.str()
    result.stdout.fnmatch_lines(["left behind by *::test_leaks: streams: 0, then 2"])


def test_a_context_that_a_rule_loses_is_lost(suite: pytest.Pytester) -> None:
    has(suite, """
        def test_lost():
            allocate(16)
    """, NEXT)
    sticky = {"function": "cuMemAlloc", "hits": 1, "return": "ILLEGAL_ADDRESS", "sticky": True}
    result = under_the_injector(suite, [sticky], "--cufault-guard=failures")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["context lost in *::test_lost: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access*"])


def test_a_marked_test_runs_in_the_process_that_goes_on(suite: pytest.Pytester) -> None:
    """And loses the context of its own process alone."""
    has(suite, """
        from driver import allocate
        @pytest.mark.cufault(fail="cuMemAlloc:1=OUT_OF_MEMORY")
        def test_marked():
            assert allocate() == 2
            lose()
        def test_alive():
            alive()
    """, LOSING, """
        @pytest.mark.cufault(fail="cuMemAlloc:1=OUT_OF_MEMORY")
        def test_marked_behind():
            assert allocate() == 2
    """, NEXT)
    suite.runpytest_subprocess("--cufault-guard=each").assert_outcomes(passed=4, failed=1)


def test_a_test_takes_less_than_a_millisecond_more(suite: pytest.Pytester) -> None:
    """As `each` looks: after its call and after its end, with a driver that answers at once. Time of the processor, whatever else runs on the
    machine: the median of 200."""
    has(suite, """
        from cufault._context import Contexts
        def test_it():
            contexts, took = Contexts(), []
            for _ in range(200):
                began = time.process_time()
                contexts.begin()
                looks = [contexts.look() for _ in range(2)]
                took.append(time.process_time() - began)
                assert all(why == "" and numbers for why, numbers in looks)
            print(f"{statistics.median(took) * 1e6:.0f} us")
            assert statistics.median(took) < 1e-3
    """)
    suite.runpytest_subprocess("-rP").assert_outcomes(passed=1)


def test_the_codes_are_those_that_explain_calls_sticky() -> None:
    found = [d for d in Path(__file__).resolve().parents if (d / "cases/explain/errors.json").exists()]
    listed = json.loads((found[0] / "cases/explain/errors.json").read_text())
    sticky = {each["code"] for part in listed.values() if isinstance(part, list) for each in part if isinstance(each, dict) and each.get("sticky")}
    assert sticky - {709} == LOST
    header = (found[0] / "harness/include/cufault/context_guard.hpp").read_text()  # has both lists, too
    codes = re.search(r"lost\{([\d, ]+)\}", header)
    assert codes is not None and {int(code) for code in codes[1].split(",")} == LOST
    assert all(f'"{function}"' in header for pair in _MADE.values() for function in pair)


def test_a_worker_that_has_ended_is_sent_nothing(pytestconfig: pytest.Config) -> None:
    def send(name: str, indices: "list[int]") -> None:
        raise OSError(f"cannot send {name} {indices}")

    node = SimpleNamespace(sendcommand=send, config=pytestconfig, workerinput={})
    Guard(pytestconfig, each=False, reports=None, items=None).pytest_configure_node(node)
    node.sendcommand("runtests", indices=[1])
