# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

torch.manual_seed(0)
VOCABULARY = 1000


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 64)
        self.out = nn.Linear(64, 5)

    def forward(self, tokens):
        return self.out(self.words(tokens).mean(dim=1))


model = Classifier().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(20):
    tokens = torch.randint(1, VOCABULARY + 1, (32, 16), device="cuda")
    labels = torch.randint(0, 5, (32,), device="cuda")
    loss = nn.functional.cross_entropy(model(tokens), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.4f}")
