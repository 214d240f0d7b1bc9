# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2)).to("cuda")
batch = torch.randn(8, 16)
with torch.no_grad():
    prediction = model(batch)
print(prediction.argmax(dim=1).tolist())
