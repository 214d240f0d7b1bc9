# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import BertConfig, BertForTokenClassification

torch.manual_seed(0)
config = BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, num_labels=5)
model = BertForTokenClassification(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
for step in range(4):
    input_ids = torch.randint(0, 500, (8, 32), device="cuda")
    labels = torch.randint(0, 9, (8, 32), device="cuda")
    loss = model(input_ids=input_ids, labels=labels).loss
    loss.backward()
    optimizer.step()
    print({"step": step, "loss": round(loss.item(), 4)})
