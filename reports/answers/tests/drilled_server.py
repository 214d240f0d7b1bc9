#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""usage: drilled_server.py PORT WHAT_IT_DOES...

What cufault drill is tried on: /work and all else multiplies on the GPU and answers the product, a path with "health" says how it is. By default with the stand-ins of the injector's tests; `torch`: with PyTorch.

  exits       ends where its GPU fails
  unhealthy   goes on, and /health says 503 then
  zombie      goes on, and /health says 200
  execs       becomes itself anew
  supervised  a process that starts another one, which `exits`, whenever that has ended
  daemon      goes into the background
  deaf        ignores SIGTERM
  threads     ends, but for a thread that ends half a second later
  never       /health says 503 from the beginning
  hangs       no request to /work is ever answered
  prompts     the line that it prints when it is ready does not end
  varies      each answer is another
  clock       the answer has the second
  json        the answer is JSON with a number of its own, and an error is JSON with status 200
  empty       that has the names of an answer
  nan         and a number that is none
  renames     that has another name as soon as a rule is for this process, and an error has status 500
  breaks      ends within an answer
  caches      /work is computed once
  beats       multiplies by itself, too, ten times a second
  forks       two processes answer, and one that ends is started anew
  closes      closes the files that it did not open itself"""
import contextlib
import ctypes
import http.server
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time


class Stand_ins:
    def __init__(self):
        self.driver = ctypes.CDLL('libcuda.so.1')
        self.blas = ctypes.CDLL('libcublas.so.13')
        self.call('cuInit', 0)
        self.call('cuMemAlloc_v2', ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(64))

    def call(self, name, *arguments):
        if code := getattr(self.driver, name)(*arguments):
            raise RuntimeError(f'{name} returned {code}')

    def product(self):
        there, here = ctypes.c_float(), ctypes.c_float(41)
        self.call('cuMemcpyHtoD_v2', ctypes.c_uint64(ctypes.addressof(there)), ctypes.byref(here), ctypes.c_size_t(4))
        if code := self.blas.cublasSgemm_v2(None, 0, 0, 1, 1, 1, None, None, 1, None, 1, None, ctypes.byref(there), 1):
            raise RuntimeError(f'cublasSgemm returned {code}')
        self.call('cuStreamSynchronize', None)
        memory = ctypes.c_uint64()
        self.call('cuMemAlloc_v2', ctypes.byref(memory), ctypes.c_size_t(64))
        self.call('cuMemFree_v2', memory)
        return there.value


class Torch:
    def __init__(self):
        import torch
        self.torch, self.ones = torch, torch.ones(64, 64, device='cuda')

    def product(self):
        product = (self.ones @ self.ones).sum().item()
        self.torch.cuda.empty_cache()
        return product


def serve(port, does):
    well, numbers, lock = ['never' not in does], itertools.count(), threading.Lock()
    kept = []

    def choices(*texts):
        more = {'notice': 'slow'} if 'renames' in does and is_meant() else {}
        return json.dumps({'choices': [{'text': each} for each in texts], 'id': next(numbers), **more})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            code, text = (200 if well[0] else 503), 'health'
            if 'health' not in self.path:
                code, text = self.work()
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode())

        def do_POST(self):
            self.rfile.read(int(self.headers['Content-Length']))
            self.do_GET()

        def work(self):
            if 'hangs' in does:
                time.sleep(1000)
            if 'caches' in does and kept:
                return 200, kept[0]
            try:
                with lock:
                    product = gpu.product()
                if 'json' in does:
                    return 200, choices(product)
                kept.append(f'{product}')
                return 200, kept[-1] + (f' {next(numbers)}' if 'varies' in does else '') + (f' {int(time.time())}' if 'clock' in does else '')
            except RuntimeError as error:
                if 'breaks' in does:
                    self.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\n4')
                    os._exit(3)
                if 'json' in does and not {'exits', 'renames'} & {*does}:
                    return 200, choices() if 'empty' in does else choices(math.nan) if 'nan' in does else '{"error": "the GPU failed"}'
                print(error, file=sys.stderr, flush=True)
                if 'exits' in does:
                    os._exit(3)
                if 'execs' in does:
                    os.execv(sys.executable, [sys.executable, *sys.argv])
                well[0] = 'unhealthy' not in does
                return 500, f'{error}'

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', port), Handler, bind_and_activate=False) as server:
        server.server_bind()  # until it listens, with the GPU ready, a connection is refused
        if 'forks' in does:
            become_worker()
        gpu = Torch() if 'torch' in does else Stand_ins()
        if 'closes' in does:
            os.closerange(3, server.fileno())
            os.closerange(server.fileno() + 1, 1024)
        if 'beats' in does:
            threading.Thread(target=beat, args=[gpu, lock], daemon=True).start()
        server.server_activate()
        print('serves', end='' if 'prompts' in does else '\n', flush=True)
        server.serve_forever()


def become_worker():
    """One of two; who called this starts another for each that ends, and never comes back."""
    started = 0
    while os.fork():
        started += 1
        if started >= 2:
            os.wait()


def is_meant():
    with open(os.environ['CUFAULT_RULES'], encoding='utf-8') as file:
        return any(rule.get('pid') == os.getpid() for rule in json.load(file)['rules'])


def beat(gpu, lock):
    while True:
        with lock, contextlib.suppress(RuntimeError):
            gpu.product()
        time.sleep(0.1)


def main():
    port, does = int(sys.argv[1]), sys.argv[2:]
    if 'threads' in does:
        threading.Thread(target=lambda: (time.sleep(0.5), os._exit(4))).start()
        ctypes.CDLL(None).pthread_exit(None)
    if 'deaf' in does:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if 'supervised' in does:
        while True:
            subprocess.run([sys.executable, *sys.argv[:2], 'exits', *({'torch'} & {*does})], check=False)
            time.sleep(0.3)
    if 'daemon' in does:
        if os.fork():
            os._exit(0)
        os.setsid()
    serve(port, does)


if __name__ == '__main__':
    main()
