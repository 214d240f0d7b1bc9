# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp
import torch

features = jnp.ones((1024, 1024)) @ jnp.ones((1024, 1024))
print("JAX:", features.sum())
free, total = torch.cuda.mem_get_info()
print(f"free for PyTorch: {free / total:.0%} of the GPU")
weights = [torch.ones(1 << 28, device="cuda") for _ in range(total * 2 // 5 >> 30)]
print("PyTorch:", sum(w[0].item() for w in weights))
