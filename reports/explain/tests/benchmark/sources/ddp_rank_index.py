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
torch.manual_seed(rank)
embedding = torch.nn.Sequential(torch.nn.Embedding(100, 16), torch.nn.Flatten(), torch.nn.Linear(16 * 4, 2)).cuda()
model = DistributedDataParallel(embedding)
for step in range(5):
    tokens = torch.randint(0, 100 + 50 * rank, (64, 4), device="cuda")
    loss = model(tokens).square().mean()
    loss.backward()
    print(f"[rank {rank}] step {step} loss {loss.item():.4f}")
