"""Sound files with headers that no sound has, or that lie, each with one number changed.

    odd_headers.py FILE...     of good ones; writes FILE-N for each; prints "FILE-N<TAB>what is odd"
"""
import struct
import sys

LARGE = [0, 1, 7, 8, 23, 24, 25, 1 << 31, (1 << 32) - 1, 1 << 58, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
SMALL = [0, 1, 3, 8, 12, 20, 24, 33, 64, 1025, 65535]


def number(data, at, value, bytes_, order):
    return data[:at] + (value % (1 << 8 * bytes_)).to_bytes(bytes_, order) + data[at + bytes_:]


def ogg_sum(page):
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = ((value << 1) ^ (0x04C11DB7 if value >> 31 else 0)) & 0xFFFFFFFF
    return value


def late_granules(data):
    """The last page says that it ends where no sound does; its checksum is right."""
    at = data.rindex(b"OggS")
    for granule in (1 << 62, (1 << 63) - 1):
        page = bytearray(data[at:])
        page[6:14] = struct.pack("<Q", granule)
        page[22:26] = bytes(4)
        page[22:26] = struct.pack("<I", ogg_sum(page))
        yield "granule %d" % granule, data[:at] + bytes(page)


def fields(data):
    """(name, offset, bytes, order, values) of each number that is changed."""
    def find(name):
        return data.index(name) + len(name)
    size = len(data)
    if data[8:12] == b"WAVE":
        fmt, samples = find(b"fmt ") + 4, find(b"data")
        yield "whole", 4, 4, "little", LARGE
        yield "channels", fmt + 2, 2, "little", SMALL
        yield "rate", fmt + 4, 4, "little", [0, 10000001, (1 << 31) - 1, 1 << 31]
        yield "bits", fmt + 14, 2, "little", SMALL
        yield "samples", samples, 4, "little", LARGE + [size, size - 60]
        if data[:4] == b"RF64":
            yield "samples in ds64", 28, 8, "little", LARGE + [size]
            yield "size of ds64", 16, 4, "little", [0, 8, 15]
    elif data[:4] == b"FORM":
        common, samples = find(b"COMM") + 4, find(b"SSND")
        yield "channels", common, 2, "big", SMALL
        yield "frames", common + 2, 4, "big", LARGE
        yield "bits", common + 6, 2, "big", SMALL
        yield "samples", samples, 4, "big", LARGE + [size]
    elif data[:4] == b"caff":
        format_, samples = find(b"desc") + 8, find(b"data")
        for at in range(12, 32, 4):
            yield "format at %d" % at, format_ + at, 4, "big", [0, 1, 3, 8, 1025, 1 << 31]
        yield "size of the format", format_ - 8, 8, "big", LARGE
        yield "samples", samples, 8, "big", LARGE + [size]
    elif data[:4] == b"riff":
        samples = find(b"data\xf3") + 11
        yield "size of the format", 56, 8, "little", LARGE
        yield "samples", samples, 8, "little", LARGE + [size]
    elif data[:4] == b".snd":
        yield "samples at", 4, 4, "big", [0, 4, 23, 25, size - 1, size, size + 1, 99999, 1 << 31]
        yield "samples", 8, 4, "big", LARGE + [size, 0xFF000000]
        yield "rate", 16, 4, "big", [0, 10000001, 1 << 31]
        yield "channels", 20, 4, "big", SMALL
    elif data[:4] == b"fLaC":
        for at in (8, 10, 18, 22):
            yield "format at %d" % at, at, 2, "big", [0, 1, 65535]


def variants(data):
    for name, at, bytes_, order, values in fields(data):
        for value in values:
            yield "%s %d" % (name, value), number(data, at, value, bytes_, order)
    for size in (3, 11, 40, 70, len(data) // 2, len(data) - 1):
        yield "cut at %d" % size, data[:size]
    yield "twice", data + data
    yield "more", data + b"some more"
    if data[:4] == b"OggS":
        yield from late_granules(data)


for path in sys.argv[1:]:
    with open(path, "rb") as good:
        for i, (text, odd) in enumerate(variants(good.read())):
            with open("%s-%d" % (path, i), "wb") as made:
                made.write(odd)
            print("%s-%d" % (path, i), text, sep="\t")
