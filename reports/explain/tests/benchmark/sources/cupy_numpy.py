# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import cupy as cp
import numpy as np

image = cp.random.rand(256, 256)
kernel = np.hanning(256)
print(cp.multiply(image, kernel).mean())
