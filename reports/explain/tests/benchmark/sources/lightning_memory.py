# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, TensorDataset


class Wide(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(64, 1 << 20)

    def training_step(self, batch, number):
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


torch.cuda.set_per_process_memory_fraction(0.02)
data = DataLoader(TensorDataset(torch.rand(4096, 64)), batch_size=2048)
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Wide(), data)
