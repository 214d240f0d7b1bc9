# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

config = {"model": {"width": 64}, "train": {"steps": 10}}
model = torch.nn.Linear(config["model"]["width"], 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(config["train"]["steps"]):
    loss = model(torch.randn(16, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    print("step", step, loss.item())
    if step == 3:
        torch.save(model.state_dict(), config["train"]["checkpoint"])
