# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

a = cp.random.rand(2048, 2048)
b = cp.random.rand(2048, 2048)
c = a @ b
print(float(c.trace()))
