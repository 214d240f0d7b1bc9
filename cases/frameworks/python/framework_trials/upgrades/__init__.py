# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What upgrades of PyTorch break: steps of the arms of pytorch.upgrades and pytorch.upgrades_beyond, by case and name. pytorch.json says what
each arm is, and names its source."""
from __future__ import annotations

from functools import partial
from typing import Dict, List

from framework_trials.cells import spawned
from framework_trials.upgrades import arguments, beyond, hosts, properties, routes, values
from framework_trials.upgrades.ground import Step
from framework_trials.upgrades.routes import CALLS, by_route

GROUP = "torch.distributed.init_process_group"
HOSTS: Dict[str, List[Step]] = {
    "own_bmm": [Step("torch.bmm", "own_kernel", hosts.own_kernel, partial(hosts.own_kernel, by_bmm=False))],
    "workers": [Step("torch.matmul", method, partial(spawned, method=method)) for method in ("fork", "spawn", "forkserver")],
    "workers_after_triton": [
        Step("triton.backends", "", hosts.driver_of_triton),
        Step("torch.matmul", "fork", partial(spawned, method="fork"))],
    "second_cublas": [Step("torch.matmul", "second_cublas", hosts.second_cublas, by_route("torch.matmul", CALLS[0][1])[0].work)],
    "groups": [Step(GROUP, f"{backend}_{of_new}", partial(hosts.group, backend=backend, of_new=of_new)) for backend, of_new in (
        ("gloo", "gloo"), ("nccl", "nccl"), ("cuda=nccl+cpu=gloo", "nccl"), ("cuda=nccl+cpu=gloo", "gloo"))],
    "warm_cache": [Step("torch.compile", "warm_cache", hosts.cold_and_warm, by_route("rotated", hosts.ROWS)[0].work)],
}
ARMS: Dict[str, Dict[str, List[Step]]] = {
    "upgrades": {**arguments.ARMS, **properties.ARMS, **values.ARMS, **routes.ARMS, **HOSTS},
    "upgrades_beyond": beyond.ARMS,
}
