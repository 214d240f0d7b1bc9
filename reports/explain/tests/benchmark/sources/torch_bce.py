# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

model = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 1)).cuda()
criterion = nn.BCELoss()
x = torch.randn(128, 30, device="cuda") * 5
y = (torch.rand(128, 1, device="cuda") > 0.5).float()
for epoch in range(3):
    loss = criterion(model(x), y)
    model.zero_grad()
    loss.backward()
    print("epoch", epoch, "loss", loss.item())
