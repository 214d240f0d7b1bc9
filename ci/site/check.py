# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""Opens a site as readers do: check.py SITE CHROMIUM SCREENSHOTS, '' for none. Every page on a phone and on a desktop, a search, the dark colours, and the pages that programs name."""
import functools
import http.server
import pathlib
import re
import subprocess
import sys
import threading

from playwright.sync_api import expect, sync_playwright

SITE, CHROMIUM, SCREENSHOTS = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] and pathlib.Path(sys.argv[3])
WIDTHS = {'phone': (390, 844), 'desktop': (1280, 900)}
STATUS = 'CUBLAS_STATUS_NOT_INITIALIZED'
# What is wider than the screen, or scrolls sideways.
TOO_WIDE = '''() => [document.documentElement, ...document.querySelectorAll('.md-content *')].filter(one => one.checkVisibility() && (one.textContent.trim() || !one.matches('span')) && (
  one.getBoundingClientRect().right > innerWidth + 1 ||
  (getComputedStyle(one).overflowX != 'visible' || one == document.documentElement) && one.clientWidth && one.scrollWidth > one.clientWidth + 1
)).filter((one, _, all) => !all.includes(one.parentElement)).map(one => one.tagName + ' ' + one.textContent.slice(0, 60))'''
faults = {}  # what is wrong, and the first page where it is


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def named_by_programs():
    """The pages that a program's answer names, as addresses in the site."""
    found = subprocess.run(['git', 'grep', '--untracked', '-hoE', r'reports/pages/[a-z0-9_/-]+\.(md|html)(#[a-z0-9_-]+)?', '--', 'harness/*.[ch]pp', 'harness/*.py', 'reports/*.[ch]pp', 'cases/*.json'],
                           stdout=subprocess.PIPE, text=True, check=True)
    return sorted({name.replace('.md', '.html') for name in found.stdout.split()})


def main():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f'http://127.0.0.1:{server.server_port}/'
    pages = sorted(str(page.relative_to(SITE)) for page in SITE.rglob('*.html'))

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        tab = browser.new_page()
        tab.set_default_timeout(10000)
        tab.on('console', lambda said: said.type == 'error' and fault(said.text))
        tab.on('pageerror', lambda error: fault(str(error)))
        tab.on('request', lambda request: request.url.startswith((home, 'data:', 'blob:')) or fault(f'asks the network: {request.url}'))

        def fault(what):
            faults.setdefault(' '.join(what.split()), tab.url.removeprefix(home))

        def picture(name):
            if SCREENSHOTS:
                tab.screenshot(path=SCREENSHOTS / f'{name}.png')

        for device, (width, height) in WIDTHS.items():
            tab.set_viewport_size({'width': width, 'height': height})
            for page in pages:
                tab.goto(home + page)
                for what in tab.evaluate(TOO_WIDE):
                    fault(f'wider than a {device}: {what}')
                picture(f'{device}-{page.removesuffix(".html").replace("/", "-")}')

            tab.goto(home)
            if device == 'phone':
                tab.click('label.md-header__button[for=__search]')
            tab.locator('input.md-search__input').press_sequentially(STATUS)
            first = tab.locator('.md-search-result__item a').first
            try:
                expect(first).to_have_attribute('href', re.compile(r'/not_initialized\.html\?h=.*\binitialized\b'))  # the results of the whole word
            except AssertionError:
                fault(f'a search for {STATUS} finds first {first.get_attribute("href")}')
            picture(f'{device}-search')
            first.click()
            tab.wait_for_url('**/reports/pages/**')

            tab.goto(home)
            light = tab.evaluate('getComputedStyle(document.body).backgroundColor')
            tab.click('form[data-md-component=palette] label:visible')
            tab.reload()  # the choice is kept
            if tab.evaluate('getComputedStyle(document.body).backgroundColor') == light:
                fault(f'{device}: the dark colours are the light ones')
            picture(f'{device}-dark')
            tab.evaluate('localStorage.clear()')

        named = named_by_programs()
        for name in named:
            tab.goto(home + name)
            _, _, anchor = name.partition('#')
            if not tab.locator(f'[id="{anchor}"]' if anchor else 'article h1').count():
                fault(f'a program names {name}, which is not there')
        browser.close()

    for what, where in faults.items():
        print(f'{where or "the first page"}: {what}')
    print(f'ci/site/check.py: {len(pages)} pages on {len(WIDTHS)} screens, {len(named)} that programs name: {len(faults)} faults')
    return int(bool(faults) or not named or len(pages) < 10)


sys.exit(main())
