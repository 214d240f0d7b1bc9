# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

dataset_gib = 4096
print(f"Pinning {dataset_gib} GiB of host memory for the loader")
staging = torch.empty(dataset_gib << 30, dtype=torch.uint8, pin_memory=True)
batch = staging[: 1 << 20].to("cuda", non_blocking=True)
torch.cuda.synchronize()
print(batch.shape)
