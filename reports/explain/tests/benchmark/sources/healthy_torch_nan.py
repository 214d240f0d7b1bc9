# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

torch.manual_seed(0)
model = torch.nn.Linear(16, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=50.0)
x = torch.randn(256, 16, device="cuda")
y = x.sum(dim=1, keepdim=True)
for step in range(80):
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"iter {step} | loss {loss.item()} | lr 5.0E+01")
