# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Becomes a reader: start.py READER JSON WORD... Its syntax is that of old Pythons, which refuse themselves here in one line.
import importlib
import os
import sys

if sys.version_info < (3, 9):
    sys.stderr.write("cufault: this command needs Python 3.9 or newer, and %s is %d.%d; set CUFAULT_PYTHON to one\n" % (sys.executable, *sys.version_info[:2]))
    sys.exit(2)
del sys.argv[0]
reader = importlib.import_module(os.path.splitext(os.path.basename(sys.argv[0]))[0])
importlib.import_module("asked").run(reader.main)
