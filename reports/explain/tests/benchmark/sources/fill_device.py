# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Another process that has the memory of the GPU: allocates all but so many MiB, says so, and sleeps until it is ended."""
import ctypes
import sys
import time

cuda = ctypes.CDLL('libcuda.so.1')
device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
left = int(sys.argv[1]) << 20
codes = [cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
         cuda.cuCtxSetCurrent(context)]
piece = 1 << 33
while not any(codes) and piece >= 1 << 21:
    codes = [cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))]
    if free.value < left + piece or cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(piece)):
        piece >>= 1
print(f'ready: {codes}, {free.value >> 20} MiB free', flush=True)
time.sleep(120)
