# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import torch

covariance = torch.eye(64, device="cuda", dtype=torch.float16) * 2
factor = torch.linalg.cholesky(covariance)
print("log determinant", 2 * factor.diagonal().log().sum().item())
