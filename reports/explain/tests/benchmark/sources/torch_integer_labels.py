# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

model = nn.Linear(10, 4).cuda()
x = torch.randn(32, 10, device="cuda")
y = torch.randint(0, 4, (32,), device="cuda", dtype=torch.int32)
loss = nn.CrossEntropyLoss()(model(x), y)
loss.backward()
print(loss.item())
