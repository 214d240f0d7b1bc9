#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs trials in the interpreter that runs this. cufault run --python starts it; it speaks on descriptor 3."""
import sys

from framework_trials.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
