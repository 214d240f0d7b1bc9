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
model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
config = {"steps": 3} if rank == 0 else {"stepz": 3}
for step in range(3):
    loss = model(torch.ones(2, 4, device="cuda")).sum()
    loss.backward()
    print(f"[rank {rank}] step {step} of {config['steps']}: {loss.item():.3f}")
