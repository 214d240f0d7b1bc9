# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

cp.get_default_memory_pool().set_limit(size=1 << 30)
frames = []
for number in range(64):
    frames.append(cp.zeros((4096, 4096), dtype=cp.float32))
    print("frame", number, "pool", cp.get_default_memory_pool().used_bytes() >> 20, "MiB")
print(cp.stack(frames).shape)
