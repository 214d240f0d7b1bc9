# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=500, hidden_size=1024, intermediate_size=128, num_hidden_layers=4, num_attention_heads=8,
                     max_position_embeddings=1 << 26)
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
prompt = torch.tensor([[1, 17, 42, 9]] * 8, device="cuda")
print("max_length:", 1 << 24)
out = model.generate(prompt, max_length=1 << 24, do_sample=False, cache_implementation="static")
print(out.shape)
