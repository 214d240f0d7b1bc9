# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)).cuda().half()
x = torch.randn(16, 64, device="cuda", dtype=torch.float16) * 300
with torch.autograd.detect_anomaly():
    for step in range(5):
        out = model(x).exp()
        loss = (out * out).mean().log()
        print("step", step, "loss", loss.item())
        loss.backward()
