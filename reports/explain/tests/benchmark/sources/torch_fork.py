# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import multiprocessing

import torch


def work(rank):
    x = torch.ones(1000, device="cuda") * rank
    print("worker", rank, "sum", x.sum().item())


if __name__ == "__main__":
    print("GPU:", torch.cuda.get_device_properties(0).multi_processor_count, "multiprocessors")
    total = torch.ones(10, device="cuda").sum().item()
    print("parent", total)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    raise SystemExit(max(worker.exitcode for worker in workers))
