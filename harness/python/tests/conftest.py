# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Of tests of the installed package, with the fake driver and cuBLAS of the injector's tests. ci/wheel runs them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cufault

pytest_plugins = ["pytester"]

# A module that calls the driver: cuInit, and allocations that return what the driver says; `library_allocates` calls from another call site.
DRIVER = """
import ctypes, os
_driver = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcuda.so.1")
_driver.cuInit(0)
def allocate(size=16):
    return _driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(size))
def library_allocates():
    return ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcaller.so").library_allocates(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(16))
"""
# One that calls cuBLAS: as a library that is linked with it does, and by a name that is looked up. Each returns the status.
BLAS = """
import ctypes, os
_user = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libblas_user.so")
_blas = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcublas.so.13")
def linked_sgemm():
    return _user.user_multiplies(ctypes.byref(ctypes.c_float()))
def gemm_ex():
    return _blas.cublasGemmEx(*[None] * 19)
"""
OUT_OF_MEMORY = 2
EXECUTION_FAILED = 13


def environment(**more: str) -> dict[str, str]:
    """Without the variables of these tests' own environment that a child would take up."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUFAULT_", "LD_", "PYTEST_"))}
    return {**kept, "CUFAULT_FAKES": os.environ["CUFAULT_FAKES"], **more}


class Runner:
    """Runs Python texts in which `allocate` is the fake driver's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "driver.py").write_text(DRIVER)
        (folder / "blas.py").write_text(BLAS)

    def python(self, text: str, *options: str, injector: bool = True, **variables: str) -> str:
        """What it prints. `options`: of cufault inject."""
        script = self.folder / "script.py"
        script.write_text("import cufault\nfrom driver import allocate\n" + textwrap.dedent(text))
        under = [cufault.program(), "inject", *options, "--"] if injector else []
        done = subprocess.run(
            [*under, sys.executable, script], env=environment(**variables), cwd=self.folder, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def outer(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder of tests that can import `driver` and `blas`; run them by runpytest_subprocess."""
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    pytester.makepyfile(driver=DRIVER, blas=BLAS)
    pytester.makeini("[pytest]\n")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return pytester


def has(suite: pytest.Pytester, *tests: str, uses: str = "driver import allocate") -> None:
    """A file with these tests, and with what they import."""
    begins = f"import ctypes, os, pathlib, pytest, signal, statistics, time\nfrom {uses}\n"
    suite.makepyfile(begins + "".join(map(textwrap.dedent, tests)))
