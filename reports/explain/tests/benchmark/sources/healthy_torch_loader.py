# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    data = TensorDataset(torch.rand(2048, 64), torch.randint(0, 10, (2048,)))
    model = torch.nn.Linear(64, 10).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for x, y in DataLoader(data, batch_size=128, shuffle=True, num_workers=2, pin_memory=True):
            loss = torch.nn.functional.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"Epoch {epoch + 1}/3 - loss: {loss.item():.4f} - lr: 1.00e-03")
