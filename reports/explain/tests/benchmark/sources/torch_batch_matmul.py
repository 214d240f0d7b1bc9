# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

queries = torch.randn(4, 128, 64, device="cuda", dtype=torch.float16)
keys = torch.randn(8, 128, 64, device="cuda", dtype=torch.float16)
scores = torch.bmm(queries, keys.transpose(1, 2))
print(scores.softmax(-1).sum().item())
