# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
"""cufault capture: makes one program of a call that failed (call.json of harness/injector/capture.cpp), compiles it, and runs it in a process of its own."""
from __future__ import annotations

import json
import math
import os
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import asked
from asked import Refused, one_line
from known_issues import LEVELS, found_issues

LINES = 80
"""At most, of the program."""
BYTES = (4, 8, 2, 1, 8, 16, 4, 2, 1, 2, 4, 8, 4, 8, 2, 4, 1, 1, 1, 1, 2, 4, 2, 4, 8, 16, 8, 16, 1, 1, 1, 1, 1, 1)
"""Of an element of cudaDataType, by its number; of less than a byte: one."""
TYPES = {"float": 4, "int": 4, "double": 8, "int64_t": 8, "size_t": 8, "cuComplex": 8, "cuDoubleComplex": 16, "__half": 2, "__nv_bfloat16": 2, "unsigned char": 1, "char": 1, "cublasOperation_t": 4, "cublasLtMatmulAlgo_t": 64, "cublasLtMatmulHeuristicResult_t": 96}
PARTS = {0: "float", 1: "double", 2: "__half", 3: "int8_t", 4: "float", 5: "double", 6: "__half", 10: "int32_t", 14: "__nv_bfloat16"}
"""Real and imaginary parts of a cudaDataType."""
RANDOM = {"float": "f", "double": "d", "cuComplex": "f", "cuDoubleComplex": "d", "__half": "h", "__nv_bfloat16": "b", "0": "f", "1": "d", "2": "h", "4": "f", "5": "d", "6": "h", "14": "b", "15": "b"}
"""How memory() fills it: float, double, half, bfloat16; others with small bytes."""
DATA = 256 << 20
"""Bytes of an operand that harness/injector/capture.cpp copies."""
MOST = 1 << 30
"""Bytes of an operand whose allocation is not known."""
WIDE = ("int64_t", "long long int", "size_t", "uint64_t")

HEAD = r"""#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) do { if (int code = (int)(call)) { printf("%s: %d\n", #call, code); exit(2); } } while (0)
// Of kind 'd' device, 'm' managed, 'p' pinned, 'h' host; at this offset from 256 bytes; random by type, and at the beginning what is given, or in a file.
static char* memory(char kind, size_t bytes, size_t offset, char type, const void* given = nullptr, size_t of_given = 0, const char* file = nullptr) {
  char *host = (char*)aligned_alloc(256, (bytes + offset + 511) / 256 * 256), *at = host, *random = host + offset;
  if (!host) { printf("no memory for %zu bytes\n", bytes); exit(2); }
  const size_t n = bytes < 1 << 22 ? bytes : 1 << 22;  // of these on it repeats
  for (size_t i = 0; i < n; ++i) random[i] = (char)(rand() % 4);
  for (size_t i = 0; type == 'f' && i < n / 4; ++i) { float x = rand() / (float)RAND_MAX - 0.5f; memcpy(random + 4 * i, &x, 4); }
  for (size_t i = 0; type == 'd' && i < n / 8; ++i) { double x = rand() / (double)RAND_MAX - 0.5; memcpy(random + 8 * i, &x, 8); }
  for (size_t i = 0; (type == 'h' || type == 'b') && i < n / 2; ++i) {  // from 0.25 on, and their negatives
    uint16_t x = (uint16_t)(rand() % 2 << 15 | (type == 'h' ? 0x3400 + rand() % 0x800 : 0x3e80 + rand() % 0x100)); memcpy(random + 2 * i, &x, 2);
  }
  for (size_t i = n; i < bytes; i += n) memcpy(random + i, random, bytes - i < n ? bytes - i : n);
  memcpy(random, given, of_given);
  if (file) { FILE* in = fopen(file, "rb"); if (!in || !fread(random, 1, bytes, in)) { printf("%s: no data\n", file); exit(2); } fclose(in); }
  if (kind == 'h') return random;
  if (kind == 'd') OK(cudaMalloc((void**)&at, bytes + offset));
  if (kind == 'm') OK(cudaMallocManaged((void**)&at, bytes + offset));
  if (kind == 'p') OK(cudaMallocHost((void**)&at, bytes + offset));
  OK(cudaMemcpy(at + offset, random, bytes, cudaMemcpyDefault));
  return at + offset;
}
int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) { puts("no GPU"); return 77; }
  srand(1);
""".splitlines()


def element_of(type_name: str) -> str:
    return type_name.replace("const ", "").split("*")[0].strip()


@dataclass
class Piece:
    """Memory that the call may touch: from an address on, so many bytes. The program says `base + offset` for it."""

    name: str  # of the variable; of an element of an array of pointers: of what all its elements are in
    said: dict[str, Any]
    address: int
    size: int
    element: str
    of_array: bool
    given: bytes = b""  # what it begins with
    base: str = ""
    offset: int = 0

    def __str__(self) -> str:
        return self.base + f" + {self.offset}" * bool(self.offset)


class Program:
    """Of one call."""

    def __init__(self, call: dict[str, Any], beside: str = "") -> None:
        self.call, self.lines, self.lost = call, [], []  # type: dict[str, Any], list[str], list[str]
        self.beside = beside  # how names of files with operands begin
        self.parameters: list[dict[str, Any]] = call["parameters"]
        self.numbers = {p["name"]: self.number(p) for p in self.parameters if "memory" not in p}
        self.layouts = {p["name"]: {a["number"]: a["value"] for a in p["descriptor"]["attributes"]} for p in self.parameters if "descriptor" in p}
        self.later: list[tuple[str, dict[str, Any], str]] = []  # attributes that point to memory
        self.pieces: list[Piece] = []
        self.arrays: list[tuple[str, list[Piece]]] = []  # of pointers, and where these point
        self.then: list[str] = []  # lines behind those that make memory
        self.data: dict[str, int] = {}  # files of operands, and how much of each is used

    @staticmethod
    def number(p: dict[str, Any]) -> int:
        value, bits = int(p["value"]), 64 if p["type"] in (*WIDE, "cublasHandle_t", "cublasLtHandle_t", "cudaStream_t") else 32
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) and p["type"] not in ("size_t", "uint64_t") else value

    # ---- how much memory a pointer needs ----

    def element(self, p: dict[str, Any]) -> str:
        """Of untyped memory: the number of its cudaDataType."""
        name, typed = re.sub("array$", "", p["name"]), element_of(p["type"])
        types = [self.numbers[t] for t in (name + "type", name + "Type") if t in self.numbers] + [self.layouts[t][0] for t in (name + "desc",) if t in self.layouts]
        if typed != "void" or name == "workspace":
            return "char" if name == "workspace" else typed
        if p["name"].startswith(("alpha", "beta")) and not types:
            if "computeDesc" in self.layouts:
                return str(self.layouts["computeDesc"].get(1, 0))  # type of scalars
            if "computeType" in self.numbers:
                real = {64: 2, 65: 2, 70: 1, 71: 1, 79: 1, 72: 10, 73: 10}.get(self.numbers["computeType"], 0)
                return str(real + 4 if real < 3 and self.numbers.get("Ctype") in (4, 5, 6, 7) else real)
        return str(types[0]) if types else typed

    @staticmethod
    def bytes_of(element: str) -> int:
        return TYPES.get(element) or (BYTES[int(element)] if element.isdigit() and int(element) < len(BYTES) else 16)

    def elements(self, at: int, one_of_array: bool = False) -> int:
        """Which the call may touch: exact for gemm and layouts, else a bound by the largest extent."""
        p, numbers = self.parameters[at], self.numbers
        name = re.sub("array$", "", p["name"])
        if name + "desc" in self.layouts:
            layout = self.layouts[name + "desc"]
            rows, columns, ld = (int(layout.get(i, 0)) for i in (2, 3, 4))
            along, across = (columns, rows) if layout.get(1) == 1 else (rows, columns)
            one = (across - 1) * ld + along if layout.get(1, 0) < 2 else across * ld
            return one + max(int(layout.get(5, 1)) - 1, 0) * max(int(layout.get(6, 0)), 0)
        if p["name"].endswith("_array") or p["name"] == "group_size":
            return numbers.get("group_count", 1)
        if p["name"].startswith(("alpha", "beta")):
            vector = p["name"] == "alpha" and int(self.layouts.get("computeDesc", {}).get(2, 0)) > 1  # by pointer mode
            return int(self.layouts.get("Ddesc", {}).get(2, 1)) if vector else 1
        if name + "SizeInBytes" in numbers:
            return numbers[name + "SizeInBytes"]
        largest = max([1, *(numbers.get(n, 0) for n in ("m", "n", "k", "kl", "ku", "rows", "cols", "requestedAlgoCount", "group_count"))])
        one = largest * (largest + 1) // 2 if name.lower() == "ap" else largest
        for after in self.parameters[at + 1 :]:
            if "memory" in after:
                break
            ld = numbers[after["name"]]
            if after["name"].startswith("inc"):
                one = (largest - 1) * abs(ld) + 1
            if after["name"].startswith("ld"):
                m, n, k = (numbers.get(i, 0) for i in "mnk")
                rows, columns = {"A": (m, k), "B": (k, n), "C": (m, n)}.get(name, (0, 0))
                if numbers.get({"A": "transa", "B": "transb"}.get(name, ""), 0):
                    rows, columns = columns, rows
                gemm = {"transa", "transb", "k"} <= numbers.keys() and rows > 0 and columns > 0
                one = (columns - 1) * ld + rows if gemm else largest * ld
        stride = next((numbers[s] for s in ("stride" + name, "Stride" + name) if s in numbers), None)
        batch = 1 if one_of_array else max(numbers.get("batchCount", 1), 1)
        return one * batch if stride is None else one + max(stride, 0) * (batch - 1)

    # ---- statements ----

    @staticmethod
    def words(given: bytes) -> str:
        words = given + b"\0" * (-len(given) % 4)
        return ", ".join(f"{w:#x}" if w > 9 else str(w) for w in struct.unpack(f"<{len(words) // 4}I", words))

    def piece(self, name: str, said: dict[str, Any], wanted: int, element: str, *, address: int, content: bool = False, of_array: bool = False) -> Piece:
        kind, left = said["kind"], int(said["left"])
        if kind == "-":
            self.lost.append(f"{name}: no memory is at its address, which is passed on")
        if kind == "?":
            self.lost.append(f"{name}: the driver did not say where it points; device memory is taken")
        most = left or (MOST >> 4 if kind == "h" else MOST)
        if kind not in "0-" and wanted > most:
            self.lost.append(f"{name}: its allocation ends {left} bytes behind it; by leading dimension and extents up to {wanted} are used" if left else f"{name}: of {wanted} bytes {most}")
        there = min(max(wanted, 1), most)
        self.pieces.append(Piece(name, said, address, there, element, of_array, bytes.fromhex(said.get("begins", ""))[:there] if content else b""))
        return self.pieces[-1]

    def make(self) -> None:
        """Memory for all pieces. Those that overlap are in one, as far from each other as they were."""
        blocks: list[list[Piece]] = []
        end, sizes = 0, dict[str, int]()  # of memory for elements of arrays
        for piece in sorted(self.pieces, key=lambda piece: piece.address):
            if piece.said["kind"] in "0-":
                piece.base = "nullptr" if piece.said["kind"] == "0" else f"(char*){piece.address:#x}"
                if not piece.of_array:
                    self.lines.append(f"char* {piece.name} = {piece};" + "  // no memory is there" * (piece.said["kind"] == "-"))
                continue
            if not blocks or piece.address >= end:
                blocks.append([])
            blocks[-1].append(piece)
            end = max(end, piece.address + piece.size)
        for head, *others in blocks:
            size = max(piece.address + piece.size for piece in (head, *others)) - head.address
            head.base = head.name
            if head.of_array:
                head.offset = (sizes.get(head.name, 0) + 255) // 256 * 256 + head.address % 256
            sizes[head.name] = head.offset + size
            for piece in others:
                piece.base, piece.offset = head.base, head.offset + piece.address - head.address
        for head, *others in blocks:
            for piece in (head, *others):
                if piece.given:
                    self.lines.append(f"const unsigned of_{piece.name}[] = {{{self.words(piece.given)}}};{self.readable(piece.given, piece.element)}")
                if piece is head and head.name in sizes:
                    self.lines.append(self.made(head, sizes.pop(head.name)))
                elif not piece.of_array:
                    self.lines.append(f"char* {piece.name} = {piece};" + f" OK(cudaMemcpy({piece.name}, of_{piece.name}, {len(piece.given)}, cudaMemcpyDefault));" * bool(piece.given))
                    if "data" in piece.said and "data" not in head.said:
                        self.lost.append(f"numbers of {piece.name}")
        for name, pieces in self.arrays:
            steps = {after.offset - before.offset for before, after in zip(pieces, pieces[1:])} or {0}
            if len(steps) == len({piece.base for piece in pieces}) == 1:
                self.lines.append(f"char* list_{name}[{len(pieces)}]; for (long i = 0; i < {len(pieces)}; ++i) list_{name}[i] = {pieces[0]}{f' + i * {min(steps)}' if any(steps) else ''};")
            else:
                self.lines.append(f"char* list_{name}[] = {{{', '.join(map(str, pieces))}}};")
            self.lines.append(f"OK(cudaMemcpy({name}, list_{name}, sizeof list_{name}, cudaMemcpyDefault));")
        self.lines += self.then

    def made(self, piece: Piece, size: int) -> str:
        name, said, file, offset = piece.name, piece.said, "", 0 if piece.of_array else piece.address % 256
        if "data" in said:
            file = f', "{self.beside}{said["data"]}"'
            self.data[said["data"]] = size
            if size > DATA:
                self.lost.append(f"{name} behind its first {DATA} bytes")
        more = f", of_{name}, {len(piece.given)}" if piece.given else ", nullptr, 0" if file else ""
        return f"char* {name} = memory('{said['kind'].replace('?', 'd')}', {size}, {offset}, '{RANDOM.get(piece.element, 'i')}'{more}{file});"

    @staticmethod
    def readable(given: bytes, element: str) -> str:
        form = {"f": "<f", "d": "<d", "h": "<e"}.get(RANDOM.get(element, ""), {"int": "<i", "int64_t": "<q", "10": "<i"}.get(element, ""))
        form = form.replace("<", "<2") if element in ("cuComplex", "cuDoubleComplex", "4", "5", "6") else form
        if not form or len(given) < struct.calcsize(form):
            return ""
        return "  // " + ", ".join(f"{x:.9g}" if isinstance(x, float) and math.isfinite(x) else str(x) for x in struct.unpack_from(form, given))

    def pointer(self, at: int) -> None:
        p = self.parameters[at]
        said, element, name, address = p["memory"], self.element(p), p["name"], int(p["value"])
        small = p["type"].startswith("const ") and (name.startswith(("alpha", "beta")) or said["kind"] != "d")
        if "* const*" not in p["type"] and "**" not in p["type"]:
            wanted = max(self.elements(at), 0) * self.bytes_of(element)
            output = said["kind"] in "hpm" and not p["type"].startswith("const ")
            if small and "begins" not in said and said["kind"] not in "0-":
                self.lost.append(f"what {name} points to")
            self.piece(name, said, max(wanted, 4096 if output else 1), element, address=address, content=small and wanted <= 512)
            return
        elements = said.get("elements", [])
        asked_for = max(self.numbers.get("batchCount", self.numbers.get("group_count", 1)), 1)
        count = min(asked_for, max(len(elements), 1))
        self.piece(name, said, 8 * count, "", address=address)
        if said["kind"] in "0-":
            return
        if not elements or count < asked_for or "group_count" in self.numbers:
            self.lost.append(f"elements of {name}" + (f" behind the first {len(elements)}" if elements else ""))
        if len({e["kind"] for e in elements} - {"0", "-"}) > 1:
            self.lost.append(f"{name}: its elements differ in kind; all are made as the first")
        each = max(self.elements(at, True), 1) * self.bytes_of(element)
        pieces = [self.piece(f"in_{name}", e, min(each, int(e["left"]) or MOST // count), element, address=int(e["value"]), of_array=True) for e in elements[:count]]
        self.arrays.append((name, pieces or [Piece("", {}, 0, 0, "", True, base=f"memory('d', {min(each, MOST)}, 0, '{RANDOM.get(element, 'i')}')")]))

    def descriptor(self, p: dict[str, Any]) -> None:
        said, name = p["descriptor"], p["name"]
        values = {a["number"]: a for a in said["attributes"]}
        if p["type"].endswith("*"):  # an algorithm, whose bytes are copied
            self.lines.append("// algorithm: " + ", ".join(f"{a.get('name', a['number'])} {a['value']}" for a in values.values()))
            return
        casts = {"cublasLtMatmulDesc": ["cublasComputeType_t", "cudaDataType"], "cublasLtMatrixLayout": ["cudaDataType", "uint64_t", "uint64_t", "int64_t"], "cublasLtMatrixTransformDesc": ["cudaDataType"]}.get(said["of"], [])
        with_these = "".join(f", ({cast}){self.literal(values[i]['value'])}" for cast, i in zip(casts, said["create"]) if i in values)
        self.lines.append(f"{p['type']} {name}; OK({said['of']}Create(&{name}{with_these}));")
        for a in said["attributes"]:
            label = a.get("name", "")
            if a["fresh"] or a["number"] in said["create"] and said["of"] != "cublasLtMatmulPreference":
                continue
            if label == "EMULATION_DESCRIPTOR":
                self.lost.append("the emulation descriptor of the product")
                continue
            attribute = "Attribute_t" if said["of"] == "cublasLtMatrixLayout" else "Attributes_t"
            if int(a["bytes"]) > 8:
                self.lost.append(f"attribute {label or a['number']} of {name}")
                continue
            set_it = f"OK({said['of']}SetAttribute({name}, ({said['of']}{attribute}){a['number']}, &x, {a['bytes']})); }}" + f"  // {label}" * bool(label)
            if "memory" in a and int(a["value"]):
                self.later.append((label.lower(), a, f"{{ uint64_t x = (uint64_t){label.lower()}; {set_it}"))
            else:
                self.lines.append(f"{{ uint64_t x = {self.literal(a['value'])}; {set_it}")

    @staticmethod
    def literal(value: int) -> str:
        value = int(value)
        return str(value) if abs(value) < 1 << 31 else f"{value}ull" if value >= 1 << 63 else f"{value}ll"

    def process(self) -> None:
        for name, _, value in (one.partition("=") for one in self.call.get("environment", [])):
            if value.isascii() and value.isprintable():
                self.lines.append(f'setenv("{name}", {json.dumps(value)}, 1);')
        if device := int(self.call.get("device", 0)):
            self.lines.append(f"OK(cudaSetDevice({device} < devices ? {device} : 0));")

    def handle(self) -> None:
        handle, stream = self.call.get("handle"), self.call.get("stream")
        owner = next((p for p in self.parameters if p["type"] == "cublasHandle_t"), None)
        if stream and int(stream["value"]) > 2:
            self.lines.append(f"cudaStream_t stream; OK(cudaStreamCreateWithPriority(&stream, {stream.get('flags', 0)}, {stream.get('priority', 0)}));")
        elif stream:
            self.lines.append(f"cudaStream_t stream = (cudaStream_t){stream['value']};")
        for p in self.parameters:
            if p["type"] == "cublasLtHandle_t":
                self.lines.append(f"cublasLtHandle_t {p['name']}" + ("; OK(cublasLtCreate(&" + p["name"] + "));" if int(p["value"]) else " = nullptr;"))
        if owner is None:
            return
        if not int(owner["value"]):
            self.lines.append(f"cublasHandle_t {owner['name']} = nullptr;")
            return
        self.lines.append(f"cublasHandle_t {owner['name']}; OK(cublasCreate(&{owner['name']}));")
        if not handle:
            self.lost.append("the handle: it is none that cuBLAS knows, and a new one is taken")
        if stream:
            self.lines.append(f"OK(cublasSetStream({owner['name']}, stream));")
        settings = [f"OK({setter}({owner['name']}, ({s['type']}){s['value']}));" for setter, s in sorted((handle or {}).get("set", {}).items()) if s["value"]]
        self.lines += [" ".join(settings[i : i + 3]) for i in range(0, len(settings), 3)]  # 0 is what a new handle has
        if workspace := (handle or {}).get("workspace"):
            self.piece("handle_workspace", workspace["memory"], int(workspace["bytes"]), "char", address=int(workspace["value"]))
            self.then.append(f"OK(cublasSetWorkspace({owner['name']}, handle_workspace, {workspace['bytes']}));")

    def body(self) -> list[str]:
        self.process()
        self.handle()
        for at, p in enumerate(self.parameters):
            if "descriptor" in p:
                self.descriptor(p)
            if "memory" in p:
                self.pointer(at)
        rows, columns = (int(self.layouts.get("Ddesc", {}).get(extent, 256)) for extent in (2, 3))
        for name, a, line in self.later:
            longest = 16 * (max(rows, columns) if name == "bias_pointer" else rows * columns)
            self.piece(name, a["memory"], longest, "float", address=int(a["value"]))
            self.then.append(line)
        self.make()
        words, call = [], self.call
        for p in self.parameters:
            typed, name = p["type"], p["name"]
            if "memory" in p:
                words.append(f"({typed}){name}")
            elif "descriptor" in p or typed.endswith("Handle_t"):
                words.append(name)
            elif typed == "cudaStream_t":
                words.append("stream")
            else:
                words.append(f"({typed}){self.literal(self.numbers[name])}")
                if typed.startswith("cublasLt") and typed.endswith("_t") and not int(p["value"]) or "Callback" in typed:
                    words[-1] = f"({typed})0"
        record = int((call.get("stream") or {}).get("capturing", 0))
        if record:
            self.lost.append("the mode of the capture that the stream was in")
            self.lines.append("OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));")
        number, (result, old) = call.get("number"), ("D", "C") if "Ddesc" in self.layouts else ("y", "y") if "incy" in self.numbers else ("C", "C")
        if number and number["before"]:  # the copy is of behind the call
            given = ", ".join(map(str, number["before"]))
            self.lines.append(f"const unsigned char before[] = {{{given}}}; OK(cudaMemcpy({old} + {number['in_c']}, before, {len(number['before'])}, cudaMemcpyDefault));")
        self.lines.append("printf(\"calling\\n\"); fflush(stdout);")
        self.lines.append(f"const int status = (int){call['function']}({', '.join(words)});")
        if record:
            self.lines.append("cudaGraph_t graph; cudaStreamEndCapture(stream, &graph);")
        self.lines.append("const cudaError_t then = cudaDeviceSynchronize();")
        self.lines.append(f'printf("status %d, which was {call["status"]}; then %s\\n", status, cudaGetErrorName(then));')
        if number:
            typed = PARTS[number["type"]]
            self.lines.append(f"{typed} element; OK(cudaMemcpy(&element, {result} + {number['in_d']}, sizeof element, cudaMemcpyDefault));")
            self.lines.append(f"const double is = (double){'(float)' * typed.startswith('__')}element, from = {number['right']!r} - {number['allowed']!r}, to = {number['right']!r} + {number['allowed']!r};")
            self.lines.append(f'printf("the number is %.17g, which was {number["is"]}; by float64 from %.17g to %.17g\\n", is, from, to);')
        self.lines.append(f"return status == {call['status']}{' && !(from <= is && is <= to)' if number else ''} ? 0 : 1;")
        return self.lines

    def text(self, comments: list[str]) -> str:
        body = self.body()
        all_comments = comments + ([f"Not captured: {'; '.join(dict.fromkeys(self.lost))}"] if self.lost else [])
        room = LINES - len(HEAD) - len(body) - 1
        if room < 1:
            raise Refused(f"the call has too many parts for {LINES} lines: {len(HEAD) + len(body) + 1}")
        if len(all_comments) > room:
            all_comments = [*all_comments[: room - 1], f"and {len(all_comments) - room + 1} more lines"]
        return "\n".join([*("// " + one_line_of(c) for c in all_comments), *HEAD, *("  " + line for line in body), "}"]) + "\n"


def one_line_of(words: str) -> str:
    return re.sub(r"[^ -~]", "?", words)[:600].rstrip("\\")


def version_of(call: dict[str, Any]) -> str:
    return ".".join(map(str, call.get("version", [])))


def about(call: dict[str, Any], asked_for: asked.Asked) -> list[str]:
    """What the program says above its first line."""
    function, status = re.sub(r"_v\d+", "", call["function"]), call["status_name"]
    capability = ".".join(map(str, call.get("compute_capability", [])))
    try:
        driver = re.findall(r"\d+\.\d+(?:\.\d+)?", Path("/proc/driver/nvidia/version").read_text())[0]
    except (OSError, IndexError):
        driver = f"of CUDA {call['driver'] // 1000}.{call['driver'] % 1000 // 10}" if "driver" in call else "?"
    number = call.get("number")
    wrong = f", and a number is wrong: row {number['row']}, column {number['column']}, matrix {number['matrix']} is {number['is']}, not {number['right']:.17g} (float64; error allowed: {number['allowed']:.3g})" if number else ""
    lines = [
        f"{call['function']} returned {status} ({call['status']}) to {call['caller']}, in {call['program']}{wrong}",
        f"Stack: {call.get('gpu', 'GPU ?')} ({capability or '?'}), driver {driver}, {'cuBLAS' if call['library'] == 'cublas' else 'cuBLASLt'} {version_of(call) or '?'} ({call['file']})",
    ]
    try:
        if number:
            raise Refused("a status does not tell of wrong numbers")
        nearest = "(cublas = ?) + (compute_capability = ?) DESC, stack DESC"
        rows = asked_for.database([], only="arms").execute(f"SELECT stack, case_name || '/' || arm FROM calls JOIN arms USING (arm_id) WHERE api = ? AND calls.status = ? GROUP BY 1, 2 ORDER BY {nearest}", (function, status, version_of(call), capability)).fetchall()
        stacks: dict[str, list[str]] = {}
        for stack, arm in rows:
            stacks.setdefault(stack, []).append(arm)
        lines += [f"Recorded: {function} with {status}, not this call itself, on {stack}: {', '.join(arms[:2])}{f' and {len(arms) - 2} more arms' if len(arms) > 2 else ''}" for stack, arms in list(stacks.items())[:3]]
        if len(stacks) > 3:
            lines.append(f"Recorded: on {len(stacks) - 3} more stacks; cufault causes {status} tells of them")
        if not stacks:
            lines.append(f"Recorded: nothing of {function} with {status}")
    except Exception as error:  # the program is worth more than what is recorded
        lines.append(f"Recorded: not looked up: {one_line(str(error))}")
    entries = json.loads(asked_for.file("known_issues").read_text(encoding="utf-8"))["issues"]
    found = [f for f in found_issues(entries, version_of(call), capability) if function in f.entry.get("calls", [])] if len(call.get("version", [])) == 3 else []
    return lines + [f"Known: {f.entry['id']} ({f.level}): {f.entry['what']}" for f in found if LEVELS.index(f.level) <= LEVELS.index("likely_affected")][:2]


def arm_of(program: Program, lines: list[str]) -> str:
    """The skeleton of an arm for cases/."""
    call, function = program.call, re.sub(r"_v\d+", "", program.call["function"])
    end = next(i for i, line in enumerate(program.lines) if line.startswith("const int status"))
    made = re.sub(r"^const int status = \(int\)\w+(.*);$", rf"CUFAULT_OBSERVE({function}\1);", program.lines[end])
    steps = [line.replace("OK(", "CUFAULT_REQUIRE(") for line in program.lines[:end] if not line.startswith(("printf", "OK(cudaSetDevice"))] + [made]
    helper = [line.replace("OK(", "CUFAULT_REQUIRE(") for line in HEAD[HEAD.index(next(h for h in HEAD if h.startswith("// Of kind"))) : HEAD.index("int main() {")]]
    name = re.sub(r"^cublas", "", function).lower()
    return "\n".join([
        "//", f"// What fails   {lines[0]}", "// Why          ?", "// Documented   ?", "// What helps   ?",
        '#include "harness/trial/observe.hpp"', "", *HEAD[: HEAD.index("")], "", "namespace cufault {", "namespace {", "",
        *helper, "", "void captured(trial& t) {", "  t.open_context();", *("  " + s for s in steps), "}", "",
        "void control(trial& t) {  // to be changed: without what is wrong", "  captured(t);", "}", "",
        "failure_case captured_call() {", "  failure_case c;", f'  c.name = "FAMILY.{name}";', '  c.summary = "?";', '  c.control("the same call without what is wrong", control);',
        f'  c.fault("captured", "{function}: {call["status_name"]}", captured);', "  return c;", "}", "", "const register_case here{captured_call()};", "", "}  // namespace", "}  // namespace cufault"]) + "\n"


def nvcc() -> Optional[str]:
    places = [os.environ.get("CUDACXX", ""), shutil.which("nvcc") or "", f"{os.environ.get('CUDA_HOME', '')}/bin/nvcc", "/usr/local/cuda/bin/nvcc"]
    return next((p for p in places if p and os.access(p, os.X_OK) and not Path(p).is_dir()), None)


def tried(file: Path, call: dict[str, Any], has_data: bool) -> str:
    """Compiles and runs it in a process of its own, with the library that the program had loaded."""
    compiler = nvcc()
    if compiler is None:
        return "not compiled here: no nvcc (CUDACXX, PATH, CUDA_HOME, /usr/local/cuda)"
    library = Path(call["file"])  # not another version of it, which this nvcc would take
    link = ["-Xlinker", library, "-Xlinker", f"-rpath-link={library.parent}"] if library.is_absolute() else ["-lcublas", "-lcublasLt"]
    with tempfile.TemporaryDirectory(prefix="cufault-capture-") as folder:
        program = f"{folder}/call"
        try:
            made = subprocess.run([compiler, "-o", program, file, *link], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
            if made.returncode != 0:
                return "nvcc refuses it: " + one_line(next((line for line in made.stdout.decode(errors="replace").splitlines() if "error" in line), "it says nothing"))
            libraries = ":".join(filter(None, [str(library.parent) if library.is_absolute() else "", os.environ.get("LD_LIBRARY_PATH", "")]))
            ran = subprocess.run([program], cwd=file.parent, env={**os.environ, "LD_LIBRARY_PATH": libraries}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        except subprocess.TimeoutExpired as late:
            return f"it had not ended after {late.timeout:.0f} s, alone, {'compiling' if late.cmd[0] == compiler else 'running'}"
    last = one_line((ran.stdout.decode(errors="replace").strip().splitlines() or ["it says nothing"])[-1])
    if ran.returncode == 77:
        return "compiled; not run: no GPU here"
    if ran.returncode == 0:
        return "reproduces: alone, in a process of its own, " + ("its number is wrong" if "number" in call else f"it returns {call['status_name']}")
    if ran.returncode == 1:
        before = ", ".join(call["calls_before"][-7:-1]) or "no call that was seen"
        data = "" if has_data else ", or the numbers in its operands (--data takes them)"
        return f"does not reproduce alone ({last}): what the file lacks matters, such as what the process did before, at last {before}{data}"
    return f"alone it ends {'by signal ' + str(-ran.returncode) if ran.returncode < 0 else f'with exit code {ran.returncode}'} ({last}), in place of {call['status_name']}"


def main(asked_for: asked.Asked) -> int:
    folder, file = Path(asked_for.options["folder"]), Path(asked_for.options["output"])
    call = json.loads((folder / "call.json").read_text(encoding="utf-8"))
    program, lines = Program(call, file.stem + "."), about(call, asked_for)
    text = program.text([*lines, f"nvcc -o call {file.name} -lcublas -lcublasLt && ./call  (0: the same status; 1: another; 77: no GPU)"])
    file.write_text(text, encoding="utf-8")
    for name, used in program.data.items():
        with open(folder / name, "rb") as given:
            file.with_name(f"{file.stem}.{name}").write_bytes(given.read(used))
    said = [lines[0], f"{file}: {tried(file, call, bool(program.data)) if asked_for.options['run'] else 'not run'}"]
    print(json.dumps({"lines": said, "arm": arm_of(program, lines) if asked_for.options["arm"] else ""}))
    return 0
