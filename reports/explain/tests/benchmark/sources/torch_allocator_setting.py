# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

x = torch.randn(1024, 1024, device="cuda")
y = x @ x
print(y.norm().item())
