# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

a = torch.randn(32, 64, device="cuda").to(torch.float8_e5m2)
b = torch.randn(32, 64, device="cuda").to(torch.float8_e5m2)
one = torch.tensor(1.0, device="cuda")
out = torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
print(out.shape)
