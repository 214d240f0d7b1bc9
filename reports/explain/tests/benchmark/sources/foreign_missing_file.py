# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

model = torch.nn.Linear(8, 8).cuda()
print("GPU ready, loading the weights")
model.load_state_dict(torch.load("weights/epoch_10.pt", map_location="cuda"))
print(model(torch.ones(1, 8, device="cuda")))
