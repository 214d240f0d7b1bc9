# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""A process that forks a child for each request of forking_process (harness/system/process.hpp has the protocol)."""
from __future__ import annotations

import os
import socket
import sys
from typing import Callable, TypeVar

REPORT_FD = 3
Request = TypeVar("Request")


def request_of_child(read: Callable[[bytes], Request]) -> Request:
    """Returns in each child what `read` made of its request before the fork; ends this process with the channel."""
    # libcufault.so, which does this for sweeps, would stand in front of the driver in each trial, and change what is measured.
    os.environ.pop("CUFAULT_FORKS", None)  # an arm may preload that library
    channel = socket.socket(fileno=REPORT_FD)
    channel.send(b"%d" % os.getpid())
    while True:
        message, files, _, _ = socket.recv_fds(channel, 1 << 18, 3, socket.MSG_CMSG_CLOEXEC)
        if not files:
            sys.exit()
        request = read(message)
        sys.stdout.flush()
        sys.stderr.flush()
        orphaned, alive = os.pipe()
        child = os.fork()
        if child == 0:
            if os.fork() != 0:
                os._exit(0)  # the next one becomes a child of the process that asked
            os.close(alive)
            os.read(orphaned, 1)
            os.setpgid(0, 0)
            channel.send(b"%d" % os.getpid())
            channel.detach()
            for file, place in zip(files, (1, 2, REPORT_FD)):
                os.dup2(file, place)
            for file in (orphaned, *files):
                os.close(file)
            return request
        _, status = os.waitpid(child, 0)
        for file in (orphaned, alive, *files):
            os.close(file)
        if status != 0:
            sys.exit("cannot fork")
