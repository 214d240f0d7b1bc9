# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

print("JAX", jax.__version__, "devices:", len(jax.devices()))
key = jax.random.PRNGKey(0)
x = jax.random.normal(key, (1024, 16))
y = x @ jnp.arange(16.0)
weights = jnp.zeros(16)


@jax.jit
def step(weights):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)
    return weights - 0.1 * gradient, loss


for number in range(50):
    weights, loss = step(weights)
    if number % 10 == 0:
        print("step", number, "loss", float(loss))
print("norm of weights", float(jnp.linalg.norm(weights)))
