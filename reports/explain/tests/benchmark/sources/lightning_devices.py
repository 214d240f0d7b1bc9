# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import sys

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, TensorDataset


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)

    def training_step(self, batch, number):
        return self.net(batch[0]).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


devices = [int(n) for n in sys.argv[1].split(",")]
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=devices, logger=False)
trainer.fit(Model(), DataLoader(TensorDataset(torch.rand(64, 8)), batch_size=8))
