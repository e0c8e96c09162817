"""Sound files with all that a studio puts around the samples, byte by byte; and what a file has.

    metadata_files.py REQUEST...    one after the other:
        make KIND FILE       wav, rf64, w64, aiff or caf; 8,000 frames of 48 kHz
        many WHAT FILE       a WAV of 100,000 markers, texts, unknown parts or chunks
        with FILE ID HEX     a WAV with another chunk after its samples
        last KIND FILE       a wav, rf64, w64 or aiff with all of it after its samples
        apart ORDER FILE     a WAV with labels before the samples and cues after them, or vice versa
        impulse FRAME FILE   a WAV, silent but for one frame, with a marker there, a time and loops
        sampler KIND FILE    a note and a loop in a wav, aiff or caf
        cut FILE BYTES       a WAV whose chunk claims so many bytes more than there are
    metadata_files.py chunks FILE...     each chunk but those of the file itself: name, size, SHA-1
    metadata_files.py marks FILE...      time reference and markers, in frames

    Marks go to FILE.marks; chunks of several files to FILE.chunks.
"""
import struct
import sys

FRAMES = 8000
GUID_REST = bytes.fromhex("f3acd3118cd100c04f8edb8a")
GUID_LIST = b"list" + bytes.fromhex("2f91cf11a5d628db04c10000")
GUID_OWN = bytes(range(16))


def samples(big):
    order = ">" if big else "<"
    return b"".join(struct.pack(order + "h", (i * 37) % 2000 - 1000) for i in range(FRAMES))


def padded(data, to=2):
    return data + bytes(-len(data) % to)


def bext():
    text = b"A description".ljust(256, b"\0") + b"A recorder".ljust(32, b"\0")
    text += b"REF0001".ljust(32, b"\0") + b"2024-05-0612:34:56"
    text += struct.pack("<Q", 0x123456789) + struct.pack("<H", 2) + bytes(range(64))
    text += struct.pack("<5h", -2300, 700, -100, -2000, -2100) + bytes(180)
    return text + b"A=ANALOGUE,M=mono,T=a microphone\r\n"


def cue():
    points = [(1, 100), (2, 4000), (3, 5000)]
    return struct.pack("<I", len(points)) + b"".join(
        struct.pack("<II4sIII", number, frame, b"data", 0, 0, frame) for number, frame in points)


def info_list():
    def item(name, text):
        return name + struct.pack("<I", len(text) + 1) + padded(text + b"\0")
    return (b"INFO" + item(b"INAM", b"A title") + item(b"IART", b"An artist")
            + item(b"ICMT", b"A comment") + item(b"IARL", b"An archive"))


def adtl():
    def item(name, content):
        return name + struct.pack("<I", len(content)) + padded(content)
    return (b"adtl" + item(b"labl", struct.pack("<I", 1) + b"first\0")
            + item(b"note", struct.pack("<I", 1) + b"a note\0")
            + item(b"labl", struct.pack("<I", 2) + b"region\0")
            + item(b"ltxt", struct.pack("<II4s4H", 2, 1000, b"rgn ", 1, 2, 3, 4) + b"text\0")
            + item(b"labl", struct.pack("<I", 3) + b"third\0"))


def smpl():
    header = struct.pack("<9I", 1, 2, 20833, 60, 0, 0, 0, 1, 3)
    return header + struct.pack("<6I", 7, 0, 200, 7000, 0, 0) + b"xyz"


RIFF_CHUNKS = [
    (b"bext", bext()),
    (b"iXML", b"<BWFXML><SCENE>1</SCENE></BWFXML>"),
    (b"cue ", cue()),
    (b"LIST", adtl()),
    (b"smpl", smpl()),
    (b"inst", bytes([60, 0, 0, 1, 127, 1, 127])),
    (b"LIST", info_list()),
    (b"wxyz", b"what nobody knows"),
]


def wav(rf64, before=2):
    data = samples(False)
    chunks = [(b"fmt ", struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16))] + RIFF_CHUNKS[:before]
    after = RIFF_CHUNKS[before:]

    def join(rows):
        return b"".join(n + struct.pack("<I", len(c)) + padded(c) for n, c in rows)
    before, size = join(chunks), 0xFFFFFFFF if rf64 else len(data)
    body = before + b"data" + struct.pack("<I", size) + data + join(after)
    if not rf64:
        return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body
    sizes = b"ds64" + struct.pack("<IQQQI", 28, 4 + 36 + len(body), len(data), FRAMES, 0)
    return b"RF64" + b"\xff" * 4 + b"WAVE" + sizes + body


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + padded(content)


def plain_wav(extra):
    body = (b"WAVE" + chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16))
            + chunk(b"data", samples(False)) + extra)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def many(what):
    rows = range(100000)
    if what == "markers":
        extra = chunk(b"cue ", struct.pack("<I", len(rows)) + b"".join(
            struct.pack("<II4sIII", i, i % FRAMES, b"data", 0, 0, i % FRAMES) for i in rows))
    elif what == "texts":
        extra = chunk(b"LIST", b"INFO" + b"".join(chunk(b"IABC", b"%05d\0" % i) for i in rows))
    elif what == "unknown":
        extra = chunk(b"LIST", b"adtl" + b"".join(chunk(b"xyzw", b"") for i in rows))
    else:
        extra = b"".join(chunk(b"wxyz", b"") for i in rows)
    return plain_wav(extra)


def w64():
    def chunk(name, content):
        guid = GUID_LIST if name == b"LIST" else name if len(name) == 16 else name + GUID_REST
        return guid + struct.pack("<Q", 24 + len(content)) + padded(content, 8)
    body = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16))
    body += chunk(b"data", samples(False))
    body += b"".join(chunk(n, c) for n, c in RIFF_CHUNKS) + chunk(GUID_OWN, b"of W64 alone")
    head = b"riff" + bytes.fromhex("2e91cf11a5d628db04c10000")
    return head + struct.pack("<Q", 40 + len(body)) + b"wave" + GUID_REST + body


def aiff():
    def chunk(name, content):
        return name + struct.pack(">I", len(content)) + padded(content)

    def marker(number, frame, text):
        row = struct.pack(">HIB", number, frame, len(text)) + text
        return padded(row)
    rate = struct.pack(">HQ", 16383 + 15, 48000 << 48)
    marks = marker(1, 100, b"first") + marker(5, 4000, b"second") + marker(6, 7000, b"")
    inst = struct.pack(">bbbbbbhHHHHHH", 60, 0, 0, 127, 1, 127, 0, 1, 1, 6, 0, 0, 0)
    body = (chunk(b"COMM", struct.pack(">HIH", 1, FRAMES, 16) + rate) + chunk(b"MARK", struct.pack(">H", 3) + marks)
            + chunk(b"INST", inst) + chunk(b"NAME", b"A title") + chunk(b"AUTH", b"An artist")
            + chunk(b"ANNO", b"A comment") + chunk(b"ANNO", b"Another") + chunk(b"APPL", b"stocan application")
            + chunk(b"SSND", bytes(8) + samples(True)))
    return b"FORM" + struct.pack(">I", 4 + len(body)) + b"AIFF" + body


def caf():
    def chunk(name, content):
        return name + struct.pack(">q", len(content)) + content

    def marker(kind, frame, number):
        return kind + struct.pack(">dI", frame, number) + b"\xff" * 8 + struct.pack(">I", 0)
    texts = [(1, b"first\0"), (2, b"region\0")]
    table = struct.pack(">I", len(texts)) + struct.pack(">Iq", 1, 0) + struct.pack(">Iq", 2, 6)
    regions = struct.pack(">II", 0, 1) + struct.pack(">III", 2, 3, 2) + marker(b"rbeg", 4000, 2) + marker(b"rend", 5000, 2)
    info = struct.pack(">I", 3) + b"title\0A title\0artist\0An artist\0my own key\0a value\0"
    body = chunk(b"desc", struct.pack(">d4sIIIII", 48000, b"lpcm", 0, 2, 1, 1, 16))
    body += chunk(b"inst", struct.pack(">f4Bf4I", 60.25, 0, 127, 1, 127, -3, 0, 2, 0, 0))
    body += chunk(b"mark", struct.pack(">II", 0, 1) + marker(bytes(4), 100, 1))
    body += chunk(b"regn", regions) + chunk(b"strg", table + b"".join(t for _, t in texts))
    body += chunk(b"info", info) + chunk(b"uuid", bytes(range(16)) + b"of CAF alone")
    return b"caff" + struct.pack(">HH", 1, 0) + body + chunk(b"data", bytes(4) + samples(True))


def walk(data):
    """(name, content) of each chunk."""
    if data[:4] in (b"RIFF", b"RF64"):
        at, large = 12, 0
        while at + 8 <= len(data):
            name, size = data[at:at + 4], struct.unpack("<I", data[at + 4:at + 8])[0]
            if name == b"ds64":
                large = struct.unpack("<Q", data[at + 16:at + 24])[0]
            size = large if size == 0xFFFFFFFF else size
            yield name, data[at + 8:at + 8 + size]
            at += 8 + size + size % 2
    elif data[:4] == b"riff":
        at = 40
        while at + 24 <= len(data):
            size = struct.unpack("<Q", data[at + 16:at + 24])[0]
            name = data[at:at + 4] if data[at + 4:at + 16] == GUID_REST else data[at:at + 16]
            yield (b"LIST" if name == GUID_LIST else name), data[at + 24:at + size]
            at += size + -size % 8
    elif data[:4] == b"FORM":
        at = 12
        while at + 8 <= len(data):
            size = struct.unpack(">I", data[at + 4:at + 8])[0]
            yield data[at:at + 4], data[at + 8:at + 8 + size]
            at += 8 + size + size % 2
    elif data[:4] == b"caff":
        at = 8
        while at + 12 <= len(data):
            size = struct.unpack(">q", data[at + 4:at + 12])[0]
            yield data[at:at + 4], data[at + 12:at + 12 + size]
            at += 12 + size
    else:
        sys.exit("no chunks")


def check_size(data):
    """The size that the whole file claims."""
    if data[:4] == b"RIFF":
        return struct.unpack("<I", data[4:8])[0] + 8 == len(data)
    if data[:4] == b"RF64":
        return struct.unpack("<Q", data[20:28])[0] + 8 == len(data)
    if data[:4] == b"riff":
        return struct.unpack("<Q", data[16:24])[0] == len(data)
    if data[:4] == b"FORM":
        return struct.unpack(">I", data[4:8])[0] + 8 == len(data)
    return True


OWN = {b"fmt ", b"data", b"fact", b"ds64", b"JUNK", b"PAD ", b"COMM", b"SSND", b"FVER", b"desc", b"free", b"PEAK"}


def show(path):
    import hashlib
    with open(path, "rb") as file:
        data = file.read()
    seen = False
    for name, content in walk(data):
        seen = seen or name in (b"data", b"SSND")
        if name not in OWN:
            kind = content[:4].decode("latin-1") if name == b"LIST" else ""
            text = name.decode("latin-1") if len(name) == 4 else name.hex()
            print(text + kind, len(content), hashlib.sha1(content).hexdigest(), "after" if seen else "before")
    print("size", "right" if check_size(data) else "wrong")


def sampler(kind):
    """A note and a loop, as each kind of container tells it."""
    if kind == "wav":
        loop = struct.pack("<9I", 0, 0, 20833, 60, 0, 0, 0, 1, 0) + struct.pack("<6I", 0, 0, 10, 20, 0, 0)
        return plain_wav(chunk(b"smpl", loop) + chunk(b"inst", bytes([60, 0, 0, 0, 127, 1, 127])))

    def part(name, content):
        size = struct.pack(">I" if kind == "aiff" else ">q", len(content))
        return name + size + (padded(content) if kind == "aiff" else content)
    if kind == "aiff":
        marks = struct.pack(">H", 2) + b"".join(struct.pack(">HIBx", i + 7, at, 0) for i, at in enumerate((10, 21)))
        inst = struct.pack(">Bb4Bh", 60, 0, 0, 127, 1, 127, 0) + struct.pack(">HHH", 1, 7, 8).ljust(12, b"\0")
        rate = struct.pack(">HQ", 16383 + 15, 48000 << 48)
        body = part(b"COMM", struct.pack(">HIH", 1, FRAMES, 16) + rate) + part(b"INST", inst) + part(b"MARK", marks)
        body += part(b"SSND", bytes(8) + samples(True))
        return b"FORM" + struct.pack(">I", 4 + len(body)) + b"AIFF" + body

    def marker(kind, frame, number):
        return kind + struct.pack(">dI", frame, number) + b"\xff" * 8 + struct.pack(">I", 0)
    region = struct.pack(">III", 3, 3, 2) + marker(b"rbeg", 10, 3) + marker(b"rend", 21, 3)
    body = part(b"desc", struct.pack(">d4sIIIII", 48000, b"lpcm", 0, 2, 1, 1, 16))
    body += part(b"inst", struct.pack(">f4Bf4I", 60, 0, 127, 1, 127, 0, 0, 3, 0, 0))
    body += part(b"regn", struct.pack(">II", 0, 1) + region)
    return b"caff" + struct.pack(">HH", 1, 0) + body + part(b"data", bytes(4) + samples(True))


def last(kind):
    if kind == "aiff":
        data = aiff()
        rows = list(walk(data))
        rows = [row for row in rows if row[0] in (b"COMM", b"SSND")] + [row for row in rows if row[0] not in (b"COMM", b"SSND")]
        body = b"".join(name + struct.pack(">I", len(content)) + padded(content) for name, content in rows)
        return b"FORM" + struct.pack(">I", 4 + len(body)) + b"AIFF" + body
    if kind == "w64":
        return w64()
    return wav(kind == "rf64", before=0)


def apart(order):
    rows = {"cue": chunk(b"cue ", cue()), "labels": chunk(b"LIST", adtl())}
    first, then = ("labels", "cue") if order == "labels" else ("cue", "labels")
    body = (b"WAVE" + chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16)) + rows[first]
            + chunk(b"data", samples(False)) + rows[then])
    return b"RIFF" + struct.pack("<I", len(body)) + body


def impulse(frame):
    points = [(4, frame), (9, 17)]
    marks = struct.pack("<I", 2) + b"".join(struct.pack("<II4sIII", n, at, b"data", 0, 0, at) for n, at in points)
    label = b"adtl" + b"".join(b"labl" + struct.pack("<II", 11, number) + b"impact\0\0" for number, _ in points)
    sound = b"".join(struct.pack("<h", 16000 * (i == frame)) for i in range(FRAMES))
    body = (b"WAVE" + chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 48000, 96000, 2, 16)) + chunk(b"bext", bext())
            + chunk(b"cue ", marks) + chunk(b"LIST", label) + chunk(b"data", sound))
    return b"RIFF" + struct.pack("<I", len(body)) + body


def marks(path):
    with open(path, "rb") as file:
        data = file.read()
    rows, found = dict(walk(data)), []
    if b"bext" in rows:
        print("time", struct.unpack("<Q", rows[b"bext"][338:346])[0])
    if b"cue " in rows:
        found = [struct.unpack("<I", rows[b"cue "][at + 20:at + 24])[0] for at in range(4, len(rows[b"cue "]), 24)]
    if b"MARK" in rows:
        at = 2
        while at < len(rows[b"MARK"]):
            _, frame, length = struct.unpack(">HIB", rows[b"MARK"][at:at + 7])
            found.append(frame)
            at += 8 + (length | 1) - 1
    if b"mark" in rows:
        found = [int(struct.unpack(">d", rows[b"mark"][at + 4:at + 12])[0]) for at in range(8, len(rows[b"mark"]), 28)]
    for frame in sorted(found):
        print("marker", frame)


MADE = {"make": lambda kind: {"wav": lambda: wav(False), "rf64": lambda: wav(True), "w64": w64, "aiff": aiff, "caf": caf}[kind](),
        "many": many, "last": last, "apart": apart, "sampler": sampler, "impulse": lambda frame: impulse(int(frame))}


def main():
    words = sys.argv[1:]
    if words[0] in ("chunks", "marks"):
        for path in words[1:]:
            if words[0] == "marks" or len(words) > 2:
                sys.stdout = open(path + "." + words[0], "w")
            (show if words[0] == "chunks" else marks)(path)
        return
    while words:
        request, one, other, *words = words
        if request == "with":
            content, *words = words
            path, data = one, plain_wav(chunk(other.encode(), bytes.fromhex(content)))
        elif request == "cut":
            path, data = one, wav(False) + b"long" + struct.pack("<I", int(other)) + b"short"
        else:
            path, data = other, MADE[request](one)
        with open(path, "wb") as file:
            file.write(data)


main()
