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
from typing import Any, Dict, List, Optional

from framework_trials.protocol import SetUpFailed, mapped_files
from framework_trials.tables import FAMILIES, table_of

OWN = r"lib(?:torch|c10|jax|xla)\w*|xla_\w+"  # their versions are the framework's
LIBRARY = re.compile(rf"({OWN}|lib(?:cublas|cudart|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc|nvshmem)\w*)\.so(?:\.\d+)?")


class Refusal(str):
    """What an attribute raised in place of a value."""


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
        return Refusal(f"{type(error).__name__}: {error}"[:120])
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
    package = importlib.import_module("triton")
    found = {"triton": value_of("triton.__version__")}
    ptxas = os.environ.get("TRITON_PTXAS_PATH") or os.path.join(os.path.dirname(package.__file__ or ""), "backends/nvidia/bin/ptxas")
    if os.access(ptxas, os.X_OK):
        said = subprocess.run([ptxas, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False).stdout.decode(errors="replace")
        found["ptxas"] = (re.findall(r"\bV([\d.]+)", said) or [""])[0]
    return found


def applies(marker: str, extra: str) -> bool:
    """Whether a requirement with this marker is one of this interpreter. No package that evaluates markers is in each environment."""
    values = {
        "extra": extra,
        "os_name": os.name,
        "sys_platform": sys.platform,
        "platform_system": platform.system(),
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "python_version": sys.version_info[:2],
    }
    versions = re.sub(r"""(['"])(\d+(?:\.\d+)*)\1""", lambda version: f"({version.group(2).replace('.', ',')},)", marker)
    try:
        return bool(eval(versions or "True", {"__builtins__": {}}, values))  # pylint: disable=eval-used  # of a package that is imported
    except Exception:  # pylint: disable=broad-except
        return False


def distributions(*path: str) -> Dict[str, metadata.Distribution]:
    """By name. Where two folders of sys.path, or of `path`, have a package, the first one: what an import finds."""
    found: Dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=list(path) or sys.path):
        found.setdefault(re.sub(r"[-_.]+", "-", distribution.metadata["Name"] or "").lower(), distribution)
    return found


def is_version(installed: str, pin: str) -> bool:
    if pin.endswith(".*"):
        return (installed + ".").startswith(pin[:-1])
    plain = [re.sub(r"(\.0)+$", "", version) for version in (installed if "+" in pin else installed.split("+")[0], pin)]
    return plain[0] == plain[1]


def unmet(distribution: metadata.Distribution, extras: Optional[List[str]] = None) -> List[str]:
    """A text for each exact pin that what this interpreter finds differs from. Pins of a package that is pinned with extras, too: it has no files."""
    wrong, installed = [], distributions()
    for requirement in distribution.requires or []:
        parts = re.match(r"([\w.-]+)\s*(?:\[(.*?)\])?\s*\(?(?:[^;]*,)?\s*==\s*([\w.+!*]+)[^;]*(?:;(.*))?$", requirement)
        if not parts or not any(applies((parts.group(4) or "").strip(), extra) for extra in extras or [""]):
            continue
        name, pin = parts.group(1), parts.group(3)
        found = installed.get(re.sub(r"[-_.]+", "-", name).lower())
        if found is None:
            wrong.append(f"{name}=={pin}: not installed")
        elif not is_version(found.version, pin):
            wrong.append(f"{name}=={pin}: {found.version} is installed")
        if found and parts.group(2) and extras is None:
            wrong += unmet(found, re.split(r"\s*,\s*", parts.group(2)))
    return wrong


def unmet_pins(package: str, version: str) -> List[str]:
    """Of the distribution that was imported; empty where none of this version is beside its files."""
    beside = distributions(os.path.dirname(os.path.dirname(sys.modules[package].__file__ or "")))
    for name, distribution in beside.items():
        if name == package or (package == "cupy" and name.startswith("cupy-")):
            return unmet(distribution) if is_version(version, distribution.version) else []
    return []


def identity(family: str, metadata_say: str) -> Dict[str, Any]:
    """Of an imported framework. `metadata_say`: the version that the environment's metadata say, or empty."""
    package, file = FAMILIES[family], file_of(family)
    found: Dict[str, Any] = {name: value_of(words) for name, words in table_of(family)["identity"].items()}
    if family == "pytorch":
        try:
            found.update(triton())
        except ImportError:
            pass  # it need not be there
        except Exception as error:  # pylint: disable=broad-except
            found["triton"] = Refusal(f"{type(error).__name__}: {error}"[:120])
    if metadata_say and found["version"] and metadata_say.split("+")[0] != found["version"].split("+")[0]:
        found["metadata"] = metadata_say
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
        raise ImportError(f"{printable(file)} is imported, and {mixed[0]} of another {package} is in the process")
    if others:
        found["shadowed"] = [printable(folder) for folder in others]
    found["file"] = printable(file)
    found["libraries"] = [path for path, name in libraries.items() if not re.match(OWN, name)]
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
    libraries, known = mapped(), expected["libraries"]
    there = {name for path, name in libraries.items() if path in known}
    names = {match.group() for match in (LIBRARY.match(os.path.basename(path)) for path in known) if match}
    for path, name in libraries.items():
        if name in names - there:
            raise SetUpFailed(f"{path} is in the process, and the stack says another {name}")
