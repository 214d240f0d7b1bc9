# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.rand(3, 32, 32).cuda(), index % 10


if __name__ == "__main__":
    model = torch.nn.Linear(3 * 32 * 32, 10).cuda()
    for x, y in DataLoader(Images(), batch_size=16, num_workers=2, multiprocessing_context="fork"):
        loss = torch.nn.functional.cross_entropy(model(x.flatten(1)), y.cuda())
        print(loss.item())
