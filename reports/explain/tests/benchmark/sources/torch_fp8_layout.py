# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

a = torch.randn(64, 128, device="cuda").to(torch.float8_e4m3fn)
b = torch.randn(128, 64, device="cuda").to(torch.float8_e4m3fn)
one = torch.tensor(1.0, device="cuda")
out = torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
print(out.shape)
