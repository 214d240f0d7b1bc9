# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

device = torch.device("cuda:0")
logits = torch.randn(8, 50, device=device)
actions = torch.full((8, 1), 50, device=device)
chosen = logits.log_softmax(dim=1).gather(1, actions)
returns = torch.ones(8, 1, device=device)
policy_loss = -(chosen * returns).mean()
print("policy loss", policy_loss.item())
weights = torch.randn(50, 50, device=device)
print((logits @ weights).sum().item())
