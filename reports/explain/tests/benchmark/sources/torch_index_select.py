# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

nodes = torch.randn(1000, 32, device="cuda")
edges = torch.randint(0, 1200, (2, 5000), device="cuda")
source, target = edges
messages = nodes[source]
degree = torch.zeros(1000, device="cuda").scatter_add_(0, target, torch.ones(5000, device="cuda"))
layer = torch.nn.Linear(32, 16).cuda()
out = layer(messages)
torch.cuda.synchronize()
print(out.shape, degree.max().item())
