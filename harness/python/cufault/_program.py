# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the program of this package is."""

from pathlib import Path


def program() -> Path:
    """The ``cufault`` program of this package. It finds its libraries and records by its own path: do not copy it alone."""
    return Path(__file__).resolve().parent / "bin" / "cufault"
