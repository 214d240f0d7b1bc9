# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp
import torch

free, total = torch.cuda.mem_get_info()
weights = torch.zeros(int(total * 0.6), dtype=torch.uint8, device="cuda")
print(f"PyTorch holds {weights.numel() / total:.0%} of the GPU")
layers = [jnp.ones((1 << 28,)) for _ in range(total // 2 >> 30)]
print("JAX:", float(sum(layer[0] for layer in layers)), weights[0].item())
