# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

torch.manual_seed(0)
layers = [torch.randn(1024, 1024, device="cuda", dtype=torch.float16) for _ in range(4)]
x = torch.randn(8, 1024, device="cuda", dtype=torch.float16) * 10
for number, weights in enumerate(layers):
    x = torch.relu(x @ weights)
    print(f"layer {number}: max {x.max().item()}")
    if not torch.isfinite(x).all():
        raise FloatingPointError(f"activations of layer {number} overflow float16: inf or nan")
