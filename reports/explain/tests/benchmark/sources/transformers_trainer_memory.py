# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.cuda.set_per_process_memory_fraction(0.01)
config = GPT2Config(vocab_size=32000, n_positions=1024, n_embd=256, n_layer=4, n_head=4)
model = GPT2LMHeadModel(config)
tokens = torch.randint(0, 32000, (64, 1024))
data = [{"input_ids": row, "labels": row} for row in tokens]
arguments = TrainingArguments("out", per_device_train_batch_size=64, num_train_epochs=1, report_to=[], logging_steps=1)
Trainer(model=model, args=arguments, train_dataset=data).train()
