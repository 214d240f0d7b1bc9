# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
                    max_position_embeddings=64)
model = BertForSequenceClassification(config).cuda().eval()
input_ids = torch.randint(0, 500, (2, 60), device="cuda")
token_types = torch.zeros_like(input_ids)
token_types[:, 20:] = 1
token_types[:, 40:] = 2
with torch.no_grad():
    logits = model(input_ids=input_ids, token_type_ids=token_types).logits
print(logits.tolist())
