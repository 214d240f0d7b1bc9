# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch import nn

torch.cuda.set_per_process_memory_fraction(0.02)
model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                      nn.Flatten(), nn.Linear(64, 100)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for batch_size in (8, 64, 512, 4096):
    images = torch.randn(batch_size, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 100, (batch_size,), device="cuda")
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"batch size {batch_size}: loss {loss.item():.3f}, peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")
