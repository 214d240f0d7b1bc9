# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

n = 3_000_000
positions = cp.random.rand(n, 2, dtype=cp.float32)
print("particles:", n)
distances = cp.linalg.norm(positions[:, None, :] - positions[None, :, :], axis=2)
print(distances.max())
