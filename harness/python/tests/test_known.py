# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Known issues: the rule, against the program's; the version of the cuBLAS that is loaded; warnings."""

import json
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest

import cufault
import cufault.known as known
from conftest import environment

MADE_UP = {
    "schema": 1,
    "gpus": {"A100": "8.0", "H200": "9.0", "B200": "10.0"},
    "releases": [
        {"release": "12.8.4.1", "branch": "12.8", "date": "2025-03-07"},
        {"release": "13.1.0.3", "branch": "13.1", "date": "2025-10-09"},
        {"release": "13.5.1.27", "branch": "13.5", "date": "2026-05-26"},
        {"release": "13.10.0.20", "branch": "13.10", "date": "2026-11-04"},
    ],
    "issues": [
        {
            "id": "one", "sort": "measured", "library": "cublas", "harm": "wrong_numbers", "what": "It is wrong.", "reach": "any", "calls": ["cublasSgemm"],
            "workarounds": [{"text": "Do not."}], "evidence": [], "measured": {"9.0": {"affected": ["12.8.4", "13.1.0"], "not_affected": ["13.10.0"]}},
        },
        {
            "id": "two", "sort": "documented", "library": "cublaslt", "harm": "wrong_numbers", "what": "It is said to be wrong.", "reach": "any", "calls": ["cublasLtMatmul"],
            "addresses": ["https://example.invalid/notes"], "architectures": ["10.x"], "ranges": [{"from": "13.0.0", "before": ["13.1.1"]}],
        },
        {
            "id": "three", "sort": "reported", "library": "cublas", "harm": "crash", "what": "It is told to crash.", "reach": "any", "calls": ["cublasSgemm"],
            "addresses": ["https://example.invalid/thread"], "ranges": [{"from": "13.1.0", "before": ["13.1.1"]}],
        },
        {
            "id": "four", "sort": "documented", "library": "cublas", "harm": "wrong_numbers", "what": "It takes what others refuse.", "reach": "refused_call",
            "addresses": ["https://example.invalid/notes"], "architectures": ["12.x"], "ranges": [{"from": "13.1.0", "before": ["13.1.1"]}],
        },
        {
            "id": "five", "sort": "reported", "library": "torch", "harm": "wrong_numbers", "what": "It is told to be wrong.", "reach": "any",
            "source": "example/torch#1", "addresses": ["https://example.invalid/1"], "ranges": [{"from": "2.9.0"}],
        },
        {
            "id": "six", "sort": "reported", "library": "torch", "harm": "wrong_numbers", "what": "It is told of builds between releases.", "reach": "any",
            "source": "example/torch#2", "addresses": ["https://example.invalid/2"],
        },
    ],
}  # fmt: skip


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "known.json"
    file.write_text(json.dumps(MADE_UP))
    monkeypatch.setenv("CUFAULT_KNOWN_ISSUES", str(file))
    for kept in (known.came_out, known._before, known._line):
        monkeypatch.setattr(known, kept.__name__, kept.__wrapped__)


def levels(version: str, architecture: str = "") -> dict[str, str]:
    return {i.id: i.level for i in known.issues(version, architecture)}


@pytest.mark.usefixtures("made_up")
def test_issues_of_a_version() -> None:
    assert levels("13.1.0", "10.0") == {"one": "affected_elsewhere", "two": "documented", "three": "reported"}
    assert [(i.calls, i.reach) for i in known.issues("13.1.0", "12.0")] == [(["cublasSgemm"], "any"), (["cublasSgemm"], "any"), ([], "refused_call")]
    with pytest.raises(ValueError, match="is no version of cuBLAS"):
        known.issues("13.1")


def test_the_rule_is_that_of_the_program() -> None:
    assert Path(known.__file__).read_text() == (Path(cufault.__file__).parent / "share/cufault/answers/known_issues.py").read_text()
    assert known.issues("13.1.0"), "the list that comes with it is found"


@pytest.mark.usefixtures("made_up")
def test_check_warns_of_wrong_numbers_with_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "cublas_version", lambda: "13.1.0")
    monkeypatch.setattr(known, "architectures", lambda: {"9.0", "10.0"})
    with pytest.warns(known.KnownIssueWarning) as said:
        found = known.check()
    assert [(i.id, i.level) for i in found] == [("two", "documented"), ("one", "measured")]
    texts = [str(w.message) for w in said]
    assert any("https://example.invalid/notes" in text for text in texts)
    assert any("cufault known --cublas 13.1.0" in text and "Do not." in text for text in texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert known.check(ignore=["one", "two"]) == []
        assert known.check(harms=["hang"]) == []


@pytest.mark.usefixtures("made_up")
def test_check_warns_of_a_refused_call_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "cublas_version", lambda: "13.1.0")
    monkeypatch.setattr(known, "architectures", lambda: {"12.0"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert known.check() == []
    with pytest.warns(known.KnownIssueWarning, match="others refuse"):
        known.check(reach=["refused_call"])


@pytest.mark.usefixtures("made_up")
def test_check_looks_at_the_torch_that_is_imported_and_imports_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "cublas_version", lambda: "")
    monkeypatch.setattr(known, "architectures", lambda: {"9.0"})
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert known.check(levels=["reported"]) == []
    assert "torch" not in sys.modules
    torch = types.ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert known.versions_here() == {}, "it is being imported"
    for version, found in (("2.9.0+cu128", ["five"]), ("2.8.0", []), ("2.9.0.dev20250801", []), ("2.99.0", ["five"])):
        torch.__version__ = version  # type: ignore[attr-defined]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert [i.id for i in known.check(levels=["reported"])] == found, version
        assert [str(w.message).startswith("PyTorch 2.") for w in said] == [True] * len(found)
    assert "five" not in levels("2.9.0", "9.0"), "cuBLAS could have the same number"
    assert [i.id for i in known.issues("2.9.0", library="torch")] == ["five"]
    with pytest.raises(ValueError, match="is no version of PyTorch"):
        known.issues("2.9", library="torch")


@pytest.mark.parametrize(
    ("version", "gpus", "file"),
    [("13.1.0", set(), ""), ("13.1.0", {"9.0"}, "missing.json"), *((version, {"9.0"}, "") for version in ("", "13", "no version", "13.1.0.junk", "13.1.0\n"))],
)
@pytest.mark.usefixtures("made_up")
def test_check_does_nothing_without_a_version_a_gpu_that_it_knows_or_its_list(version: str, gpus: set[str], file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if file:
        monkeypatch.setenv("CUFAULT_KNOWN_ISSUES", file)
    monkeypatch.setattr(known, "cublas_version", lambda: version)
    monkeypatch.setattr(known, "architectures", lambda: gpus)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert known.check() == []


@pytest.mark.usefixtures("made_up")
def test_gpus_are_those_that_the_driver_lists(tmp_path: Path) -> None:
    assert known.architectures(str(tmp_path)) == set()
    for bus, model in (("0000:01:00.0", "NVIDIA H200"), ("0000:02:00.0", "NVIDIA B200"), ("0000:03:00.0", "Quadro 9000"), ("0000:04:00.0", "NVIDIA A100-SXM4-80GB")):
        folder = tmp_path / "proc/driver/nvidia/gpus" / bus
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 24\n")
    assert known.architectures(str(tmp_path)) == {"8.0", "9.0", "10.0"}


FAKE = """
#include <stddef.h>
int cublasGetProperty(int which, int* value) { *value = which == 0 ? 12 : which == 1 ? 8 : 4; return 0; }
"""


def test_the_loaded_library_says_its_version_and_none_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "fake.c").write_text(FAKE)
    library = tmp_path / "libcublas.so.12"
    cc = shutil.which("cc")
    if cc is None or subprocess.run([cc, "-shared", "-fPIC", "-o", library, tmp_path / "fake.c"], check=False).returncode != 0:
        pytest.skip("no C compiler")
    script = f"""
import ctypes, cufault.known as known
assert "libcublas" not in open("/proc/self/maps").read()
print(known.cublas_version())
assert "libcublas" not in open("/proc/self/maps").read()
ctypes.CDLL({str(library)!r})
print(known.cublas_version())
"""
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "12.8.4"
