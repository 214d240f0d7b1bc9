# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

model = torch.nn.Linear(1024, 1024).cuda()
requests = [torch.randn(8, 1024) for _ in range(16)]
for number, request in enumerate(requests):
    try:
        if number % 5 == 4:
            request = request[:, :1000]
        result = model(request.cuda())
        print(f"request {number}: 200 OK, norm {result.norm().item():.2f}")
    except RuntimeError:
        print(f"request {number}: 400 bad request")
print("served", len(requests))
