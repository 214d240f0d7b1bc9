# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

a = cp.eye(16, dtype=cp.float16) * 4
b = cp.ones(16, dtype=cp.float16)
print(cp.linalg.solve(a, b))
