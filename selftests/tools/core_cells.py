#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""core_cells.py CORE: print the operations in the cells of a core dump, one a line.

The note NT_FILE of a core dump lists the mapped files. Of the mappings of /dev/asynctrace, only
the cells have memory in the dump. A cell is a struct asynctrace_cell, whose first word is the id
of the operation."""
import struct
import sys

PT_LOAD, PT_NOTE = 1, 4
NT_FILE = 0x46494C45
CELL = 64


def segments(core):
    offset, = struct.unpack_from("<Q", core, 32)
    size, number = struct.unpack_from("<HH", core, 54)
    for i in range(number):
        kind, _, at, address, _, bytes_, _, _ = struct.unpack_from("<IIQQQQQQ", core,
                                                                   offset + i * size)
        yield kind, at, address, bytes_


def notes(core, at, size):
    end = at + size
    while at < end:
        name, length, kind = struct.unpack_from("<III", core, at)
        at += 12 + (name + 3 & ~3)
        yield kind, core[at:at + length]
        at += length + 3 & ~3


def mappings(core):
    """Addresses of all mappings of the device"""
    for kind, at, _, size in segments(core):
        if kind != PT_NOTE:
            continue
        for note, data in notes(core, at, size):
            if note != NT_FILE:
                continue
            count, _ = struct.unpack_from("<QQ", data)
            names = data[16 + 24 * count:].split(b"\0")
            for i in range(count):
                if names[i] == b"/dev/asynctrace":
                    yield struct.unpack_from("<Q", data, 16 + 24 * i)[0]


def main():
    with open(sys.argv[1], "rb") as f:
        core = f.read()
    mapped = set(mappings(core))
    found = False
    for kind, at, address, size in segments(core):
        if kind != PT_LOAD or address not in mapped or not size:
            continue
        found = True
        # Pages without a cell are not in the dump, and read as zeros.
        for cell in range(at, min(at + size, len(core)), CELL):
            operation, = struct.unpack_from("<Q", core, cell)
            if operation:
                print(f"{operation:#x}")
    sys.exit(not found)


main()
