# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

layers, kv_heads, head_size = 80, 8, 128
max_model_len, max_num_seqs = 1048576, 64
print(f"Allocating KV cache for {max_num_seqs} sequences of {max_model_len} tokens")
cache = []
for layer in range(layers):
    cache.append(torch.zeros(2, max_num_seqs, kv_heads, max_model_len, head_size, dtype=torch.float16, device="cuda"))
    print("layer", layer, "done")
