# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(0)
config = BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128)
data = [{"input_ids": torch.randint(0, 200, (16,)), "labels": torch.tensor(n % 2)} for n in range(128)]
arguments = TrainingArguments("out", per_device_train_batch_size=16, num_train_epochs=2, report_to=[], logging_steps=4, save_strategy="no")
result = Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=data).train()
print(result.metrics)
