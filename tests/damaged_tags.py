"""Sound files with something around the samples that is damaged, there twice, or of no kind that halo keeps.

    damaged_tags.py     writes them to the working folder; prints "file<TAB>what halo names"
"""
import struct

FRAMES = 700


def samples(order):
    return b"".join(struct.pack(order + "h", (i * 97) % 5000 - 2500) for i in range(FRAMES))


def chunk(name, content, order="<", size=None):
    size = len(content) if size is None else size
    return name + struct.pack(order + "I", size) + content + bytes(len(content) % 2)


def wav(after, missing=0):
    body = (b"WAVE" + chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16))
            + chunk(b"data", samples("<")) + after)
    return b"RIFF" + struct.pack("<I", len(body) + missing) + body


def aiff(after, missing=0):
    rate = struct.pack(">HQ", 16383 + 15, 48000 << 48)
    body = (b"AIFF" + chunk(b"COMM", struct.pack(">HIH", 1, FRAMES, 16) + rate, ">")
            + chunk(b"SSND", bytes(8) + samples(">"), ">") + after)
    return b"FORM" + struct.pack(">I", len(body) + missing) + body


def large(name, content):
    return name + struct.pack(">q", len(content)) + content


def caf(after):
    return (b"caff" + struct.pack(">HH", 1, 0) + large(b"desc", struct.pack(">d4sIIIII", 48000, b"lpcm", 0, 2, 1, 1, 16))
            + large(b"data", bytes(4) + samples(">")) + after)


def crc(data, bits, polynomial):
    value = 0
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = ((value << 1) ^ (polynomial if value >> (bits - 1) else 0)) & ((1 << bits) - 1)
    return value


def flac(blocks, after=b""):
    """One frame of samples as they are; blocks: (type, content)."""
    stream = struct.pack(">HH", FRAMES, FRAMES) + bytes(6) + struct.pack(">Q", 48000 << 44 | 15 << 36 | FRAMES) + bytes(16)
    rows = [(0, stream)] + blocks
    data = b"fLaC"
    for i, (kind, content) in enumerate(rows):
        data += bytes([kind | (i == len(rows) - 1) << 7]) + struct.pack(">I", len(content))[1:] + content
    head = b"\xff\xf8\x7a\x08\x00" + struct.pack(">H", FRAMES - 1)
    frame = head + bytes([crc(head, 8, 0x07)]) + b"\x02" + samples(">")
    return data + frame + struct.pack(">H", crc(frame, 16, 0x8005)) + after


def comments(texts, count=None, more=b""):
    rows = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    return struct.pack("<I", 2) + b"me" + struct.pack("<I", len(texts) if count is None else count) + rows + more


def cues(points, count=None):
    rows = b"".join(struct.pack("<II4sIII", n, at, b"data", 0, 0, at) for n, at in points)
    return chunk(b"cue ", struct.pack("<I", len(points) if count is None else count) + rows)


def texts(*parts):
    return chunk(b"LIST", b"adtl" + b"".join(chunk(kind, struct.pack("<I", n) + text) for kind, n, text in parts))


def info(content):
    return chunk(b"LIST", b"INFO" + content)


def marker(frame, number, kind=bytes(4), time=b"\xff" * 8, channel=0):
    return kind + struct.pack(">d", frame) + struct.pack(">I", number) + time + struct.pack(">I", channel)


def markers(*rows, count=None):
    return large(b"mark", struct.pack(">II", 0, len(rows) if count is None else count) + b"".join(rows))


def region(*ends):
    return large(b"regn", struct.pack(">II", 0, 1) + struct.pack(">III", 8, 0, len(ends)) + b"".join(ends))


def aiff_marker(number, frame, text):
    row = struct.pack(">HIB", number, frame, len(text)) + text
    return row + bytes(len(row) % 2)


def ape(header):
    foot = struct.pack("<II", 2000, 32 + 20) + struct.pack("<I", 1)
    item = struct.pack("<II", 6, 0) + b"Album\0abcdef"
    start = b"APETAGEX" + foot + struct.pack("<I", 0xA0000000) + bytes(8) if header else b""
    return start + item + b"APETAGEX" + foot + struct.pack("<I", 0x80000000 * header) + bytes(8)


RIFF_BLOCK = b"riff" + b"wxyz" + struct.pack("<I", 500) + b"short"
GOOD = info(chunk(b"INAM", b"title\0"))

CASES = [
    ("list.wav", wav(chunk(b"LIST", b"ad") + GOOD), "LIST (it is damaged)"),
    ("count.wav", wav(cues([(1, 5)], 3)), "the end of the cue points (it is damaged)"),
    ("empty.wav", wav(chunk(b"cue ", b"")), "the end of the cue points (it is damaged)"),
    ("twice.wav", wav(cues([(9, 5), (9, 6)])), "marker 9 (another has its number)"),
    ("notes.wav", wav(cues([(3, 5)]) + texts((b"note", 3, b"one\0"), (b"note", 3, b"two\0"))), "a text of marker 3 (another"),
    ("regions.wav", wav(cues([(3, 5)]) + texts(*[(b"ltxt", 3, struct.pack("<I", n) + b"rgn " + bytes(8)) for n in (5, 6)])),
     "a region of marker 3 (another"),
    ("short.wav", wav(cues([(3, 5)]) + texts((b"ltxt", 3, b"rgn "))), "ltxt of a list (it is damaged)"),
    ("nowhere.wav", wav(texts((b"note", 4, b"text"))), "a text of marker 4 (there is no marker of that number)"),
    ("long.wav", wav(chunk(b"LIST", b"adtl" + chunk(b"labl", b"\1\0\0\0a\0", size=90))), "the end of a list (it is damaged)"),
    ("key.wav", wav(info(chunk(b"I\1\2\3", b"text"))), "a text of a list (it is damaged)"),
    ("zero.wav", wav(info(chunk(b"IART", b"one\0two\0"))), "the end of a text (it follows a zero)"),
    ("name.wav", wav(chunk(b"ab\7d", b"content!")), "a chunk (its name is not printable)"),
    ("second.wav", wav(chunk(b"data", samples("<")[:50]) + GOOD), "another chunk of samples"),
    ("cut.wav", wav(b"", missing=40), "some of it (it is cut short"),
    ("rest.wav", wav(GOOD + b"xyz"), "3 bytes at the end (halo does not know it)"),
    ("inst.aiff", aiff(chunk(b"INST", bytes(11), ">")), "INST (it is damaged)"),
    ("comment.aiff", aiff(chunk(b"COMT", struct.pack(">HIHH", 2, 0, 0, 2) + b"ab", ">")), "COMT (it is damaged)"),
    ("marks.aiff", aiff(chunk(b"MARK", struct.pack(">H", 2) + aiff_marker(1, 2, b"abc"), ">")), "the end of the markers (it"),
    ("twice.aiff", aiff(chunk(b"MARK", struct.pack(">H", 2) + aiff_marker(4, 2, b"") + aiff_marker(4, 3, b"b"), ">")),
     "marker 4 (another has its number)"),
    ("second.aiff", aiff(chunk(b"SSND", bytes(8) + samples(">")[:90], ">")), "another chunk of samples"),
    ("cut.aiff", aiff(b"", missing=30), "some of it (it is cut short"),
    ("kind.caf", caf(markers(marker(3, 6, b"pbeg"))), "part of marker 6 (halo keeps"),
    ("channel.caf", caf(markers(marker(3, 6, channel=1))), "part of marker 6 (halo keeps"),
    ("time.caf", caf(markers(marker(3, 6, time=b"\1\2\3\4\0\0\0\0"))), "part of marker 6 (halo keeps"),
    ("half.caf", caf(markers(marker(3.5, 6))), "part of marker 6 (halo keeps"),
    ("infinite.caf", caf(markers(marker(float("inf"), 6), marker(-1, 7))), "marker 6, marker 7 (its frame is no possible one)"),
    ("count.caf", caf(markers(marker(3, 6), count=2)), "the end of the markers (it is damaged)"),
    ("region.caf", caf(region(marker(3, 8, b"rbeg"), marker(5, 8, b"rsyn"), marker(9, 8, b"rend"))), "part of region 8 (halo keeps"),
    ("open.caf", caf(region(marker(3, 8, b"rbeg"))), "part of region 8 (halo keeps"),
    ("strings.caf", caf(markers(marker(3, 1)) + large(b"strg", struct.pack(">IIq", 1, 1, 50) + b"a\0")), "a text of marker 1 (it is"),
    ("table.caf", caf(large(b"strg", struct.pack(">I", 77) + b"a\0")), "strg (it is damaged)"),
    ("info.caf", caf(large(b"info", struct.pack(">I", 2) + b"title\0one\0artist")), "the end of info (it is damaged)"),
    ("second.caf", caf(large(b"data", bytes(4) + samples(">")[:90])), "another chunk of samples"),
    ("nameless.flac", flac([(4, comments([b"TITLE=a", b"no name", b"=no name"]))]), "a comment, a comment (it has no name)"),
    ("vendor.flac", flac([(4, struct.pack("<I", 900) + b"me\0\0\0\0\0\0")]), "the list of comments (it is damaged)"),
    ("comments.flac", flac([(4, comments([b"TITLE=a"], 2, struct.pack("<I", 66) + b"ARTIST=b"))]), "the end of the list of comments"),
    ("more.flac", flac([(4, comments([b"TITLE=a"], 1, struct.pack("<I", 8) + b"ARTIST=b"))]), "the end of the list of comments"),
    ("picture.flac", flac([(4, comments([b"METADATA_BLOCK_PICTURE=%%%"]))]), "a picture (it is damaged)"),
    ("block.flac", flac([(64, b"new"), (4, comments([]))]), "a block of type 64 (halo does not know it)"),
    ("foreign.flac", flac([(2, RIFF_BLOCK)]), "a chunk (it is damaged)"),
    ("ape.flac", flac([], ape(False)), "an APE tag (halo does not know it)"),
    ("both.flac", flac([], ape(True) + b"TAG" + b"x" * 125), "an ID3 tag at the end, an APE tag (halo does not know it)"),
    ("text.au", b".snd" + struct.pack(">5I", 40, 2 * FRAMES, 3, 48000, 1) + b"an annotation\0\0\0" + samples(">"), "the annotation (halo"),
]

if __name__ == "__main__":
    for name, data, named in CASES:
        with open(name, "wb") as file:
            file.write(data)
        print(name, named, sep="\t")
