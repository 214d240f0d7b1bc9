# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What an exception of a framework says: its type, the library call and the status that its text names."""
from __future__ import annotations

import re
from typing import Dict, Optional

# Texts of cudaGetErrorString, which a framework may print without the name.
ERROR_STRINGS = {
    "device-side assert triggered": "cudaErrorAssert",
    "an illegal memory access was encountered": "cudaErrorIllegalAddress",
    "unspecified launch failure": "cudaErrorLaunchFailure",
    "misaligned address": "cudaErrorMisalignedAddress",
    "an illegal instruction was encountered": "cudaErrorIllegalInstruction",
    "operation not permitted when stream is capturing": "cudaErrorStreamCaptureUnsupported",
    "operation failed due to a previous error during capture": "cudaErrorStreamCaptureInvalidated",
    "no CUDA-capable device is detected": "cudaErrorNoDevice",
    "invalid device ordinal": "cudaErrorInvalidDevice",
    "initialization error": "cudaErrorInitializationError",
    "invalid argument": "cudaErrorInvalidValue",
    "CUDA error: out of memory": "cudaErrorMemoryAllocation",
}
NAMES = re.compile(r"\b((?:CUBLAS|CUSOLVER|CUSPARSE|CUDNN)_STATUS_[A-Z_]+|CUDA_ERROR_[A-Z_]+|cudaError[A-Z]\w+)")
# XLA begins its messages with a code of absl::StatusCode.
XLA_CODE = re.compile(
    r"^(CANCELLED|UNKNOWN|INVALID_ARGUMENT|DEADLINE_EXCEEDED|NOT_FOUND|ALREADY_EXISTS|PERMISSION_DENIED|RESOURCE_EXHAUSTED"
    r"|FAILED_PRECONDITION|ABORTED|OUT_OF_RANGE|UNIMPLEMENTED|INTERNAL|UNAVAILABLE|DATA_LOSS|UNAUTHENTICATED):"
)
CALL = re.compile(r"when calling `(\w+)")


def named_status(text: str) -> Optional[str]:
    """The status that a text names: of CUDA's libraries first, then of XLA."""
    found = NAMES.search(text)
    if found:
        return found.group(1)
    for words, name in ERROR_STRINGS.items():
        if words in text:
            return name
    xla = XLA_CODE.match(text)
    return xla.group(1) if xla else None


def describe(error: BaseException) -> "tuple[str, Dict[str, str]]":
    """The status of a step that raised: the one that the text names, or else the exception's type. And its facts."""
    text = str(error)
    kind = type(error).__name__
    facts = {"exception": kind}
    call = CALL.search(text)
    if call:
        facts["named_call"] = call.group(1)
    return named_status(text) or kind, facts
