# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Fail calls of the CUDA driver and of CUDA libraries on purpose, in the running process.

The process must run under the injector::

    cufault inject -- python script.py

Then::

    with cufault.inject("cuMemAlloc:3=OUT_OF_MEMORY") as here:
        work()
    print(here.injected())

Functions of the driver (``cu...``) can be failed, and those of the CUDA runtime, cuBLAS, cuBLASLt, cuDNN, cuSOLVER, NCCL and NVML that return a status, in
a process that was started with ``cufault inject --library cublas -- python script.py`` (the name of the library; several times for several). The first
driver call of a process to create a context, to load a library or to allocate may come from any library; ``cufault trace -- python script.py`` lists
the calls.
"""

from ._injector import Injection, NotUnderInjector, Rule, RuleError, Rules, inject, injected, rules
from ._program import program

__all__ = ["Injection", "NotUnderInjector", "Rule", "RuleError", "Rules", "inject", "injected", "program", "rules"]
