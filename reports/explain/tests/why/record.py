#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""usage: record.py CUFAULT PROGRAMS

Prints what `cufault why` says of the programs in this folder, and of each program that benchmark/sources/run.py --why ran: PROGRAMS is its folder of
output. That is the form of reports/recorded/DATE-why.txt. It needs a GPU, nvcc, and the Python that has PyTorch."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MISTAKES = {
    'embedding.py': 'PyTorch: an index of a torch.nn.Embedding is too large, then a product', 'ranks.py': 'the same in rank 1 of two ranks',
    'memory.py': 'PyTorch: tensors of 8 GiB are kept until no further one fits', 'illegal': 'C++: a kernel writes far outside of its buffer, then cublasCreate',
    'destroyed': 'C++: cublasSgemm after the stream of the handle was destroyed', 'healthy.py': 'PyTorch: a training loop that ends well',
    'hang': 'C++: two threads wait for a kernel that runs for 10 s'}
RUNS = [('', 'python3 memory.py'), ('', './illegal'), ('', './destroyed'), ('', 'python3 healthy.py'), ('--after 5s ', './hang'),
        ('', 'torchrun --nproc-per-node 2 ranks.py')]


def shown(text, folder):
    """From the answer on, without names of folders."""
    text = text[max(text.find('cufault why: '), 0):].replace(f'{folder}/', '')
    return re.sub(r'^Full log.*\n(?: +.*\n)*', '', text, flags=re.MULTILINE)


def run(cufault, folder, options, command, variables=''):
    done = subprocess.run(['bash', '-c', f'{variables}{cufault} why {options}-- {command}'], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    print(f'\n$ {variables}cufault why {options}-- {command}\n{shown(done.stdout, folder)}exit code {done.returncode}')


def main(cufault, programs):
    print('What `cufault why` printed, from the line `cufault why` on. Folders of paths and the line `Full log` are left out; lines are broken as they were.\n')
    print(subprocess.run([cufault, '--version'], capture_output=True, text=True, check=True).stdout + (programs / 'machine.txt').read_text())
    for name, mistake in MISTAKES.items():
        print(f'  {name:14}{mistake}')
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        for source in HERE.iterdir():
            shutil.copy(source, folder)
            if source.suffix == '.cu':
                subprocess.run(['nvcc', '-arch=native', '-o', source.stem, source.name, '-lcublas'], cwd=folder, check=True)
        for _ in range(5):
            run(cufault, folder, '', 'python3 embedding.py')
        for options, command in RUNS:
            run(cufault, folder, options, command)
        run(cufault, folder, '', 'python3 embedding.py', 'CUDA_VISIBLE_DEVICES= ')
    results = {name: r['why'] for name, r in json.loads((programs / 'results.json').read_text()).items() if 'causes' in r.get('why', {})}
    judged = {name: r for name, r in results.items() if 'right' in r}
    print(f'\nPrograms of benchmark/sources, each once: the first cause is of the right class for {sum(r["right"] for r in judged.values())} of '
          f'{len(judged)} programs that fail.\n')
    for name, result in sorted(results.items()):
        print(f'{name:30} {"right" if result.get("right") else "not" if name in judged else "-":6}{", ".join(result["causes"][:3]) or "none"}')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
