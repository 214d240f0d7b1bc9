# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

table = torch.nn.Embedding(1000, 64, device="cuda")
weight = torch.randn(64, 64, device="cuda")


def step(tokens):
    rows = table(tokens)
    return rows @ weight


print(step(torch.tensor([3, 5000], device="cuda")).sum().item())
