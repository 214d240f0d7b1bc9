# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch


@torch.compile(fullgraph=True)
def step(x, values):
    total = x.sum()
    print("inside of the step", total)
    return x * total.item() + len(values)


print(step(torch.ones(8, device="cuda"), {1, 2}))
