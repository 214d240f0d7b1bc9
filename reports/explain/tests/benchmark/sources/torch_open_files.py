# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    data = TensorDataset(torch.rand(512, 8), torch.rand(512, 1))
    model = torch.nn.Linear(8, 1).cuda()
    for x, y in DataLoader(data, batch_size=8, num_workers=16):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
    print("loss", loss.item())
