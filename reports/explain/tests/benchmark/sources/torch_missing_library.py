# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import ctypes

import torch

print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)
cublas = ctypes.CDLL("libcublas.so.11")
handle = ctypes.c_void_p()
print("cublasCreate:", cublas.cublasCreate_v2(ctypes.byref(handle)))
