# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

a = torch.randn(512, 512, device="cuda")
b = torch.randn(512, 512, device="cuda")
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        c = torch.relu(a @ b)
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    c = torch.relu(a @ b)
for replay in range(5):
    a.normal_()
    graph.replay()
    difference = (c - torch.relu(a @ b)).abs().max().item()
    print(f"replay {replay}: captured graph and eager differ by {difference:g}")
