# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

print("devices:", len(jax.devices()), jax.devices()[0].platform)


@jax.jit
def pairwise(points):
    return jnp.sum((points[:, None, :] - points[None, :, :]) ** 2, axis=-1)


points = jnp.ones((2_000_000, 3))
distances = pairwise(points)
print(distances.min())
