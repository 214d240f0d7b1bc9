# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

blocks = []
for number in range(1000):
    blocks.append(nn.Linear(16384, 16384, device="cuda"))
    if number % 20 == 0:
        print(f"block {number}: {torch.cuda.memory_allocated() / 2**30:.1f} GiB allocated")
model = nn.Sequential(*blocks)
print(sum(p.numel() for p in model.parameters()))
