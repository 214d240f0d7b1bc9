# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os

import cupy as cp

table = cp.arange(100)
print("parent", int(table.sum()), flush=True)
child = os.fork()
if child == 0:
    print("child", int((table * 2).sum()), flush=True)
    raise SystemExit(0)
_, status = os.waitpid(child, 0)
print("status of the child:", status)
raise SystemExit(os.waitstatus_to_exitcode(status))
