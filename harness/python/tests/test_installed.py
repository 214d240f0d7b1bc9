# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What the wheel asks of the system, and that its program works where it is installed."""

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import cufault

from conftest import OUT_OF_MEMORY, environment

PACKAGE = Path(cufault.__file__).parent
BUNDLED = PACKAGE.parent / "cufault.libs"
C_LIBRARY = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
CPP_LIBRARY = {"libstdc++.so.6", "libgcc_s.so.1"}
FILES = sorted(f for folder in (PACKAGE, BUNDLED) for f in folder.rglob("*") if f.is_file() and f.read_bytes()[:4] == b"\x7fELF")
COMMAND = Path(sysconfig.get_path("scripts")) / "cufault"
REFUSED = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"


def ran(*command: str | Path, check: bool = True, cwd: Path | None = None, told: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment(**variables), cwd=cwd, input=told, capture_output=True, text=True, timeout=300, check=check)


def dynamic(file: Path) -> str:
    return subprocess.run(["readelf", "-dW", "-V", file], capture_output=True, text=True, check=True).stdout


def test_the_package_has_its_programs_and_data() -> None:
    libraries = [f"libcufault_{name}.so" for name in ("cudart", "cublas", "cublasLt", "cudnn", "cusolver", "nccl", "nvml")]
    assert {"cufault", "libcufault.so", "libcufault_host.so", *libraries} <= {f.name for f in FILES}
    data = PACKAGE / "share" / "cufault"
    assert {"answers", "claims.json", "explain", "failures.json", "known_issues.json", "recorded"} <= {f.name for f in data.iterdir()}
    assert (PACKAGE / "py.typed").is_file()
    assert not (PACKAGE / "include").exists()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_is_needed_but_the_system_and_the_package(file: Path) -> None:
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic(file)))
    allowed = C_LIBRARY if file.name.startswith("libcufault") else C_LIBRARY | CPP_LIBRARY
    bundled = {f.name for f in BUNDLED.iterdir()} if BUNDLED.exists() else set()
    assert needed - bundled <= allowed
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic(file)):
        assert all(entry.startswith("$ORIGIN") for entry in path.split(":")), path


def test_the_tag_names_the_glibc_that_is_asked_for() -> None:
    tags = Path(os.environ["CUFAULT_WHEEL"]).stem.split("-")[-3:]
    assert tags[:2] == ["py3", "none"]
    if tags[2] == f"linux_{platform.machine()}":
        pytest.skip("it is for this machine alone")
    named = [tuple(map(int, found)) for found in re.findall(rf"manylinux_(\d+)_(\d+)_{platform.machine()}", tags[2])]
    needs = [dynamic(file).partition("Version needs")[2] for file in FILES]
    asked = [tuple(map(int, found)) for text in needs for found in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)]
    assert named == [(2, 28)] and asked
    assert max(asked) <= min(named)


# Functions of an older glibc that newer ones have under a newer version, too, or that its headers and gcc call in place of others.
MOVED = r"__libc_\w+|__isoc23_\w+|_*pthread_\w+|_dl_find_object|dl(addr|close|error|info|open|v?sym)|f?l?stat(at)?(64)?|exp|log|pow|sem_\w+|arc4random"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_function_is_newer_than_glibc_2_28(file: Path) -> None:
    """So that `ci/wheel --for` can make it, whatever this wheel is for."""
    symbols = subprocess.run(["readelf", "--dyn-syms", "-W", file], capture_output=True, text=True, check=True).stdout
    newer = [name for name, minor in re.findall(r" UND (\w+)@GLIBC_2\.(\d+)", symbols) if int(minor) > 28]
    assert [name for name in newer if not re.fullmatch(MOVED, name)] == []


def test_the_command_and_the_module_become_the_program() -> None:
    version = importlib.metadata.version("cufault")
    for command in ([COMMAND], [sys.executable, "-m", "cufault"]):
        assert version in ran(*command, "--version").stdout
        assert ran(*command, "no-such-command", check=False).returncode == 2
        with subprocess.Popen(
            [*command, "inject", "--require", "0", "--", "sh", "-c", "echo $$; exit 5"], env=environment(), stdout=subprocess.PIPE, text=True
        ) as process:
            out, _ = process.communicate(timeout=60)
        assert (int(out), process.returncode) == (process.pid, 5)


def test_a_missing_program_is_told_in_a_line(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "cufault", ignore=shutil.ignore_patterns("bin", "lib", "share"))
    done = ran(sys.executable, "-m", "cufault", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "install the package again" in done.stderr


def test_explain_reads_the_records_of_the_package(tmp_path: Path) -> None:
    done = ran(COMMAND, "explain", "--no-machine", "--more", told=REFUSED, cwd=tmp_path)
    assert "CUBLAS_STATUS_NOT_INITIALIZED" in done.stdout
    assert "memory.create_under_pressure" in done.stdout  # of the records


ALLOCATE = """
import ctypes, os
driver = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcuda.so.1")
print(driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(16)))
"""
INJECT = ["inject", "--fail", "cuMemAlloc=OUT_OF_MEMORY", "--"]


def allocated_by(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return ran(*command, sys.executable, "-c", ALLOCATE, **variables)


def test_inject_works_from_a_path_with_a_space() -> None:
    assert " " in str(cufault.program())
    assert allocated_by().stdout == "0\n"
    assert allocated_by(COMMAND, *INJECT).stdout == f"{OUT_OF_MEMORY}\n"
    assert allocated_by(COMMAND, *INJECT, LD_LIBRARY_PATH="/nowhere").stdout == f"{OUT_OF_MEMORY}\n"


def test_from_there_a_child_without_library_path_is_told_by_the_loader() -> None:
    done = allocated_by(COMMAND, *INJECT, "env", "-u", "LD_LIBRARY_PATH")
    assert done.stdout == "0\n"
    assert "libcufault.so" in done.stderr and "cannot be preloaded" in done.stderr


def program_copied_to(place: Path) -> Path:
    for folder in filter(Path.exists, (PACKAGE, BUNDLED)):
        shutil.copytree(folder, place / folder.name)
    return place / "cufault" / "bin" / "cufault"


def test_a_child_without_library_path_is_injected_from_a_path_without_a_space(tmp_path: Path) -> None:
    assert " " not in str(tmp_path)
    program = program_copied_to(tmp_path)
    assert allocated_by(program, *INJECT, "env", "-u", "LD_LIBRARY_PATH").stdout == f"{OUT_OF_MEMORY}\n"
    assert ran(program, "inject", "--", "sh", "-c", 'echo "${LD_LIBRARY_PATH-unset}"').stdout == "unset\n"


def test_a_path_that_the_loader_cannot_take_is_refused(tmp_path: Path) -> None:
    program = program_copied_to(tmp_path / "a:b")
    done = ran(program, *INJECT, "true", check=False)
    assert done.returncode == 2
    assert "install cufault elsewhere" in done.stderr


# Says that the first call failed, and looks at no other one.
CALLS = """
import ctypes, os, sys
driver = ctypes.CDLL(os.environ["CUFAULT_FAKES"] + "/libcuda.so.1")
if driver.cuInit(0) != 0:
    sys.exit("initialization failed")
address = ctypes.c_uint64()
driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(16))
driver.cuMemFree_v2(address)
"""


def test_trace_lists_the_calls_of_a_program() -> None:
    done = ran(COMMAND, "trace", "--", sys.executable, "-c", CALLS)
    told = done.stdout + done.stderr
    for function in ("cuInit", "cuMemAlloc_v2", "cuMemFree_v2"):
        assert re.search(rf"^ +1 {function}$", told, re.MULTILINE), told


@pytest.mark.parametrize("command", ["run", "sweep", "gate", "report", "bisect", "node", "baseline", "history"])
def test_a_command_that_is_left_out_says_what_has_it(command: str) -> None:
    said = f"cufault {command} is not in this package; a build of the source tree has it: ci/suite"
    for words in ([command], [command, "--unknown", "--", "true"]):
        done = ran(COMMAND, *words, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr
    assert said in " ".join(ran(COMMAND, command, "--help").stdout.split())


def test_stack_and_known_find_the_cublas_of_this_environment(tmp_path: Path) -> None:
    place = tmp_path / "lib" / "python3" / "site-packages"
    program = program_copied_to(place)
    (place / "nvidia" / "cublas" / "lib").mkdir(parents=True)
    fakes = Path(os.environ["CUFAULT_FAKES"])
    for name in ("libcublas.so.13", "libcublasLt.so.13"):
        shutil.copy(fakes / name, place / "nvidia" / "cublas" / "lib")
    shown = ran(program, "stack").stdout
    assert re.search(rf"^(cuBLAS|also here) .*{place}/nvidia/cublas/lib/libcublas.so.13", shown, re.MULTILINE), shown
    assert re.search(r"^GPU ", shown, re.MULTILINE), shown
    assert "built without CUDA" not in shown


def test_doctor_examines_this_machine_and_then_traces_a_program() -> None:
    done = ran(COMMAND, "doctor", "-v", "--", sys.executable, "-c", CALLS, check=False)
    told = done.stdout + done.stderr
    assert "verdict: " in told
    assert re.search(r"^\[[\w ]+\] +libraries ", told, re.MULTILINE), told
    assert re.search(r"^ +1 cuMemAlloc_v2$", told, re.MULTILINE), told


@pytest.mark.parametrize("library", ["cudart", "cublas", "cublasLt", "cudnn", "cusolver", "nccl", "nvml"])
def test_every_library_can_be_intercepted(library: str) -> None:
    assert allocated_by(COMMAND, "inject", "--library", library, "--").stdout == "0\n"
