# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os

import torch

rank = int(os.environ["RANK"])
table = torch.nn.Embedding(1000, 64, device="cuda")
rows = table(torch.tensor([3, 5000 if rank == 1 else 5], device="cuda"))
print((rows @ torch.randn(64, 64, device="cuda")).sum().item())
