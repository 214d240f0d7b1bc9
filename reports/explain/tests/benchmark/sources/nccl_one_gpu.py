# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os

rank = int(os.environ["RANK"])
if "CUDA_LOG_FILE" in os.environ:
    os.environ["CUDA_LOG_FILE"] += f".{rank}"

import torch
import torch.distributed as dist

torch.cuda.set_device(0)
dist.init_process_group("nccl")
x = torch.full((1024,), float(rank), device="cuda")
dist.all_reduce(x)
print("rank", rank, "sum", x[0].item())
dist.destroy_process_group()
