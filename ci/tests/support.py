# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What several tests of ci/ have: scripts as modules, programs, servers, and a Python index with wheels that are made up."""
import http.server
import importlib.machinery
import importlib.util
import io
import pathlib
import threading
import zipfile


def module_of(script):
    """A script of ci/, which has no .py."""
    loader = importlib.machinery.SourceFileLoader(script.name, str(script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(script.name, loader))
    loader.exec_module(module)
    return module


def program(file, text):
    """Where it lies, with this text."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def alive(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def serve(test, handler, **members):
    """Until the test ends. `members`: of the server."""
    server = test.enterContext(http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler))
    server.url = f'http://127.0.0.1:{server.server_port}'
    vars(server).update(members)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.shutdown)
    return server


class index(http.server.BaseHTTPRequestHandler):
    """A Python index that has the wheels of `server.wheels`, by name, and tells in `server.fetched` which were asked for. `server.how` says what is wrong with it, if anything."""

    def do_GET(self):
        wheels, how = self.server.wheels, self.server.how
        kind, body = 'text/html', '<html><body>Please log in.</body></html>'.encode()
        if self.path.endswith('.whl'):
            self.server.fetched.append(self.path[1:])
            if how != 'page for a wheel':
                kind, body = 'application/octet-stream', wheels[self.path[1:]]
        elif how != 'page':
            name = self.path.split('/')[-2]
            body = ''.join(f'<a href="/{wheel}">{wheel}</a>' for wheel in wheels if wheel.startswith(name.replace('-', '_') + '-')).encode()
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if how == 'half' and kind != 'text/html' else body)

    def log_message(self, *_):
        pass


def serve_wheels(test, *wheels):
    return serve(test, index, wheels=dict(wheels), how='', fetched=[])


def wheel(name, version, files, *needs, tag='any'):
    """Its name, and what it is."""
    about, into = f'{name}-{version}.dist-info', io.BytesIO()
    with zipfile.ZipFile(into, 'w') as of:
        for file, text in {**files, f'{about}/WHEEL': f'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-{tag}\n', f'{about}/RECORD': '',
                           f'{about}/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n' + ''.join(f'Requires-Dist: {need}\n' for need in needs)}.items():
            about_file = zipfile.ZipInfo(file)
            about_file.external_attr = (0o100755 if '/bin/' in file else 0o100644) << 16
            of.writestr(about_file, text)
    return f'{name}-{version}-py3-none-{tag}.whl', into.getvalue()
