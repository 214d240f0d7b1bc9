# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os

rank = int(os.environ["RANK"])
os.environ["NCCL_HOSTID"] = f"node{rank}"
if "CUDA_LOG_FILE" in os.environ:
    os.environ["CUDA_LOG_FILE"] += f".{rank}"

import torch
import torch.distributed as dist

torch.cuda.set_device(0)
dist.init_process_group("nccl")
x = torch.ones(1 << 20, device="cuda")
dist.all_reduce(x)
print(f"[rank {rank}] first all_reduce: {x[0].item()}", flush=True)
if rank == 1:
    activations = torch.empty(1 << 40, device="cuda")
dist.all_reduce(x)
torch.cuda.synchronize()
print(f"[rank {rank}] second all_reduce: {x[0].item()}", flush=True)
