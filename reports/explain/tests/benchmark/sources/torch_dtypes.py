# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

model = nn.Linear(128, 64).cuda().half()
x = torch.randn(32, 128, device="cuda")
print("weights", model.weight.dtype, "input", x.dtype)
y = model(x)
print(y.float().norm().item())
