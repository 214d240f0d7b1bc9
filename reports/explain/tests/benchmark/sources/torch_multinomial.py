# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

torch.manual_seed(0)
hidden = torch.randn(1, 64, device="cuda", dtype=torch.float16)
head = torch.nn.Linear(64, 1000, device="cuda", dtype=torch.float16)
temperature = 0.0
generated = []
for _ in range(8):
    logits = head(hidden).float() - head(hidden).float().max()
    probabilities = torch.softmax(logits / temperature, dim=-1)
    token = torch.multinomial(probabilities, num_samples=1)
    generated.append(token.item())
print("tokens:", generated)
