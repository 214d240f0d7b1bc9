# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=1000, n_positions=128, n_embd=64, n_layer=2, n_head=4)
model = GPT2LMHeadModel(config).cuda()
pad_token_id = 1000
input_ids = torch.randint(0, 1000, (4, 32), device="cuda")
input_ids[:, 28:] = pad_token_id
output = model(input_ids, labels=input_ids)
output.loss.backward()
print("loss", output.loss.item())
