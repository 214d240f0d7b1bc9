# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch


def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


model = torch.nn.Linear(8, 2).cuda()
x = torch.randn(64, 8, device="cuda")
y = torch.ones(64, device="cuda", dtype=torch.long)
score = accuracy(model, x, y)
print("accuracy", score)
assert score > 0.99, f"accuracy {score} is lower than expected"
