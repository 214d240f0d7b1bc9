# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

adjacency = (torch.rand(500, 500, device="cuda") > 0.9).long()
two_hops = adjacency @ adjacency
print("pairs that are two hops apart:", (two_hops > 0).sum().item())
