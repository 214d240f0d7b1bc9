# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os

rank = int(os.environ["RANK"])
if "CUDA_LOG_FILE" in os.environ:
    os.environ["CUDA_LOG_FILE"] += f".{rank}"

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.cuda.set_device(0)
model = DistributedDataParallel(torch.nn.Linear(32, 8).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = (model(torch.randn(64, 32, device="cuda")) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"[rank {rank}] step {step} loss {loss.item():.4f}")
dist.destroy_process_group()
