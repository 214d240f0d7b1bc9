# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""What MkDocs cannot do by itself: pages that lie all over a repository, and that are written for GitHub, in CommonMark."""
import fnmatch
import pathlib
import posixpath
import subprocess
import xml.etree.ElementTree as etree

import pygments.formatters
import pygments.lexers
import pygments.util
from markdown.extensions import Extension
from markdown_it import MarkdownIt
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

TOP = pathlib.Path(__file__).resolve().parents[2]
MOST_COLUMNS = 8


class CommonMark(Extension):
    """Reads a page by markdown-it. All that MkDocs does with the tree of a page, such as its checks of links, stays."""
    page = files = repository = None

    def __init__(self):
        super().__init__()
        self.reader = MarkdownIt('commonmark', {'xhtmlOut': True}).enable(['table', 'strikethrough'])
        for kind, rule in {'fence': self.code, 'code_block': self.code, 'html_inline': self.html, 'html_block': self.html}.items():
            self.reader.add_render_rule(kind, lambda _, tokens, index, *rest, rule=rule: rule(tokens[index]))

    def extendMarkdown(self, md):
        for name in ('html_block', 'fenced_code_block'):
            md.preprocessors.deregister(name)
        md.treeprocessors.deregister('inline')
        md.parser.parseDocument = self.tree

    def tree(self, lines):
        root = etree.fromstring(f'<div>{self.reader.render(chr(10).join(lines))}</div>')
        for link in root.iter('a'):
            self.place(link)
        for table in root.iter('table'):
            rows = [list(row) for row in table.iter('tr')]
            if len(rows) < len(rows[0]) > MOST_COLUMNS:  # what does not fit beside one another stands below one another
                rows = list(zip(*rows))
                table[:] = etree.fromstring('<table><thead /><tbody /></table>')
                for at, row in enumerate(rows):
                    etree.SubElement(table[min(at, 1)], 'tr').extend(row)
                    for cell in row:
                        cell.tag = 'td' if at else 'th'
            for head, cell in (pair for row in rows for pair in zip(rows[0], row)):
                cell.set('data-head', ''.join(head.itertext()))  # stands in front of the cell where a row is a block
        for image in list(root.iter('img')):  # on a phone it is small: a link shows it alone
            etree.SubElement(image, 'img', dict(image.attrib))
            image.tag, image.attrib = 'a', {'href': image.get('src')}
        return etree.ElementTree(root)

    def place(self, link):
        """A link to a file that is no page goes to the repository; without an address it is text. What is not there is for MkDocs to refuse."""
        target, _, anchor = link.get('href').partition('#')
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.page.file.src_uri), target))
        if not target or '://' in target or self.files.get_file_from_path(path) or not (TOP / path).exists():
            return
        if self.repository:
            link.set('href', f'{self.repository.rstrip("/")}/blob/HEAD/{path}{anchor and "#" + anchor}')
        else:
            link.tag, link.attrib = 'span', {'title': f'{path} in the repository'}

    @staticmethod
    def code(token):
        try:
            lexer = pygments.lexers.get_lexer_by_name(token.info or 'text')
        except pygments.util.ClassNotFound:
            lexer = pygments.lexers.get_lexer_by_name('text')
        return pygments.highlight(token.content, lexer, pygments.formatters.HtmlFormatter(cssclass='highlight', wrapcode=True))

    def html(self, token):
        text = token.content.strip()
        if text in ('<br>', '<br/>', '<br />'):
            return '<br />'
        if text.startswith('<!--') and text.endswith('-->'):
            return ''
        raise PluginError(f'{self.page.file.src_uri}: HTML in a page: {text}: write it `as code`')


common_mark = CommonMark()


def on_config(config):
    config.markdown_extensions.append(common_mark)
    return config


def repository_files(*patterns):
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '--', *patterns], cwd=TOP, stdout=subprocess.PIPE, text=True, check=True)
    return sorted({path for path in listed.stdout.splitlines() if (TOP / path).is_file()})


def pages_of(entries, rest):
    """The navigation with pages in the place of patterns, taken out of the rest; a section without a page is left out."""
    for entry in entries:
        if isinstance(entry, dict):
            (title, inside), = entry.items()
            pages = list(pages_of([inside] if isinstance(inside, str) else inside, rest))
            yield from [{title: pages[0] if isinstance(inside, str) else pages}] if pages else []
        else:
            found = fnmatch.filter(rest, entry)
            rest[:] = [page for page in rest if page not in found]
            yield from found if found or '*' in entry else [entry]  # a name without a page is for MkDocs to refuse


def on_files(files, config):
    pages = repository_files('*.md', ':!*/tests/*')
    for path in [*pages, *repository_files('*.svg', '*.png', 'reports/recorded/*.txt')]:
        files.append(File.generated(config, path, abs_src_path=str(TOP / path)))
    config.nav = list(pages_of(config.nav, pages))
    return files


def on_page_markdown(markdown, page, config, files):
    common_mark.page, common_mark.files, common_mark.repository = page, files, config.extra['repository']
    # Who searches for a status wants its own page before those of the messages that hold it.
    if page.file.src_uri.startswith('reports/pages/messages/') and (page.title or markdown.splitlines()[0].lstrip('# ')).startswith(('CUBLAS_STATUS', 'cudaError')):
        page.meta.setdefault('search', {})['boost'] = 4
    return markdown
