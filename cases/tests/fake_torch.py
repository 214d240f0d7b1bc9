# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""A torch whose functions do nothing and whose numbers are all right. Tests put words in front of this text and behind it."""


class version:
    cuda = None


class Anything:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *given, **named):
        return Anything()

    def __matmul__(self, other):
        return Anything()


class nn:
    Module = Linear = Embedding = Anything


class cuda:
    is_initialized = staticmethod(lambda: False)
    set_device = synchronize = memory_allocated = memory_reserved = staticmethod(lambda *given: 0)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
