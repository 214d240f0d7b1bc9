# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=1000, n_positions=128, n_embd=64, n_layer=2, n_head=4)
model = GPT2LMHeadModel(config).half().cuda().eval()
with torch.no_grad():
    model.transformer.ln_f.weight.mul_(60000)
    model.lm_head.weight.mul_(60000)
prompt = torch.tensor([[1, 2, 3]], device="cuda")
tokens = model.generate(prompt, max_new_tokens=10, do_sample=True, pad_token_id=0)
print(tokens.tolist())
