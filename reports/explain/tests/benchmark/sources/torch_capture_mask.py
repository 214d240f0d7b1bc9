# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

a = torch.randn(128, 128, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    mask = a > 0
    picked = a[mask]
    b = picked.sum() * a
graph.replay()
print(b.sum().item())
