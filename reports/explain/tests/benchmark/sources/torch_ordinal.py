# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

device = torch.device("cuda:7")
x = torch.zeros(4, 4, device=device)
print(x.sum().item())
