# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import torch

model = torch.nn.Linear(128, 128).cuda()
print("model on the GPU:", next(model.parameters()).is_cuda)
features = np.ones((100_000_000, 1_000_000), dtype=np.float64)
batch = torch.from_numpy(features[:32, :128]).float().cuda()
print(model(batch).sum().item())
