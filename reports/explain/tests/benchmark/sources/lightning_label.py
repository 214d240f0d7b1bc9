# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, TensorDataset


class Digits(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 9))

    def training_step(self, batch, number):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


data = DataLoader(TensorDataset(torch.rand(256, 8, 8), torch.randint(0, 10, (256,))), batch_size=64)
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False)
trainer.fit(Digits(), data)
