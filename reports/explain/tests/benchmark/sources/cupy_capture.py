# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp

stream = cp.cuda.Stream(non_blocking=True)
x = cp.ones((256, 256), dtype=cp.float32)
with stream:
    stream.begin_capture()
    y = x * 2
    norm = float(y.sum())
    graph = stream.end_capture()
graph.launch(stream)
print(norm)
