# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

cp.random.seed(0)
points = cp.concatenate([cp.random.randn(1000, 2) + offset for offset in (0, 6, 12)])
centers = points[cp.array([0, 1500, 2500])]
for iteration in range(10):
    distances = cp.linalg.norm(points[:, None] - centers[None], axis=2)
    labels = distances.argmin(axis=1)
    centers = cp.stack([points[labels == k].mean(axis=0) for k in range(3)])
    print("iteration", iteration, "inertia", float((distances.min(axis=1) ** 2).sum()))
print(cp.asnumpy(centers).round(1).tolist(), "pool:", cp.get_default_memory_pool().used_bytes(), "bytes")
