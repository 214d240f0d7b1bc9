# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What an import has found. Metadata of the environment may be of another copy of the package."""
from __future__ import annotations

import importlib
import inspect
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from typing import Any, Dict, Iterator, List, Optional, Tuple

from framework_trials.protocol import SetUpFailed, mapped_files
from framework_trials.tables import FAMILIES, table_of

OWN = r"lib(?:torch|c10|jax|xla)\w*|xla_\w+"  # their versions are the framework's
LIBRARY = re.compile(rf"({OWN}|lib(?:cublas|cudart|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc|nvshmem)\w*)\.so(?:\.\d+)?")


PACKAGES = (*FAMILIES.values(), "triton", "jaxlib", "numpy")
PREFIXES = ("nvidia-", "cupy", "jax-cuda", "cuda-")


def matters(package: str) -> bool:
    return package in PACKAGES or package.startswith(PREFIXES)


class Refusal(str):
    """What was raised in place of a value."""

    @classmethod
    def of(cls, error: Exception) -> "Refusal":
        return cls(f"{type(error).__name__}: {error}"[:120])


def value_of(words: str) -> str:
    """The value of "module.name.name"; a function is called. Empty where there is none."""
    first, *names = words.split(".")
    value: Any = sys.modules.get(first)
    try:
        for name in names:
            value = getattr(value, name)
        value = value() if inspect.isroutine(value) else value
    except AttributeError:
        return ""
    except Exception as error:  # pylint: disable=broad-except
        return Refusal.of(error)
    if isinstance(value, tuple):
        value = ".".join(map(str, value))
    return str(value) if isinstance(value, (str, int)) else ""


def file_of(family: str) -> str:
    return os.path.realpath(sys.modules[FAMILIES[family]].__file__ or "")


def printable(path: str) -> str:
    """A record is UTF-8, and a path need not be."""
    return path.encode(errors="replace").decode()


def mapped() -> Dict[str, str]:
    """Libraries of CUDA and of frameworks in this process: their names with the major version, by path."""
    named = {path: LIBRARY.match(os.path.basename(path)) for path in mapped_files(".so")}
    return {path: name.group() for path, name in named.items() if name and os.path.exists(path)}


def triton() -> Dict[str, str]:
    """Triton, of which PyTorch imports a part at most, and its assembler. None of it is CUDA."""
    try:
        package = importlib.import_module("triton")
    except ImportError:
        return {}  # it need not be there
    except Exception as error:  # pylint: disable=broad-except
        return {"triton": Refusal.of(error)}
    found = {"triton": value_of("triton.__version__")}
    ptxas = os.environ.get("TRITON_PTXAS_PATH") or os.path.join(os.path.dirname(package.__file__ or ""), "backends/nvidia/bin/ptxas")
    if os.access(ptxas, os.X_OK):
        try:
            said = subprocess.run([ptxas, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False).stdout.decode(errors="replace")
            found["ptxas"] = (re.findall(r"\bV([\d.]+)", said) or [""])[0]
        except (OSError, subprocess.SubprocessError) as error:
            found["ptxas"] = Refusal.of(error)
    return found


def applies(marker: str, extra: str) -> Optional[bool]:
    """Whether a requirement with this marker is one of this interpreter; None: not understood. No package that evaluates markers is in each environment."""
    values: Dict[str, Any] = {"extra": extra, "os_name": os.name, "sys_platform": sys.platform, "implementation_name": sys.implementation.name}
    values.update({f"platform_{name}": getattr(platform, name)() for name in ("machine", "python_implementation", "system")})
    values.update(python_version=sys.version_info[:2], python_full_version=sys.version_info[:3])
    versions = re.sub(r"""(['"])(\d+(?:\.\d+)*)\1""", lambda version: f"({version.group(2).replace('.', ',')},)", marker)
    if re.search(r"""['"]\d""", versions):  # as "3.12.*"
        return None
    try:
        return bool(eval(versions or "True", {"__builtins__": {}}, values))  # pylint: disable=eval-used  # of a package that is imported
    except Exception:  # pylint: disable=broad-except
        return None


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(*path: str) -> Iterator[Tuple[str, metadata.Distribution]]:
    """What the metadata in `path`, or on sys.path, have. Without folders that an uninstallation left."""
    for distribution in metadata.distributions(path=[folder for folder in path or sys.path if folder]):
        try:
            name, version = (distribution.metadata[key] for key in ("Name", "Version"))
        except (KeyError, OSError, TypeError, ValueError):
            continue
        if name and version:
            yield plain(name), distribution


def distributions(*path: str) -> Dict[str, metadata.Distribution]:
    """By name. Where two folders have a package, the first one: what an import finds."""
    found: Dict[str, metadata.Distribution] = {}
    for name, distribution in named(*path):
        found.setdefault(name, distribution)
    return found


def distribution_of(package: str, *path: str) -> Optional[metadata.Distribution]:
    """Of an imported package; CuPy's has a CUDA in its name."""
    return next((each for name, each in distributions(*path).items() if name == package or (package == "cupy" and name.startswith("cupy-"))), None)


def is_version(installed: str, pin: str) -> bool:
    if pin.endswith(".*"):
        return (installed + ".").startswith(pin[:-1])
    both = [re.sub(r"(\.0)+$", "", version) for version in (installed if "+" in pin else installed.split("+")[0], pin)]
    return both[0] == both[1]


def numbers(version: str) -> Tuple[List[int], str]:
    """2, 1 and "rc1" of "2.1.0rc1+cu130"."""
    found = (re.findall(r"^\d+(?:\.\d+)*", version) or [""])[0]
    return [int(number) for number in re.sub(r"(\.0)+$", "", found).split(".") if number], version[len(found) :].split("+")[0]


def meets(installed: str, pin: str) -> Optional[bool]:
    """Whether the version is in all of ">=1,<2". None: not understood, as the order of 1.0 and 1.0rc1."""
    answers: List[Optional[bool]] = []
    for one in re.sub(r"~=(([\d.]+)\.\w+)", r">=\1,==\2.*", pin).split(","):
        operator, version = (re.findall(r"^(===?|!=|[<>]=?)([\w.+*]+)$", one) or [("", "")])[0]
        (left, behind), (right, of) = numbers(installed), numbers(version)
        if operator in ("==", "===", "!="):
            answers.append(is_version(installed, version) == ("!" not in operator))
        else:
            known = operator and (left != right or not behind + of)
            answers.append(("=" in operator if left == right else (left < right) == ("<" in operator)) if known else None)
    return False if False in answers else None if None in answers else True


def unmet(distribution: metadata.Distribution, extras: Optional[List[str]] = None) -> List[str]:
    """One text for each exact pin, and for each range of a package that matters, that is not met or not understood. Pins of a package that is pinned with extras, too: it has no files."""
    wrong, installed = [], distributions()
    for requirement in distribution.requires or []:
        parts = re.match(r"([\w.-]+)\s*(?:\[(.*?)\])?\s*\(?([~=!<>][^;()]*)\)?\s*(?:;(.*))?$", requirement)
        name, of, pin, marker = (re.sub(r"\s+", " ", part or "").strip() for part in parts.groups()) if parts else ("", "", "", "")
        pin, found = pin.replace(" ", ""), installed.get(plain(name))
        exact = "==" in pin
        if not (exact or (found and matters(plain(name)))):
            continue
        perhaps = re.findall(r"jax-(cuda\d+)-plugin", plain(name)) if found else []  # JAX does not say with which extra it was installed
        needed = {applies(marker, extra) for extra in (extras or ["", *perhaps])}
        met = meets(found.version, pin) if found else False
        if needed == {False}:
            continue
        if not met:
            unsure = "not understood: " if met is None or True not in needed else ""
            wrong.append(f"{name}{pin}: {unsure}{found.version + ' is' if found else 'not'} installed{'; ' + marker if unsure and marker else ''}")
        if found and of and extras is None:
            wrong += unmet(found, re.split(r"\s*,\s*", of))
    return wrong


def unmet_pins(package: str, version: str) -> List[str]:
    """Of the distribution that was imported; empty where none of this version is beside its files."""
    beside = distribution_of(package, os.path.dirname(os.path.dirname(sys.modules[package].__file__ or "")))
    return unmet(beside) if beside and is_version(version, beside.version) else []


def identity(family: str) -> Dict[str, Any]:
    """Of an imported framework."""
    package, file = FAMILIES[family], file_of(family)
    found: Dict[str, Any] = {name: value_of(words) for name, words in table_of(family)["identity"].items()}
    if family == "pytorch":
        found.update(triton())
    said = distribution_of(package)
    if said and found["version"] and said.version.split("+")[0] != found["version"].split("+")[0]:
        found["metadata"] = said.version
    found["refused"] = [name for name, value in found.items() if isinstance(value, Refusal)]
    found["unmet"] = unmet_pins(package, found["version"])
    found = {name: value for name, value in found.items() if value}
    libraries = mapped()
    others: List[str] = []
    for folder in (os.path.realpath(os.path.join(place, package)) for place in sys.path):
        if os.path.isfile(folder + "/__init__.py") and folder != os.path.dirname(file) and folder not in others:
            others.append(folder)
    mixed = [path for path in libraries if path.startswith(tuple(folder + "/" for folder in others))]
    if mixed:
        raise ImportError(f"{printable(file)} is imported, and {printable(mixed[0])} of another {package} is in the process")
    if others:
        found["shadowed"] = [printable(folder) for folder in others]
    found["file"] = printable(file)
    found["libraries"] = [printable(path) for path, name in libraries.items() if not re.match(OWN, name)]
    ours = [sys.modules["triton"].__file__ or file] if family == "pytorch" and "triton" in sys.modules else []
    places = [os.stat(path) for path in (file, *libraries, *ours)]
    found["inodes"] = " ".join(sorted({f"{place.st_dev}:{place.st_ino}" for place in places}))
    return found


def require(family: str, expected: Optional[Dict[str, Any]], used: bool = False) -> None:
    """This process has what the stack says. `used`: libraries, too; skipped with LD_PRELOAD: the trial chose its libraries."""
    if expected is None:
        return
    words = table_of(family)["identity"]
    for name, value in {"file": printable(file_of(family)), **{name: value_of(words[name]) for name in ("version", "git") if name in words}}.items():
        if value != expected.get(name, ""):
            raise SetUpFailed(f"{name} of the imported {FAMILIES[family]} is {value!r}, and the stack says {expected.get(name, '')!r}")
    if not used or "LD_PRELOAD" in os.environ:
        return
    libraries, known = {printable(path): name for path, name in mapped().items()}, expected["libraries"]
    there = {name for path, name in libraries.items() if path in known}
    names = {match.group() for match in (LIBRARY.match(os.path.basename(path)) for path in known) if match}
    for path, name in libraries.items():
        if name in names - there:
            raise SetUpFailed(f"{path} is in the process, and the stack says another {name}")
