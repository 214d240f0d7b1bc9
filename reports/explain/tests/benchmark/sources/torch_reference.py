# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = True
a = torch.randn(4096, 4096)
b = torch.randn(4096, 4096)
on_cpu = a @ b
on_gpu = (a.cuda() @ b.cuda()).cpu()
torch.testing.assert_close(on_gpu, on_cpu)
print("GPU and CPU agree")
