# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Trials inside a Python framework. The standard library only; a framework is imported from the environment that runs this."""
