# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the driver and of libraries that libcufault.so fails while one operation of a framework runs. What follows is made up: it does
not show that this happens without cufault."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Optional

from framework_trials.cells import World, parsed
from framework_trials.protocol import NotProvoked, SetUpFailed

Rules = List[Dict[str, Any]]


def failing(code: str, *functions: str, **more: Any) -> Rules:
    return [{"function": function, "return": code, **more} for function in functions]


MEMORY = ("cuMemAlloc", "cuMemAllocManaged", "cuMemAllocPitch", "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemCreate")
CODE = ("cuLibraryLoadData", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary")
PRODUCTS = "cublas*[gG]emm*"  # of cuBLAS; a glob minds case

# By the word of the arm's name. Rules without "hits" hold until the operation is over. "caller": the library that makes the call.
RULES: Dict[str, Rules] = {
    "memory": failing("OUT_OF_MEMORY", *MEMORY),
    "memory_of_cublas": failing("OUT_OF_MEMORY", *MEMORY, caller="cublas"),
    "memory_once": failing("OUT_OF_MEMORY", "cuMemAlloc", hits=1),
    "code": failing("OUT_OF_MEMORY", *CODE),
    "code_of_cublaslt_once": failing("OUT_OF_MEMORY", "cuLibraryLoadData", caller="cublasLt", hits=1),
    "no_code_for_this_gpu": failing("NO_BINARY_FOR_GPU", *CODE),
    "launch_once": failing("LAUNCH_OUT_OF_RESOURCES", "cuLaunchKernel*", hits=1),
    "launch_of_cublas_once": failing("LAUNCH_OUT_OF_RESOURCES", "cuLaunchKernel*", caller="libcublas*", hits=1),
    "stream": failing("OUT_OF_MEMORY", "cuStreamCreate", "cuStreamCreateWithPriority"),
    "event": failing("OUT_OF_MEMORY", "cuEventCreate"),
    "synchronisation_once": failing("LAUNCH_FAILED", "cuStreamSynchronize", hits=1),
    # Of cases whose rules hold before the framework has begun.
    "no_device": failing("NO_DEVICE", "cuInit"),
    "unknown_error": failing("UNKNOWN", "cuInit"),
    "memory_of_context": failing("OUT_OF_MEMORY", "cuDevicePrimaryCtxRetain"),
    "older_driver": [{"function": "cuDriverGetVersion", "driver_version": 11080}],
    # Of functions of libraries: libcufault_cublas.so and its like are preloaded, too.
    "create_not_initialized": failing("NOT_INITIALIZED", "cublasCreate"),
    "create_alloc_failed": failing("ALLOC_FAILED", "cublasCreate"),
    "create_internal_error": failing("INTERNAL_ERROR", "cublasCreate"),
    "lt_create_not_initialized": failing("NOT_INITIALIZED", "cublasLtCreate"),
    "product_alloc_failed_once": failing("ALLOC_FAILED", PRODUCTS, hits=1),
    "product_execution_failed_once": failing("EXECUTION_FAILED", PRODUCTS, hits=1),
    "product_internal_error_once": failing("INTERNAL_ERROR", PRODUCTS, hits=1),
    "product_invalid_value_once": failing("INVALID_VALUE", PRODUCTS, hits=1),
    "product_not_supported_once": failing("NOT_SUPPORTED", PRODUCTS, hits=1),
    "lt_matmul_alloc_failed_once": failing("ALLOC_FAILED", "cublasLtMatmul", hits=1),
    "lt_matmul_execution_failed": failing("EXECUTION_FAILED", "cublasLtMatmul"),
    "lt_matmul_execution_failed_once": failing("EXECUTION_FAILED", "cublasLtMatmul", hits=1),
    "lt_matmul_not_supported": failing("NOT_SUPPORTED", "cublasLtMatmul"),
    "heuristic_alloc_failed_once": failing("ALLOC_FAILED", "cublasLtMatmulAlgoGetHeuristic", hits=1),
    "heuristic_not_supported": failing("NOT_SUPPORTED", "cublasLtMatmulAlgoGetHeuristic"),
    "cuda_malloc": failing("cudaErrorMemoryAllocation", "cudaMalloc"),
    "cuda_malloc_once": failing("cudaErrorMemoryAllocation", "cudaMalloc", hits=1),
}
# Of which library a function is, by its beginning: the first that fits. Others are of the driver.
LIBRARIES = {"cublasLt": "cublasLt", "cublas": "cublas", "cuda": "cudart"}


def libraries_of(rules: Rules) -> List[str]:
    beginnings = [next((begin for begin in LIBRARIES if rule["function"].startswith(begin)), None) for rule in rules]
    return sorted({LIBRARIES[begin] for begin in beginnings if begin})


class Injector:
    """What libcufault.so offers to the process that it is preloaded into."""

    def __init__(self, libraries: List[str]) -> None:
        process = ctypes.CDLL(None)
        try:
            self._set, self._error, self._acted = (
                process.cufault_set_rules,
                process.cufault_rules_error,
                process.cufault_injections,
            )
        except AttributeError:
            raise NotProvoked(
                "libcufault.so is not preloaded: it was not built, or lies where the loader cannot name it (a path with ':' or a space)"
            ) from None
        for library in libraries:
            if not hasattr(process, "cufault_front_" + library):
                raise NotProvoked(f"libcufault_{library}.so is not preloaded: it was not built, or lies where the loader cannot name it")
        self._set.argtypes = [ctypes.c_char_p]
        self._error.restype = ctypes.c_char_p
        self._acted.restype = ctypes.c_ulonglong

    def set_rules(self, rules: Optional[Rules]) -> None:
        text = json.dumps({"rules": rules}).encode() if rules else None
        if self._set(text) != 0:
            raise SetUpFailed("libcufault.so: " + (self._error() or b"").decode(errors="replace"))

    def acted(self) -> int:
        """Calls of this process that rules acted on so far."""
        return int(self._acted())


def fault(world: World) -> None:
    """The rules hold for one operation. Where they acted on none of its calls, nothing was provoked."""
    word = next((word for word in parsed(world.trial.arm)[1] if word in RULES), None)
    if word is None:
        raise SetUpFailed("the name of the arm has no rule")
    libraries = libraries_of(RULES[word])
    calls = "library calls" if libraries else "driver calls"
    injector = Injector(libraries)
    before = injector.acted()
    world.trial.note("rules", json.dumps(RULES[word]))
    injector.set_rules(RULES[word])

    def over() -> None:
        injector.set_rules(None)
        acted = injector.acted() - before
        world.trial.measure(f"{calls} of this process that rules acted on", acted)
        if acted == 0:
            raise NotProvoked(f"the operation made no {calls[:-1]} that the rule is for")

    world.at_end_of_fault.append(over)
