# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40, growth_interval=20)
for step in range(60):
    x = torch.randn(512, 64, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = (model(x) - x.sum(dim=1, keepdim=True)).square().mean()
    before = scaler.get_scale()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if scaler.get_scale() < before:
        print(f"step {step}: gradient overflow, skipping step, loss scale reduced to {scaler.get_scale():g}")
    elif step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}, loss scale {scaler.get_scale():g}")
