# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The marker and the sweep of the pytest plugin, each in a pytest of its own."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import environment, has

MARKED = """
import os
import pytest
from driver import allocate

@pytest.mark.cufault(fail="cuMemAlloc:2=OUT_OF_MEMORY")
def test_second_fails():
    assert [allocate(), allocate(), allocate()] == [0, 2, 0]

def test_unmarked():
    assert [allocate(), allocate(), allocate()] == [0, 0, 0]
"""


def test_a_marked_test_runs_under_its_rule_and_others_do_not(outer: pytest.Pytester) -> None:
    outer.makepyfile(MARKED)
    outer.runpytest_subprocess("-v").assert_outcomes(passed=2)


@pytest.mark.parametrize(("function", "call"), [("cublasGemmEx", "gemm_ex"), ("cublasSgemm", "linked_sgemm")])
def test_a_marked_test_runs_under_a_rule_for_a_library(outer: pytest.Pytester, function: str, call: str) -> None:
    outer.makepyfile(f"""
        import pytest
        from blas import {call}

        @pytest.mark.cufault(fail="{function}:1=EXECUTION_FAILED")
        def test_first_fails():
            assert [{call}(), {call}()] == [13, 0]

        @pytest.mark.cufault(fail="{function}:9=EXECUTION_FAILED")
        def test_shows_nothing():
            assert {call}() == 0
    """)
    result = outer.runpytest_subprocess("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"*no rule acted ({function}:9=EXECUTION_FAILED)*"])


def test_beside_xdist(outer: pytest.Pytester) -> None:
    outer.makepyfile(test_a=MARKED, test_b=MARKED)
    outer.makeini("[pytest]\naddopts = -n2\n")
    result = outer.runpytest_subprocess("-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*2 workers*"])


def test_it_has_a_process_of_its_own(outer: pytest.Pytester) -> None:
    outer.makepyfile("""
        import os, pytest
        here = os.getpid()
        def test_unmarked():
            os.environ["UNMARKED"] = str(here)
        @pytest.mark.cufault(fail="cuInit=NO_DEVICE")
        def test_marked():
            import driver
            assert os.environ["UNMARKED"] != str(here) == str(os.getpid())
    """)
    outer.runpytest_subprocess().assert_outcomes(passed=2)


def test_output_and_failure_come_through(outer: pytest.Pytester) -> None:
    has(outer, """
        @pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY")
        def test_it():
            print("before it failed")
            assert allocate() == 0
    """)
    result = outer.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 2 == 0*", "*before it failed*", "*cufault: injected*", "cuMemAlloc_v2: call 1, by * for * bytes: CUDA_ERROR_OUT_OF_MEMORY"])


def test_skips_and_expected_failures_come_through(outer: pytest.Pytester) -> None:
    outer.makepyfile("""
        import pytest
        pytestmark = pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY")
        def test_skipped():
            pytest.skip("not here")
        @pytest.mark.xfail
        def test_known():
            assert False
        @pytest.fixture
        def broken():
            raise RuntimeError
        def test_error(broken):
            pass
    """)
    result = outer.runpytest_subprocess("-rs")
    result.assert_outcomes(skipped=1, xfailed=1, errors=1)
    result.stdout.fnmatch_lines(["*not here"])


def test_a_rule_that_never_acts_fails_the_test(outer: pytest.Pytester) -> None:
    has(outer, """
        @pytest.mark.cufault(fail="cuMemAlloc:5=OUT_OF_MEMORY")
        def test_it():
            assert allocate() == 0
        @pytest.mark.cufault(fail="cuMemAlloc:5=OUT_OF_MEMORY", must_act=False)
        def test_allowed():
            assert allocate() == 0
        @pytest.mark.cufault(fail="cudaMalloc=cudaErrorMemoryAllocation")
        def test_of_the_runtime():
            assert allocate() == 0
    """)
    result = outer.runpytest_subprocess()
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*no rule acted (cuMemAlloc:5=OUT_OF_MEMORY)*cuInit 1, cuMemAlloc_v2 1. If that is meant: must_act=False*"])
    result.stdout.fnmatch_lines(["*no rule acted (cudaMalloc=*linked statically is not seen: fail the driver's function. If that is meant*"])


def test_rules_and_several_texts(outer: pytest.Pytester) -> None:
    has(outer, """
        @pytest.mark.cufault(fail=["cuMemAlloc:1=OUT_OF_MEMORY", "cuMemAlloc:1=INVALID_VALUE"])
        def test_texts():
            assert allocate() in (1, 2)
        @pytest.mark.cufault(rules=[{"function": "cuMemAlloc", "min_bytes": 100, "return": "OUT_OF_MEMORY"}])
        def test_rules():
            assert (allocate(99), allocate(100)) == (0, 2)
    """)
    outer.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "*it needs fail=*"),
        ("fial='cuInit=NO_DEVICE'", "*unexpected keyword argument 'fial'*"),
        ("fail='cuInit=NO_DEVICE', timeout=0", "*seconds above 0*"),
        ("fail='cuMemAlloc=NOTHING'", "*unknown code \"NOTHING\"*"),
    ],
)
def test_wrong_arguments_are_an_error_that_says_why(outer: pytest.Pytester, arguments: str, why: str) -> None:
    outer.makepyfile(f"""
        import pytest
        @pytest.mark.cufault({arguments})
        def test_it():
            pass
    """)
    result = outer.runpytest_subprocess("-rE")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([why])


def test_a_crash_is_a_failure_of_that_test_alone(outer: pytest.Pytester) -> None:
    has(outer, """
        @pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY", timeout=600)
        def test_crash():
            allocate()
            os.kill(os.getpid(), signal.SIGSEGV)
        @pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY")
        def test_end():
            allocate()
            import atexit
            atexit.register(os.abort)
        def test_other():
            pass
    """)
    result = outer.runpytest_subprocess()
    result.assert_outcomes(failed=1, passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ended by SIGSEGV*"])
    result.stdout.fnmatch_lines(["*ended by SIGABRT*"])


def test_a_hang_is_ended(outer: pytest.Pytester) -> None:
    has(outer, """
        @pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY", timeout=3)
        def test_hang():
            allocate()
            signal.pause()
    """)
    result = outer.runpytest_subprocess()
    # On a busy machine the time may run out before the test began: then it is an error, not a failure.
    assert sum(result.parseoutcomes().get(kind, 0) for kind in ("failed", "errors")) == 1
    result.stdout.fnmatch_lines(["*did not end within 3 s*"])


def test_fixtures_of_other_tests_are_torn_down(outer: pytest.Pytester) -> None:
    """A module's fixture ends before the next module's begins, although a marked test stands between."""
    outer.makepyfile(
        test_a="""
            import pytest
            @pytest.fixture(scope="module")
            def thing():
                yield
                print("torn down")
                raise RuntimeError("while tearing down")
            def test_1(thing):
                pass
            @pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY")
            def test_2():
                from driver import allocate
                assert allocate() == 2
        """,
        test_b="def test_3(): pass",
    )
    result = outer.runpytest_subprocess("-v")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_2*", "*while tearing down*"])


def test_options_reach_that_process_by_the_configuration(outer: pytest.Pytester) -> None:
    outer.makeconftest("""
        def pytest_addoption(parser):
            parser.addoption("--gpu", default="none")
    """)
    has(outer, """
        @pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY")
        def test_it(request):
            allocate()
            assert request.config.getoption("gpu") == "3"
    """)
    outer.runpytest_subprocess().assert_outcomes(failed=1)
    outer.makeini("[pytest]\ncufault_args = --gpu=3\n")
    outer.runpytest_subprocess().assert_outcomes(passed=1)


SLEEPER = """
import os, pathlib, signal, pytest
from driver import allocate
@pytest.mark.cufault(fail="cuMemAlloc=OUT_OF_MEMORY")
def test_it():
    child = os.fork()
    if child == 0:
        signal.pause()
    pathlib.Path("processes.part").write_text(f"{os.getpid()} {child}")
    os.rename("processes.part", "processes")
    signal.pause()
"""


def wait_for(condition: object, what: str) -> None:
    assert callable(condition)
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(("sent", "ended"), [(signal.SIGINT, 2), (signal.SIGKILL, 1)])
def test_no_process_and_no_file_is_left(outer: pytest.Pytester, sent: signal.Signals, ended: int) -> None:
    """Ctrl-C ends what the test started, too; if pytest is killed, at least the test's process ends with it."""
    test = outer.makepyfile(SLEEPER)
    temporary = outer.mkdir("temporary")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", test, "-p", "no:cacheprovider"],
        cwd=outer.path,
        env=environment(PYTHONPATH=str(outer.path), TMPDIR=str(temporary)),
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background begins without it
    )
    wait_for((outer.path / "processes").exists, "the test did not begin")
    started = [int(word) for word in (outer.path / "processes").read_text().split()]
    try:
        process.send_signal(sent)
        process.wait(60)
        wait_for(lambda: not any(running(pid) for pid in started[:ended]), "a process is left")
        if sent == signal.SIGINT:
            assert not list(temporary.glob("cufault*"))
    finally:
        for pid in filter(running, started):
            os.kill(pid, signal.SIGKILL)


SWEPT = """
import os, signal
from driver import allocate, library_allocates, _driver
import ctypes

def test_work():
    if allocate() != 0:
        raise MemoryError("no memory for the work")
    count = ctypes.c_int()
    if _driver.cuDeviceGetCount(ctypes.byref(count)) != 0 and os.environ.get("CRASH"):
        os.kill(os.getpid(), signal.SIGSEGV)
    assert library_allocates() == 0, "that of the library"
    assert allocate() == 0, "the second"
"""


def swept_calls(result: pytest.RunResult) -> list[str]:
    """Of each row: the call, without the hash of its call site; and what the test came to."""
    rows = [re.match(r"(\w+)@[0-9a-f]{16}:(\d+)=\S+ +(\w+) +called by (\S+?)(?:\+0x[0-9a-f]+)?: (.*)", line) for line in result.outlines]
    return [" ".join([row[1], row[2], row[3], "from the library" if row[4] == "libcaller.so" else "from Python", row[5]]) for row in rows if row]


def test_a_sweep_fails_each_call_of_each_call_site_once(outer: pytest.Pytester) -> None:
    outer.makepyfile(SWEPT)
    result = outer.runpytest_subprocess("--cufault-sweep")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*cufault sweep: test_a_sweep_fails_each_call_of_each_call_site_once.py::test_work*"])
    assert swept_calls(result) == [
        "cuInit 1 passed from Python handled, or not noticed",
        "cuMemAlloc_v2 1 failed from Python in call: MemoryError: no memory for the work",
        "cuMemAlloc_v2 2 failed from Python in call: AssertionError: the second",
        "cuDeviceGetCount 1 passed from Python handled, or not noticed",
        "cuMemAlloc_v2 1 failed from the library in call: AssertionError: that of the library",
    ]


def test_a_row_of_a_sweep_of_first_calls_is_a_rule_that_repeats_it(outer: pytest.Pytester) -> None:
    outer.makepyfile(SWEPT)
    swept = outer.runpytest_subprocess("--cufault-sweep", "--cufault-sweep-calls=1")
    assert [row.split()[:2] for row in swept_calls(swept)] == [["cuInit", "1"], ["cuMemAlloc_v2", "1"], ["cuDeviceGetCount", "1"], ["cuMemAlloc_v2", "1"]]
    (rule,) = re.findall(r"^(cuMemAlloc_v2@\S+) +failed +called by libcaller.so", swept.stdout.str(), re.MULTILINE)
    outer.makepyfile(
        test_again=SWEPT.replace("def test_work", f"import pytest\n@pytest.mark.cufault(fail='{rule}')\n@pytest.mark.xfail(strict=True)\ndef test_work")
    )
    outer.runpytest_subprocess("test_again.py").assert_outcomes(xfailed=1)


def test_a_sweep_under_xdist_where_one_run_crashes(outer: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH", "1")
    outer.makepyfile(SWEPT)
    result = outer.runpytest_subprocess("--cufault-sweep", "--cufault-timeout=300", "-n1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 of the runs crashed or hung*", "cuDeviceGetCount@*:1=*crashed *SIGSEGV*"])


def test_a_sweep_says_when_a_run_hangs(outer: pytest.Pytester) -> None:
    has(outer, """
        def test_work():
            if allocate() != 0:
                signal.pause()
    """)
    result = outer.runpytest_subprocess("--cufault-sweep", "--cufault-timeout=5")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["cuMemAlloc_v2@*:1=OUT_OF_MEMORY *hung *"])


def test_nothing_is_swept_where_there_is_nothing_to_sweep(outer: pytest.Pytester) -> None:
    outer.makepyfile("""
        import pytest
        def test_no_call():
            pass
        def test_fails():
            assert False, "by itself"
        def test_skipped():
            pytest.skip()
    """)
    result = outer.runpytest_subprocess("--cufault-sweep")
    result.assert_outcomes(failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*calls no function of the CUDA driver*", "*by itself*", "*without a failure; nothing was swept*"])


def test_an_option_that_makes_no_sense_is_refused(outer: pytest.Pytester) -> None:
    result = outer.runpytest_subprocess("--cufault-sweep-calls=0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--cufault-sweep-calls*'0'*"])
