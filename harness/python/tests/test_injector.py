# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault.inject, cufault.rules and cufault.injected in a process under the injector, and in one that is not."""

import json
from pathlib import Path

import pytest

import cufault

from conftest import EXECUTION_FAILED, Runner


def test_only_the_call_that_is_named_fails(run: Runner) -> None:
    said = run.python("""
        print(allocate())
        with cufault.inject("cuMemAlloc:2=OUT_OF_MEMORY") as here:
            print(here.injected(), allocate(), allocate(64), allocate())
        print(allocate())
        (one,) = here.injected()
        print(one.function, one.ordinal, one.did, one.bytes, one.thread, isinstance(one, cufault.Injection), one == cufault.injected()[0])
    """)
    assert said.splitlines() == ["0", "[] 0 2 0", "0", "cuMemAlloc_v2 2 CUDA_ERROR_OUT_OF_MEMORY 64 1 True True"]


@pytest.mark.parametrize("function", ["cublasGemmEx", "cublasSgemm"])
def test_a_function_of_a_library_fails_where_the_process_was_started_for_it(run: Runner, function: str) -> None:
    text = f"""
        from blas import gemm_ex, linked_sgemm
        call = {{"cublasGemmEx": gemm_ex, "cublasSgemm": linked_sgemm}}[{function!r}]
        print(call())
        with cufault.inject("{function}:2=EXECUTION_FAILED") as here:
            print(call(), call(), call(), [(one.function.removesuffix("_v2"), one.ordinal, one.did) for one in here.injected()])
        print(call())
    """
    said = run.python(text, "--library", "cublas")
    assert said.splitlines() == ["0", f"0 {EXECUTION_FAILED} 0 [('{function}', 2, 'CUBLAS_STATUS_EXECUTION_FAILED')]", "0"]


def test_several_rules_and_counts_from_the_entry_on(run: Runner) -> None:
    said = run.python("""
        for _ in range(2):
            with cufault.inject("cuMemAlloc:1=OUT_OF_MEMORY", "cuMemAlloc:3+=INVALID_VALUE") as here:
                print([allocate() for _ in range(4)], [(one.ordinal, one.rule) for one in here.injected()])
        print(len(cufault.injected()))
    """)
    assert said == "[2, 0, 1, 1] [(1, 0), (3, 1), (4, 1)]\n" * 2 + "6\n"


def test_rules_of_any_kind(run: Runner) -> None:
    said = run.python("""
        with cufault.rules({"budget_bytes": 100}) as here:
            print(allocate(60), allocate(60), [one.did for one in here.injected()])
        with cufault.rules({"function": "cuMemAlloc", "delay_ms": 1}) as here:
            print(allocate(), here.injected()[0].did)
    """)
    assert said.splitlines() == ["0 2 ['CUDA_ERROR_OUT_OF_MEMORY']", "0 {'delay_ms': 1}"]


def test_as_a_decorator_and_where_an_exception_ends_it(run: Runner) -> None:
    said = run.python("""
        @cufault.inject("cuMemAlloc=OUT_OF_MEMORY")
        def work():
            return allocate()
        print(work(), allocate(), work())
        try:
            with cufault.inject("cuMemAlloc=OUT_OF_MEMORY"):
                raise KeyError
        except KeyError:
            print(allocate())
    """)
    assert said == "2 0 2\n0\n"


@pytest.mark.parametrize("wrong", ["cuMemAlloc=NOTHING", "cuMemAllok=OUT_OF_MEMORY", "cuMemAlloc:0=OUT_OF_MEMORY"])
def test_a_wrong_rule_says_why_and_changes_nothing(run: Runner, wrong: str) -> None:
    said = run.python(f"""
        try:
            with cufault.inject({wrong!r}):
                print("entered")
        except cufault.RuleError as error:
            print(error)
        print(allocate())
        with cufault.inject("cuMemAlloc=OUT_OF_MEMORY"):
            print(allocate())
    """)
    why, *others = said.splitlines()
    assert wrong in why and others == ["0", "2"]


def test_what_is_no_rule_is_refused_at_once() -> None:
    for wrong in ((), ("",), ("cuMemAlloc=OUT_OF_MEMORY cuInit=NO_DEVICE",), ('{"rules": []}',)):
        with pytest.raises(cufault.RuleError):
            cufault.inject(*wrong)
    with pytest.raises(cufault.RuleError):
        cufault.rules()


def test_contexts_do_not_nest_and_the_outer_one_goes_on(run: Runner) -> None:
    said = run.python("""
        with cufault.inject("cuMemAlloc:2=OUT_OF_MEMORY"):
            try:
                with cufault.rules({"function": "cuMemAlloc", "return": "INVALID_VALUE"}):
                    print("entered")
            except RuntimeError as error:
                print(error)
            print(allocate(), allocate())
    """)
    assert said.splitlines()[0].startswith("rules are in effect already")
    assert said.splitlines()[1:] == ["0 2"]


def test_without_the_injector_it_says_how_to_start(run: Runner) -> None:
    said = run.python(
        """
        for use in (cufault.inject("cuMemAlloc=OUT_OF_MEMORY").__enter__, cufault.injected):
            try:
                use()
            except cufault.NotUnderInjector as error:
                print(error)
        print(allocate())
        """,
        injector=False,
    )
    assert said.splitlines()[:2] == ["this process runs without the injector; start it under the injector: cufault inject -- python SCRIPT"] * 2
    assert said.splitlines()[2] == "0"


def test_rules_that_the_process_was_started_with_are_kept(run: Runner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = run.python(
        """
        try:
            with cufault.inject("cuMemAlloc=INVALID_VALUE"):
                print("entered")
        except cufault.NotUnderInjector as error:
            print(error)
        print(allocate(), [one.did for one in cufault.injected()])
        """,
        *("--fail", "cuMemAlloc=OUT_OF_MEMORY", "--log", str(log)),
    )
    assert "CUFAULT_FAIL" in said.splitlines()[0]
    assert said.splitlines()[1] == "2 ['CUDA_ERROR_OUT_OF_MEMORY']"
    assert sum(json.loads(line)["event"] == "injected" for line in log.read_text().splitlines()) == 1


def test_what_went_to_standard_error_is_not_passed_over(run: Runner) -> None:
    said = run.python(
        """
        allocate()
        try:
            print(cufault.injected())
        except cufault.NotUnderInjector as error:
            print(error)
        """,
        *("--fail", "cuMemAlloc=OUT_OF_MEMORY"),
    )
    assert said.startswith("1 calls were injected before") and "--log FILE" in said


def test_the_library_that_was_preloaded_is_the_only_one(run: Runner) -> None:
    said = run.python("""
        with cufault.inject("cuMemAlloc=OUT_OF_MEMORY"):
            print(len({line.split(maxsplit=5)[5] for line in open("/proc/self/maps") if "libcufault" in line}))
    """)
    assert said == "1\n"


def test_a_forked_child_lists_its_own_injections(run: Runner) -> None:
    said = run.python("""
        import os
        with cufault.inject("cuMemAlloc=OUT_OF_MEMORY") as here:
            allocate()
            if (child := os.fork()) == 0:
                allocate(), allocate()
                os._exit(len(here.injected()))
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(here.injected()))
    """)
    assert said == "2 1\n"
