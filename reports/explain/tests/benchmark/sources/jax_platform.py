# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

x = jnp.arange(1000.0)
print(jax.jit(lambda v: (v * v).sum())(x))
