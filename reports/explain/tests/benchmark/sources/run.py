#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of programs.json, each twice, and keeps what they print.

Of a program NAME it leaves NAME.txt, its output; NAME.logged.txt, its output when the driver's log is on; and
NAME.driver.txt, that log. results.json says how each run ended, and why a program was left out; machine.txt names
the GPU, the driver and versions. Paths and names of the machine are replaced. A program runs as train.py or app,
so that its name tells nothing.
With --why, each runs once, under `cufault why`: NAME.why.txt is what that answers, and a line says how often its first cause is of the right class.
Those that need the whole GPU run alone, at the end. Run this with the Python that has the frameworks.

programs.json says of each program: its file; the cause that is right, by causes.json, or none where nothing of a GPU library
fails; why; what the machine must have; the shell commands that build and run it, where not the usual; another process beside it.

Exit code: 0, also where programs fail as they should; 1 one did not end as programs.json says; 2 bad input; 77 no GPU."""
import argparse
import concurrent.futures
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MARK = 'CUFAULT_PROGRAM_RUN'  # in the environment of a run: finds all of its processes
HEAD, TAIL = 60, 60  # lines that are kept of a longer log


def other_cublaslt():
    """A cuBLASLt of another version than PyTorch's, by the sizes of the files."""
    found = importlib.util.find_spec('nvidia')
    folders = [pathlib.Path(p) for p in (found.submodule_search_locations if found else [])]
    own = {p.stat().st_size for folder in folders for p in folder.glob('*/lib/libcublasLt.so.13')}
    named = os.environ.get('CUFAULT_OTHER_CUBLAS', '')
    for path in [pathlib.Path(named or '/') / 'libcublasLt.so.13', *pathlib.Path('/usr/local').glob('cuda*/lib64/libcublasLt.so.13')]:
        if own and path.is_file() and path.stat().st_size not in own:
            return str(path)
    return ''


def missing(needs, other):
    for need in needs:
        if need == 'nvcc':
            there = shutil.which('nvcc')
        elif need == 'other_cublas':
            there = other
        else:
            there = importlib.util.find_spec(need)
        if not there:
            return f'{need} is missing'
    return ''


def machine():
    """GPU, driver, and versions of what programs are made of."""
    tool = shutil.which('nvidia-smi')
    lines = [subprocess.run([tool, '--query-gpu=name,driver_version', '--format=csv,noheader'], capture_output=True, text=True,
                            check=False).stdout.strip()] if tool else []
    for name in ('torch', 'nvidia-cublas', 'triton', 'transformers', 'pytorch-lightning', 'jax', 'cupy-cuda13x'):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            lines.append(f'{name} {importlib.metadata.version(name)}')
    return '\n'.join(lines) + '\n'


def end_all(mark):
    """Ends what a run left behind, in whichever session it is."""
    for entry in pathlib.Path('/proc').glob('[0-9]*/environ'):
        with contextlib.suppress(OSError):
            if f'{MARK}={mark}\0'.encode() in entry.read_bytes():
                os.kill(int(entry.parent.name), signal.SIGKILL)


class Runner:
    def __init__(self, work, output, seconds, until, why):
        self.work, self.output, self.seconds, self.until, self.why = work, output, seconds, until, why
        self.kinds = ('why',) if why else ('plain', 'logged')
        self.results = {}
        tools = shutil.which('nvcc')
        cuda = pathlib.Path(tools).resolve().parent.parent if tools else pathlib.Path('/usr/local/cuda')
        self.other = other_cublaslt()
        self.environment = {**os.environ, 'PYTHON': sys.executable, 'CUDA': str(cuda), 'OTHER_CUBLASLT': self.other, 'PYTHONUNBUFFERED': '1',
                            'PATH': f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}', 'OMP_NUM_THREADS': '2', 'NO_COLOR': '1',
                            'NVCC_APPEND_FLAGS': f'-Xlinker -rpath={cuda}/lib64'}
        self.environment.pop('CUDA_LOG_FILE', None)
        compiler = pathlib.Path(shutil.which('gcc') or '/usr/bin/gcc').parent
        places = {sys.prefix: '/venv', str(compiler): '/usr/bin', sys.base_prefix: '/usr', str(cuda): '/usr/local/cuda', str(pathlib.Path.home()): '/home/user'}
        self.replaced = sorted(((k, v) for k, v in places.items() if len(k) > 4 and k != v), key=lambda kv: -len(kv[0]))

    def clean(self, text, folder):
        text = text.replace(str(folder), '/src')
        for path, short in self.replaced:
            text = text.replace(path, short)
        text = re.sub(rf'\b{re.escape(socket.gethostname())}\b', 'host', text)
        text = re.sub(r'GPU-[0-9a-f]{8}-[0-9a-f-]{27}', 'GPU-0', text)
        lines = [line.rstrip()[:1000] for line in text.splitlines()]
        if len(lines) > HEAD + TAIL:
            lines[HEAD:-TAIL] = [f'[{len(lines) - HEAD - TAIL} lines]']
        return '\n'.join(lines) + '\n' if lines else ''

    def folder_of(self, program, kind):
        return self.work / f'{program["name"]}.{kind}'

    def build(self, program):
        """Prepares the folder of each run. Returns what went wrong."""
        source = HERE / program['file']
        for kind in self.kinds:
            folder = self.folder_of(program, kind)
            folder.mkdir()
            shutil.copy(source, folder / ('train.py' if source.suffix == '.py' else f'app{source.suffix}'))
            shutil.copy(HERE / 'check.h', folder)
        if source.suffix == '.py':
            return ''
        first, *others = (self.folder_of(program, kind) for kind in self.kinds)
        command = program.get('build', 'nvcc -std=c++17 -arch=native -o app app.cu -lcublas -lcublasLt')
        done = subprocess.run(command, shell=True, cwd=first, env=self.environment, capture_output=True, text=True, check=False)
        for made in first.iterdir():
            for other in others:
                shutil.copy(made, other, follow_symlinks=False)
        return '' if done.returncode == 0 else f'not built: {(done.stdout + done.stderr).strip()[-400:]}'

    def run(self, program, kind):
        name, folder = program['name'], self.folder_of(program, kind)
        if time.monotonic() > self.until:
            return {'skipped': 'no time was left'}
        mark = f'{os.getpid()}.{name}.{kind}'
        environment = {**self.environment, MARK: mark, 'TRITON_CACHE_DIR': str(folder / 'triton'), 'TMPDIR': str(folder)}
        log = folder / 'driver.log'
        if kind == 'logged':
            environment['CUDA_LOG_FILE'] = str(log)
        default = '"$PYTHON" train.py' if program['file'].endswith('.py') else './app'
        beside = None
        if 'beside' in program:
            beside = subprocess.Popen([self.environment['PYTHON'], HERE / program['beside'][0], *program['beside'][1:]],
                                      stdout=subprocess.PIPE, env={**self.environment, MARK: mark}, text=True)
            beside.stdout.readline()
        start, timed_out = time.monotonic(), False
        with open(folder / 'output', 'w+', encoding='utf-8', errors='replace') as output:
            # The shell stays, so that it tells of a signal as it does at a terminal.
            command = ['bash', '-c', f'ulimit -c 0\n{program.get("run", default)}\nexit $?']
            if kind == 'why':
                command = [self.why, 'why', '--json', str(folder / 'why.json'), '--', *command]
            child = subprocess.Popen(command, cwd=folder, env=environment,
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                child.wait(self.seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
            end_all(mark)
            child.wait()
        if beside:
            beside.wait()
        said = (folder / 'output').read_text(encoding='utf-8', errors='replace')
        if kind == 'why':
            said = said[max(said.rfind('cufault why: '), 0):]
        (self.output / f'{name}{"" if kind == "plain" else "." + kind}.txt').write_text(self.clean(said, folder))
        if kind == 'logged':
            logs = ''.join(p.read_text(encoding='utf-8', errors='replace') for p in sorted(folder.glob('driver.log*')))
            if logs:
                (self.output / f'{name}.driver.txt').write_text(self.clean(logs, folder))
        result = {'exit': child.returncode, 'seconds': round(time.monotonic() - start, 1)}
        if timed_out:
            result['timed_out'] = True
        if timed_out or (child.returncode != 0) == program.get('succeeds', False):
            result['unexpected'] = True
        if kind == 'why' and (folder / 'why.json').exists():
            causes = json.loads((folder / 'why.json').read_text()).get('explanation', {}).get('causes', [])
            result['causes'] = [c['cause'] for c in causes]
            if 'cause' in program:
                result['right'] = bool(causes) and causes[0]['class'] == program['cause'].split('.')[0]
        return result

    def take(self, program, alone):
        for kind in self.kinds:
            if bool(program.get('alone')) == alone:
                self.results[program['name']][kind] = result = self.run(program, kind)
                print(f'{program["name"]}, {kind}: {json.dumps(result)}', flush=True)

    def all(self, programs, jobs):
        ready = []
        for program in programs:
            why = missing(program.get('needs', []), self.other)
            self.results[program['name']] = {'skipped': why} if why else {}
            if why:
                print(f'{program["name"]}: skipped: {why}')
            else:
                ready.append(program)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for program, why in zip(ready, pool.map(self.build, ready)):
                if why:
                    self.results[program['name']] = {'skipped': why, 'unexpected': True}
                    print(f'{program["name"]}: {why}')
            ready = [p for p in ready if 'skipped' not in self.results[p['name']]]
            list(pool.map(lambda p: self.take(p, False), ready))
        for program in ready:
            self.take(program, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('programs', nargs='*', metavar='NAME', help='of programs.json; all without one')
    parser.add_argument('--output', type=pathlib.Path, default=pathlib.Path('programs'), help='folder of the logs (default: ./programs)')
    parser.add_argument('--jobs', type=int, default=8, help='at a time (default: 8)')
    parser.add_argument('--seconds', type=float, default=60, help='limit of a run (default: 60)')
    parser.add_argument('--budget', type=float, default=540, help='after so many seconds no run begins (default: 540)')
    parser.add_argument('--why', metavar='CUFAULT', help='run each under `CUFAULT why`, in place of the two runs')
    parser.add_argument('--without-gpu', action='store_true', help='run where there is no GPU, too: to test the programs')
    parser.add_argument('--list', action='store_true', help='print names, causes and reasons, and run nothing')
    options = parser.parse_args()
    programs = json.loads((HERE / 'programs.json').read_text())['programs']
    if unknown := set(options.programs) - {p['name'] for p in programs}:
        parser.error(f'no such program: {", ".join(sorted(unknown))}')
    programs = [p for p in programs if not options.programs or p['name'] in options.programs]
    if options.list:
        for p in programs:
            print(f'{p["name"]:32} {p.get("cause") or "no failure of a GPU library":44} {p["why"]}')
        return 0
    if not options.without_gpu and not list(pathlib.Path('/dev').glob('nvidia[0-9]*')):
        print('skipped: there is no GPU')
        return 77
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(pathlib.Path(work), options.output, options.seconds, time.monotonic() + options.budget, options.why)
        runner.all(programs, options.jobs)
    (options.output / 'machine.txt').write_text(machine())
    (options.output / 'results.json').write_text(json.dumps(runner.results, indent=1) + '\n')
    runs = [r for result in runner.results.values() for r in (result, *(v for v in result.values() if isinstance(v, dict)))]
    unexpected = sum(1 for r in runs if r.get('unexpected'))
    told = [r['right'] for r in runs if 'right' in r]
    if told:
        print(f'cufault why: the first cause is right for {sum(told)} of {len(told)} programs')
    print(f'{len(programs)} programs, {sum("skipped" in r for r in runs)} skipped, {unexpected} runs unexpected')
    return 1 if unexpected else 0


if __name__ == '__main__':
    sys.exit(main())
