# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

heads, length, width = 32, 262144, 128
q = torch.randn(1, heads, length, width, device="cuda", dtype=torch.bfloat16)
k = torch.randn(1, heads, length, width, device="cuda", dtype=torch.bfloat16)
v = torch.randn(1, heads, length, width, device="cuda", dtype=torch.bfloat16)
scores = q @ k.transpose(-2, -1) / width**0.5
out = torch.softmax(scores, dim=-1) @ v
print(out.shape)
