# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch


def grow(kept):
    while True:
        kept.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))


grow([])
