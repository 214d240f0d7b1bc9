# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

print("PyTorch", torch.__version__)
model = torch.nn.TransformerEncoderLayer(d_model=256, nhead=8)
model.to("cuda")
x = torch.randn(10, 32, 256, device="cuda")
print("output", model(x).shape)
