# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

design = cp.random.rand(100, 8)
weights = cp.random.rand(7)
print((design @ weights).sum())
