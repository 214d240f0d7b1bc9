# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import torch

if sys.argv[1:] == ["train"]:
    model = torch.nn.Linear(10, 2).cuda()
    torch.save({"step": 100, "model": model.state_dict()}, "checkpoint.pt")
    raise SystemExit
subprocess.run([sys.executable, __file__, "train"], check=True)
os.environ["CUDA_VISIBLE_DEVICES"] = ""
print("loading the checkpoint, CUDA available:", torch.cuda.is_available())
checkpoint = torch.load("checkpoint.pt")
model = torch.nn.Linear(10, 2)
model.load_state_dict(checkpoint["model"])
print("step", checkpoint["step"])
