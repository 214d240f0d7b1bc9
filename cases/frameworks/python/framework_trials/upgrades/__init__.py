# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What upgrades of PyTorch break: the arms of pytorch.upgrades and pytorch.upgrades_beyond, by case and name. pytorch.json says what each
is, and names its source."""
from __future__ import annotations

from typing import Dict, List

from framework_trials.upgrades import arguments, beside, beyond
from framework_trials.upgrades.ground import Step

ARMS: Dict[str, Dict[str, List[Step]]] = {
    "upgrades": {**arguments.ARMS, **beside.ARMS},
    "upgrades_beyond": beyond.ARMS,
}
