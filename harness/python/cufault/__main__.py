# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""The command ``cufault``, and ``python -m cufault``: becomes the program of this package."""

import os
import sys
from typing import NoReturn

from ._program import program


def main() -> NoReturn:
    """Replaces this process, so that exit code, signals and process ID are the program's."""
    path = program()
    try:
        os.execv(path, ["cufault", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"cufault: {path}: {error.strerror}; install the package again: pip install --force-reinstall cufault")


if __name__ == "__main__":
    main()
