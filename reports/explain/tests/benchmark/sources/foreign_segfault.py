# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import ctypes
import faulthandler

import torch

faulthandler.enable()
x = torch.arange(1 << 20, dtype=torch.float32, device="cuda")
print("sum on the GPU", x.sum().item())
host = x.cpu()
ctypes.memmove(8, host.data_ptr(), host.numel() * 4)
print("copied")
