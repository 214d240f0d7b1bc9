# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""How answers are printed: text that keeps to the width of its terminal, Markdown, and JSON."""
from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import sys
import termios
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

LEAST_WIDTH, USUAL_WIDTH = 40, 100
GAP, NARROWEST, INSET = 2, 16, 4  # between columns of a table; of one column; of what stands below a row

_COLOUR = re.compile("\x1b[^m]*m?")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_PAINTS = {"good": 32, "bad": 31, "doubtful": 33, "bold": 1}
_PAINT_OF_VERDICT = {
    **dict.fromkeys(("UNDEFINED", "FLAKY", "AS_PREDICTED", "STILL_FAILS", "DIAGNOSED", "REPRODUCED", "CLEARED", "OK"), "good"),
    **dict.fromkeys(("WORSENED", "REMEDY_BROKEN", "CHANGED", "GONE", "DIFFERS", "ABSENT"), "bad"),
    **dict.fromkeys(("UNRESOLVED", "NOT_PROVOKED", "NEW"), "doubtful"),
}


def _columns_variable() -> int:
    digits = re.match("[0-9]+", os.environ.get("COLUMNS", ""))
    return int(digits[0]) if digits else 0


def terminal_width(out: TextIO = sys.stdout) -> int:
    """Columns of the terminal that a stream is; 0 for a file or a pipe."""
    if not out.isatty():
        return 0
    width = _columns_variable()
    if width == 0:
        width = struct.unpack("HHHH", fcntl.ioctl(out.fileno(), termios.TIOCGWINSZ, bytes(8)))[1]
    return max(width, LEAST_WIDTH) if width else 0


def width_of_output() -> int:
    """For text that always keeps to a width: that of the terminal, or COLUMNS; 100 where there is neither."""
    width = terminal_width() or _columns_variable()
    return max(width, LEAST_WIDTH) if width else USUAL_WIDTH


def painted(text: str, paint: str) -> str:
    """In colour where standard output is a terminal that has it."""
    if not paint or not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return text
    return f"\x1b[{_PAINTS[paint]}m{text}\x1b[0m"


def columns_of(text: str) -> int:
    """Columns that a terminal needs for it; colours need none."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in _COLOUR.sub("", text))


def _end_within(text: str, width: int) -> int:
    """The end of the longest part that is not wider, at least one character."""
    end = used = 0
    for part in re.finditer("\x1b[^m]*m?|.", text, re.DOTALL):
        used += columns_of(part[0])
        if end > 0 and used > width:
            break
        end = part.end()
    return end


def _break_within(word: str, width: int) -> int:
    """Where a word that is too long is broken: behind a separator in the second half of what there is room for."""
    end = _end_within(word, width)
    if end == len(word):
        return end
    separator = max(word.rfind(c, 0, end) for c in "/.,;:=_-")
    return separator + 1 if separator >= max(end // 2, 0) and separator != -1 else end


def _filled(text: str, width: int, first: int, inside: int) -> list[str]:
    """Lines of `text` without what stands in front of it, which takes `first` columns of the first line, and `inside` of each other."""
    lines, used, begun = [""], first, False
    for word in re.split("[ \t\n\v\f\r]+", text.strip(" \t\n\v\f\r")) if text.strip(" \t\n\v\f\r") else []:
        if begun and used + 1 + columns_of(word) > width:
            lines.append(" " * inside)
            used = inside
        elif begun:
            lines[-1] += " "
            used += 1
        rest = word
        while rest:
            if len(rest) < len(word):
                lines.append(" " * inside)
                used = inside
            end = _break_within(rest, width - used if width > used else 1)
            lines[-1] += rest[:end]
            used += columns_of(rest[:end])
            rest = rest[end:]
        begun = True
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at blanks, each with the indent of the text. A longer word breaks behind a separator."""
    safe = _CONTROL.sub(" ", text)
    inside = len(safe) - len(safe.lstrip(" "))
    if inside > width // 2:
        inside = 0
    lines = _filled(safe, width, inside, inside)
    return [" " * inside + lines[0], *lines[1:]]


def kept_to_width(line: str, width: int) -> list[str]:
    """A line as it is where it is not wider. Else the lines that follow begin below its last column, or below the text behind its label."""
    line = line.rstrip(" ")
    if columns_of(line) <= width:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    text = indent
    for gap in re.finditer("  +(?=[^ ])", line[indent:]):
        end = indent + gap.end()
        if columns_of(line[:end]) > width // 2:
            break
        text = end
    label = line.find(": ", indent)
    if text == indent and -1 < label < 16:
        text = label + 2
    first = columns_of(line[:text])
    lines = _filled(line[text:], width, first, first if text > indent else indent + 2 if indent < width // 4 else min(indent, width // 2))
    return [line[:text] + lines[0], *lines[1:]]


class Output:
    """Standard output, whose lines keep to the width of its terminal."""

    def __init__(self, keep: bool) -> None:
        self.width = terminal_width() if keep else 0

    def print(self, text: str = "") -> None:
        for line in text.split("\n"):
            sys.stdout.write("\n".join(kept_to_width(line, self.width) if self.width else [line]) + "\n")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool, width: int = 0) -> None:
        """And a blank line."""
        for line in table_lines(head, rows, markdown, width):
            self.print(line)


def cell(text: str, markdown: bool) -> str:
    """Neither style survives a line break or a control byte within a cell, nor Markdown what it would take for markup."""
    if markdown:
        text = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")
    return _CONTROL.sub(" ", text)


def heading(text: str, level: int, markdown: bool) -> str:
    """A line and a blank line."""
    return f"{'#' * level} {cell(text, True)}\n" if markdown else painted(cell(text, False), "bold") + "\n"


def plural(count: int, noun: str) -> str:
    """ "1 arm", "2 arms", "2 processes" """
    return f"{count} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"


def _shared_widths(wanted: Sequence[int], width: int) -> list[int]:
    """How wide each of these columns may be, so that together they keep to the width: narrow ones get what they need, the rest share."""
    widths = list(wanted)
    left = max(width - GAP * (len(widths) - 1), 0)
    order = sorted(range(len(widths)), key=lambda i: wanted[i])
    for i, column in enumerate(order):
        widths[column] = max(1, min(widths[column], left // (len(order) - i)))
        left -= min(left, widths[column])
    return widths


class _TextTable:
    def __init__(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self.rows = [head, *rows]
        self.wanted = [max(1, *(columns_of(row[i]) for row in self.rows)) for i in range(len(head))]
        self.lines: list[str] = []

    def in_terminal(self, width: int) -> None:
        """Columns that do not fit in one line stand below each row, as does a last one that needs much more than there is."""
        columns, least = [], 0
        for i, wanted in enumerate(self.wanted):
            least += min(wanted, NARROWEST) + (GAP if i > 0 else 0)
            last = i + 1 == len(self.wanted)
            if i > 0 and (least > width or (last and wanted > width // 3 and wanted > 2 * self.wanted[i - 1])):
                break
            columns.append(i)
        self._print(columns, _shared_widths([self.wanted[i] for i in columns], width), width)

    def beside_or_below(self, width: int) -> None:
        """Columns that do not fit beside one another follow below, each time with the first column."""
        following = 1
        while following < len(self.wanted) or following == 1:
            columns, least = [0], min(self.wanted[0], NARROWEST)
            while following < len(self.wanted) and (len(columns) == 1 or least + GAP + min(self.wanted[following], NARROWEST) <= width):
                least += GAP + min(self.wanted[following], NARROWEST)
                columns.append(following)
                following += 1
            self._print(columns, _shared_widths([self.wanted[i] for i in columns], width), 0)
            if following == 1:
                break
            if following < len(self.wanted):
                self.lines.append("")

    def width(self) -> int:
        return sum(self.wanted) + GAP * (len(self.wanted) - 1)

    def _print(self, columns: Sequence[int], widths: Sequence[int], below: int) -> None:
        for number, row in enumerate(self.rows):
            cells = [wrapped(row[c], w) if w < self.wanted[c] else [cell(row[c], False)] for c, w in zip(columns, widths)]
            height = max(map(len, cells))
            empty = height == 1 and not any(part[0] for part in cells)
            for line in range(0 if empty and below else height):
                text, blanks = "", 0
                for c, width, parts in zip(columns, widths, cells):
                    part = parts[line] if line < len(parts) else ""
                    if part:
                        text += " " * blanks + painted(part, "bold" if number == 0 else _PAINT_OF_VERDICT.get(row[c], ""))
                        blanks = 0
                    blanks += width + GAP - columns_of(part)
                self.lines.append(text)
            if below:
                self._print_below(row, number == 0, len(columns), below)

    def _print_below(self, row: Sequence[str], is_head: bool, first: int, width: int) -> None:
        """One cell as it is; of several each with the head of its column."""
        one = first + 1 == len(row)
        if is_head and not one:
            return
        inside = min(INSET, width - 1)
        for name, text in list(zip(self.rows[0], row))[first:]:
            if text:
                text = (text if one else f"{name}: {text}").replace("\n", "; ")
                self.lines += [" " * inside + painted(part, "bold" if is_head else "") for part in wrapped(text, width - inside)]


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool, width: int = 0) -> list[str]:
    """A table and a blank line. `width`: text keeps to it; 0 for that of the terminal."""
    if markdown:
        return ["".join(f"| {cell(text, True)} " for text in row) + "|" for row in (head, ["---"] * len(head), *rows)] + [""]
    table = _TextTable(head, rows)
    terminal = terminal_width()
    if width == 0 and 0 < terminal < table.width():
        table.in_terminal(terminal)
    else:
        table.beside_or_below(width or table.width())
    return [*table.lines, ""]


@dataclass
class Table:
    """People read it under a heading, and programs by its name. A value is a text, or (text for people, value for programs)."""

    name: str
    columns: list[tuple[str, str]]
    """Heading for people and key for programs; empty where only the others get it."""
    rows: list[Sequence[Any]] = field(default_factory=list)
    stack: str = ""
    """That all of its rows are of; empty: several, or none."""

    def head(self) -> list[str]:
        return [heading for heading, _ in self.columns if heading]

    def shown_rows(self) -> list[list[str]]:
        return [[v[0] if isinstance(v, tuple) else v for v, (heading, _) in zip(row, self.columns) if heading] for row in self.rows]

    def json_rows(self) -> list[dict[str, Any]]:
        return [{key: v[1] if isinstance(v, tuple) else v for v, (_, key) in zip(row, self.columns) if key} for row in self.rows]


def lines_of(each: Iterable[str]) -> tuple[str, list[str]]:
    """A cell of several lines, sorted, each once."""
    lines = sorted(set(each))
    return "\n".join(lines), lines


def print_json(value: Any, indent: int | None = 2, sort_keys: bool = False) -> None:
    separators = (",", ":") if indent is None else (",", ": ")
    sys.stdout.write(json.dumps(value, indent=indent, ensure_ascii=False, separators=separators, sort_keys=sort_keys) + "\n")


def letter_of(index: int) -> str:
    """Of a stack: "a", and behind "z" "s26"."""
    return chr(ord("a") + index) if index < 26 else f"s{index}"


def beginning_of(text: str, most: int) -> str:
    """Of at most so many bytes as UTF-8, and the mark."""
    encoded = text.encode(errors="replace")
    return text if len(encoded) <= most else encoded[:most].decode(errors="ignore") + "\u2026"
