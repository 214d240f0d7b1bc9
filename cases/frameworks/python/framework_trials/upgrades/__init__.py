# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What upgrades of PyTorch break: the arms of pytorch.upgrades and pytorch.upgrades_beyond, by case and name. pytorch.json says what each
is, and names its source; rows with "steps" are made of MAKERS."""
from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, List, Tuple

from framework_trials.cells import spawned
from framework_trials.pytorch_canaries import scaled
from framework_trials.tables import table_of
from framework_trials.upgrades import arguments, beside, beyond, hosts, routes, values
from framework_trials.upgrades.ground import Seen, Step

# By the first word of "steps": the function of PyTorch, or "" where the first argument is it, and what works with the others.
MAKERS: Dict[str, Tuple[str, Callable[..., Seen]]] = {
    "attention": ("torch.nn.functional.scaled_dot_product_attention", values.attention),
    "by_route": ("", routes.by_route),
    "compiled": ("torch.compile", routes.by_route),
    "eigh": ("torch.linalg.eigh", routes.by_route),
    "triton": ("triton.jit", routes.by_triton),
    "rowwise": ("torch._scaled_mm", lambda world, *shape: scaled(shape, scales="rowwise")(world)),
    "own_kernel": ("torch.bmm", hosts.own_kernel),
    "started_by": ("torch.matmul", spawned),
    "driver": ("triton.backends", hosts.driver_of_triton),
    "second_cublas": ("torch.matmul", hosts.second_cublas),
    "group": ("torch.distributed.init_process_group", hosts.group),
    "warm_cache": ("torch.compile", hosts.cold_and_warm),
}


def steps_of(said: List[Any]) -> List[Step]:
    """["maker", [argument, ...], ...]: a step for each list, and for each of an argument that is a list; another maker may follow."""
    made: List[Step] = []
    for each in said:
        if isinstance(each, str):
            name, (api, maker) = each, MAKERS[each]
            continue
        for given in itertools.product(*(argument if isinstance(argument, list) else [argument] for argument in each)):
            words = [name if api else "", *given[0 if api else 1 :]]
            variant = "_".join(str(word).replace(" ", "_") for word in words if not isinstance(word, dict))
            made.append(Step(api or given[0], variant.strip("_"), lambda world, maker=maker, given=given: maker(world, *given)))
    return made


ARMS: Dict[str, Dict[str, List[Step]]] = {
    "upgrades": {
        **arguments.ARMS,
        **beside.ARMS,
        **{row["arm"]: steps_of(row["steps"]) for row in table_of("pytorch")["cases"]["upgrades"]["arms"] if "steps" in row},
    },
    "upgrades_beyond": beyond.ARMS,
}
