# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

torch.use_deterministic_algorithms(True)
torch.manual_seed(0)
a = torch.randn(256, 256, device="cuda", requires_grad=True)
b = a @ a.t()
b.sum().backward()
print(a.grad.norm().item())
