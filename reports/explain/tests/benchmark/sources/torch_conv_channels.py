# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3)).to(device)
print("device:", device)
grey = torch.rand(16, 1, 64, 64, device=device)
features = model(grey)
print(features.shape)
