# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 10))
x = torch.randn(16, 20)
y = torch.arange(16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    loss = nn.CrossEntropyLoss()(model(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
