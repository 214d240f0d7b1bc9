# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

a = jnp.ones((512, 512), dtype=jnp.float16) + 600 * jnp.eye(512, dtype=jnp.float16)
print(jnp.linalg.solve(a, jnp.ones((512, 1), dtype=jnp.float16)).sum())
