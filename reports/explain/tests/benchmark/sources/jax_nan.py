# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

jax.config.update("jax_debug_nans", True)


@jax.jit
def loss(weights, x):
    return jnp.log(jnp.dot(x, weights)).mean()


weights = jnp.linspace(-1.0, 1.0, 16)
x = jnp.ones((8, 16))
for step in range(3):
    value, gradient = jax.value_and_grad(loss)(weights, x)
    weights = weights - 0.1 * gradient
    print("step", step, "loss", value)
