# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

params = {"w1": jnp.ones((784, 128)), "w2": jnp.ones((64, 10))}


@jax.jit
def predict(params, x):
    hidden = jax.nn.relu(x @ params["w1"])
    return hidden @ params["w2"]


print(predict(params, jnp.ones((32, 784))).shape)
