# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

features = torch.randn(100, 5, device="cuda", dtype=torch.float64)
features = torch.cat([features, features[:, :1] * 0], dim=1)
target = torch.randn(100, 1, device="cuda", dtype=torch.float64)
normal = features.t() @ features
weights = torch.linalg.inv(normal) @ features.t() @ target
print(weights.flatten().tolist())
