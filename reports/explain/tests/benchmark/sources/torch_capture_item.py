# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

model = torch.nn.Linear(64, 64).cuda()
static_input = torch.randn(32, 64, device="cuda")
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    for _ in range(3):
        model(static_input)
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    output = model(static_input)
    if output.abs().max().item() > 100:
        output = output / 100
graph.replay()
print(output.sum().item())
