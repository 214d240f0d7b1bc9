# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.mask = torch.tril(torch.ones(length, length))

    def forward(self, x):
        q = self.project(x)
        scores = (q @ x.transpose(1, 2)).masked_fill(self.mask == 0, float("-inf"))
        return scores.softmax(-1) @ x


model = Attention(64, 10).cuda()
print(model(torch.randn(2, 10, 64, device="cuda")).shape)
