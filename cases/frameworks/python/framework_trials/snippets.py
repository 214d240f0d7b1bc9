# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Code of pages (reports/pages/messages) as a user of PyTorch writes it, between marks, and what is expected of it."""
from __future__ import annotations

from typing import Callable, Dict, Optional, Tuple

import torch


def index_fails() -> Optional[bool]:
    # [index fails]
    table = torch.nn.Embedding(1000, 16, device="cuda")
    tokens = torch.tensor([1, 500, 1000], device="cuda")  # they go from 1 to 1000
    vectors = table(tokens).cpu()
    # [end]
    return vectors.shape == (3, 16)


def index_corrected() -> Optional[bool]:
    # [index corrected]
    table = torch.nn.Embedding(1001, 16, device="cuda")  # indices count from 0
    tokens = torch.tensor([1, 500, 1000], device="cuda")
    assert int(tokens.max()) < table.num_embeddings  # names the mistake where it is made
    vectors = table(tokens).cpu()
    # [end]
    return torch.equal(vectors, table.weight.cpu()[[1, 500, 1000]])


def device_fails() -> Optional[bool]:
    # [device fails]
    layer = torch.nn.Linear(64, 8).cuda()
    batch = torch.ones(4, 64)
    scores = layer(batch).cpu()
    # [end]
    return scores.shape == (4, 8)


def device_corrected() -> Optional[bool]:
    # [device corrected]
    layer = torch.nn.Linear(64, 8).cuda()
    batch = torch.ones(4, 64)
    scores = layer(batch.to(layer.weight.device)).cpu()
    # [end]
    return torch.allclose(scores, layer.cpu()(batch), atol=1e-4)


def shapes_fails() -> Optional[bool]:
    # [shapes fails]
    images = torch.ones(32, 3, 8, 8, device="cuda")
    classify = torch.nn.Linear(64, 10).cuda()  # 8 x 8, and the channels are left out
    scores = classify(images.flatten(1)).cpu()
    # [end]
    return scores.shape == (32, 10)


def shapes_corrected() -> Optional[bool]:
    # [shapes corrected]
    images = torch.ones(32, 3, 8, 8, device="cuda")
    classify = torch.nn.Linear(images[0].numel(), 10).cuda()
    scores = classify(images.flatten(1)).cpu()
    # [end]
    return torch.allclose(scores, classify.cpu()(images.cpu().flatten(1)), atol=1e-3)


def memory_fails() -> Optional[bool]:
    # [memory fails]
    x = (torch.arange(1 << 23, device="cuda") % 7).float().view(1 << 19, 16)
    nearest = (x @ x.T).amax(1)  # all products at once: 1 TiB
    # [end]
    return nearest.shape == (1 << 19,)


def memory_corrected() -> Optional[bool]:
    # [memory corrected]
    x = (torch.arange(1 << 23, device="cuda") % 7).float().view(1 << 19, 16)
    nearest = torch.cat([(rows @ x.T).amax(1) for rows in x.split(256)])  # 512 MiB at a time
    # [end]
    numbers = x.cpu().double()
    return torch.equal(nearest[:32].cpu().double(), (numbers[:32] @ numbers.T).amax(1))


# NAME: the function that a user calls, failing code, the corrected code, and the correction in words.
SNIPPETS: Dict[str, Tuple[str, Callable[[], Optional[bool]], Callable[[], Optional[bool]], str]] = {
    "index": ("torch.nn.Embedding", index_fails, index_corrected, "a table for the greatest index"),
    "device": ("torch.nn.Linear", device_fails, device_corrected, "move the input to the device of the layer"),
    "shapes": ("torch.nn.Linear", shapes_fails, shapes_corrected, "as many inputs as the images have numbers"),
    "memory": ("torch.matmul", memory_fails, memory_corrected, "the product in parts"),
}
