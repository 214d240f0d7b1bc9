# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os

import torch

local_rank = int(os.environ.get("SLURM_LOCALID", 3))
torch.cuda.set_device(local_rank)
model = torch.nn.Linear(8, 8).cuda()
print("rank", local_rank, "has its model")
