# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

print("CUDA available:", torch.cuda.is_available(), "devices:", torch.cuda.device_count())
model = torch.nn.Linear(10, 10).cuda()
print(model(torch.ones(1, 10, device="cuda")).sum().item())
