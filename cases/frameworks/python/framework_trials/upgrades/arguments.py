# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that could be ignored: one is changed, and the result must change as the reference says."""
from __future__ import annotations

from typing import Dict, List

from framework_trials.upgrades.ground import Step

ARMS: Dict[str, List[Step]] = {}
