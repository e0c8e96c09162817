#!/usr/bin/python3
"""Sessions and WebSockets of src/web, by clients of several kinds.

  web_sockets.py WEB_ECHO [slow]      slow: clients that read nothing, which takes 30 s; a minute
"""
import base64
import contextlib
import hashlib
import http.client
import json
import os
import random
import select
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ECHO = sys.argv[1]
TOKEN = "0123456789abcdef0123456789abcdef"
PATIENCE = 120
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("wrong:", what, file=sys.stderr)


def frame(payload, opcode=TEXT, final=True, masked=True, length=None, bits=0):
    """A frame of a client; `length` is what it says, if that is not the truth."""
    payload = payload.encode() if isinstance(payload, str) else payload
    said = len(payload) if length is None else length
    head = bytes([final << 7 | bits | opcode])
    mask = masked << 7
    if said < 126:
        head += bytes([mask | said])
    elif said < 65536:
        head += struct.pack("!BH", mask | 126, said)
    else:
        head += struct.pack("!BQ", mask | 127, said)
    key = b"\x5a\x01\x7f\xc3" if masked else bytes(4)
    return head + (key if masked else b"") + bytes(b ^ key[i % 4] for i, b in enumerate(payload))


class Client:
    """A WebSocket; `status` is that of the answer, 0 if the server hangs up."""

    def __init__(self, server, tls=None, receive=None, then=b"", **headers):
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.port))
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.sendall(server.handshake(**headers) + then)
        self.buffer, self.gone = b"", False
        head = self.until(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0
        self.head = head.decode()

    def more(self):
        try:
            bytes_ = self.socket.recv(1 << 16)
        except OSError:
            bytes_ = b""
        self.buffer += bytes_
        return bytes_

    def until(self, end):
        while end not in self.buffer:
            if not self.more():
                return b""
        head, self.buffer = self.buffer.split(end, 1)
        return head

    def take(self, count):
        while len(self.buffer) < count:
            if not self.more():
                return None
        bytes_, self.buffer = self.buffer[:count], self.buffer[count:]
        return bytes_

    def receive(self):
        """Opcode and payload; CLOSE and b"" if the server hangs up, but only once."""
        head = self.take(2)
        if head is None and self.gone:
            raise EOFError("nobody is there")
        self.gone = head is None
        if self.gone:
            return CLOSE, b""
        size = head[1]
        if size > 125:
            size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
        return head[0] & 15, self.take(size)

    def send(self, *arguments, **more):
        with contextlib.suppress(OSError):  # the server may hang up before all is sent
            self.socket.sendall(frame(*arguments, **more))

    def say(self, text):
        self.send(text)
        return self.receive()[1].decode()

    def closed(self):
        """The status with which the server closes; 0: it hangs up."""
        opcode, payload = self.receive()
        while opcode != CLOSE:
            opcode, payload = self.receive()
        return int.from_bytes(payload[:2], "big")

    def end(self):
        self.socket.close()


class Server:
    def __init__(self, tick=0, address="127.0.0.1:0", *tls):
        self.process = subprocess.Popen([ECHO, address, TOKEN, str(tick), *tls], bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.link = self.line()
        self.port = int(self.link.rstrip("/").rsplit(":", 1)[1])

    def line(self):
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                sys.exit("the server says nothing")
            byte = self.process.stdout.read(1)
            if not byte:
                sys.exit("the server ended")
            text += byte
        return text.decode().rstrip("\n")

    def handshake(self, path="/live", method="GET", cookie=None, drop=(), **headers):
        lines = {"Host": f"127.0.0.1:{self.port}", "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                 "Cookie": f"halo_{self.port}={TOKEN}" if cookie is None else cookie, **headers}
        return (f"{method} {path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items() if name not in drop) +
            "\r\n").encode()

    def join(self, **more):
        client = Client(self, **more)
        check(client.status == 101, f"a client cannot join: {client.status}")
        check(self.line().startswith("joined "), "joined")
        return client

    def ask(self, method, path, body=None, tls=None, **headers):
        client = (http.client.HTTPSConnection("localhost", self.port, context=tls, timeout=PATIENCE)
                  if tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))
        client.request(method, path, body, headers)
        reply = client.getresponse()
        content = reply.read()
        client.close()
        return reply, content

    def session(self, token, **more):
        return self.ask("POST", "/session", json.dumps({"token": token}), **more)[0]

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read().decode().split("\n")
        check(self.process.wait(PATIENCE) == 0, f"the end: {self.process.returncode}")
        return rest


def pages(server):
    for path, kind, text in (("/", "html", b"<!doctype html>"), ("/page.js", "javascript",
                                                                 b"'use strict';")):
        reply, content = server.ask("GET", path)
        check((reply.status, content) == (200, text), f"GET {path}: {reply.status}")
        check(reply.getheader("Content-Type") == f"text/{kind}; charset=utf-8", f"type of {path}")
        policy = reply.getheader("Content-Security-Policy")
        check("default-src 'self'" in policy and "unsafe" not in policy, f"CSP: {policy}")
    for path in ("/page.j", "/page.js/", "/x/../page.js.", "/../etc/passwd", "/session",
                 "/index.html%00", "/%2e%2e/%2e%2e/etc/passwd", "/page.js%00"):
        try:
            status = server.ask("GET", path)[0].status
        except (http.client.HTTPException, OSError):
            status = 0
        check(status in (0, 403, 404), f"GET {path}: {status}")


def strangers_cannot_join(server):
    right = f"halo_{server.port}={TOKEN}"
    for cookie in ("", "x=1", right[:-1], right + "0", right[:-1] + "e", right[1:], TOKEN, "x" + right,
                   f"halo_{server.port}=", f"halo_{server.port + 1}={TOKEN}", right.upper(),
                   f"a={right}", "x" * 15000):
        check(Client(server, cookie=cookie).status == 403, f"cookie {cookie[:60]}")
    check(Client(server, drop=["Cookie"]).status == 403, "no cookie")
    for name, value in (("Origin", "http://evil.example"), ("Origin", "null"),
                        ("Origin", f"https://127.0.0.1:{server.port}"), ("Host", "127.0.0.1"),
                        ("Origin", f"http://localhost:{server.port}"),
                        ("Host", f"evil.example:{server.port}")):
        check(Client(server, **{name: value}).status == 403, f"{name} {value}")
    for more in ({"path": "/"}, {"path": "/live/"}, {"path": "/liv"}, {"path": "/session"},
                 {"method": "POST"}, {"method": "PUT"}, {"Upgrade": "h2c"}, {"Upgrade": "x"},
                 {"drop": ["Sec-WebSocket-Key"]}, {"Sec-WebSocket-Protocol": "other"},
                 {"drop": ["Host"]}, {"drop": ["Connection"]}, {"method": "CONNECT"}):
        client = Client(server, **more)
        check(client.status in (0, 400, 403, 404, 405), f"{more}: {client.status}")
    for path, status in (("/", 200), ("/live", 403), ("/none", 404)):
        check(server.ask("GET", path, "a body")[0].status == status, f"GET {path} with a body")
    for cookie, status in ((right, 426), ("x=1", 403)):
        check(server.ask("GET", "/live", Cookie=cookie)[0].status == status, f"GET /live: {status}")


def friends_can_join(server):
    for more in ({}, {"cookie": f"a=b; halo_1={TOKEN[::-1]}; halo_{server.port}={TOKEN}; c"},
                 {"Origin": f"http://127.0.0.1:{server.port}"},
                 {"Origin": f"http://localhost:{server.port}", "Host": f"localhost:{server.port}"},
                 {"Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits"}):
        client = server.join(**more)
        key = hashlib.sha1(b"dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        check(base64.b64encode(key).decode() in client.head, "Sec-WebSocket-Accept")
        check("xtensions" not in client.head, "an extension")
        check(client.say("häl") == "1 häl" and client.say("o") == "2 o", f"{more}: an answer")
        client.send(struct.pack("!H", 1000), CLOSE)
        check(client.closed() == 1000, "close")
        check(server.line().startswith("left "), "left")
    client = server.join(then=frame("early"))
    check(client.receive() == (TEXT, b"1 early"), "a message with the request")
    for size in (4096, 1, 126, 125, 127):
        check(client.say("x" * size).endswith("x" * size), f"a message of {size} bytes")
    for size in (200, 70000, 1000000):
        check(len(client.say(f"size {size}")) == size, f"an answer of {size} bytes")
    for part in ("one", " two", ""):
        client.send(part, opcode=TEXT if part == "one" else 0, final=False)
    client.send("payload", PING)
    check(client.receive() == (PONG, b"payload"), "a ping between fragments")
    client.send(" three", opcode=0)
    check(client.receive()[1].endswith(b" one two three"), "fragments")
    for _ in range(3):
        other = server.join()
        other.send("")
        check(other.receive() == (TEXT, b"1 "), "an empty message")
        server.process.stdin.write(b"\n")
        said = client.receive()
        check(said[1].startswith(b"said ") and said == other.receive(), f"a wake: {said}")
        other.end()
        server.line()
    client.end()
    server.line()


def attacks_close_the_attacker_alone(server):
    friend = server.join()
    text = "é".encode()
    for what, status, sent in (
            ("binary", 1003, frame("x", BINARY)),
            ("binary fragments", 1003, frame("x", BINARY, final=False) + frame("x", 0)),
            ("4097 bytes", 1009, frame("x" * 4097)), ("64 kB", 1009, frame("x" * 70000)),
            ("a huge frame", 1009, frame("x" * 5000, length=1 << 62)),
            ("large fragments", 1009, frame("x" * 4000, final=False) + frame("x" * 97, 0)),
            ("not UTF-8", 1007, frame(b"\xff\xfe")), ("half a letter", 1007, frame(text[:1])),
            ("a surrogate", 1007, frame(b"\xed\xa0\x80")),
            ("halves apart", 1007, frame(text[:1], final=False) + frame("a", 0)),
            ("reserved bits", 1002, frame("x", bits=0x40)), ("opcode 3", 1002, frame("x", 3)),
            ("a part of nothing", 1002, frame("x", 0)), ("opcode 11", 1002, frame("x", 11)),
            ("a message in a message", 1002, frame("x", final=False) + frame("y")),
            ("a ping in parts", 1002, frame("x", PING, final=False)),
            ("200 parts", 1008, frame("", final=False) + 500 * frame("", 0, final=False)),
            ("a flood", 1008, 500 * frame("x")),
            ("a large ping", 0, frame("x" * 200, PING)), ("no such length", 0,
                                                          frame("x" * 70000, length=1 << 63))):
        client = server.join()
        with contextlib.suppress(OSError):
            client.socket.sendall(sent)
        got = client.closed()
        check(got in (status, 0 if len(sent) > 5000 else status), f"{what}: closed with {got}")
        check(server.line().startswith("left "), f"{what}: left")
        check(friend.say(what).endswith(what), f"{what}: the friend hears nothing")
        client.end()
    burst = server.join()
    burst.socket.sendall(200 * frame("x"))
    while not burst.receive()[1].startswith(b"200 "):
        pass
    unmasked = server.join(then=frame("plain", masked=False))
    check(unmasked.receive()[0] in (TEXT, CLOSE), "no mask")
    for client in (burst, unmasked):
        client.end()
        server.line()
    for sent in (b"", frame("x", final=False), frame("hello")[:4], frame("x" * 4000)[:900],
                 frame(b"", CLOSE), frame(b"\x03", CLOSE), frame(b"\0\0", CLOSE)):
        client = server.join(then=sent)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.end()  # as when the machine crashes
        check(server.line().startswith("left "), f"{sent[:9]}: left")
    check(friend.say("still").endswith(" still"), "the friend at the end")
    friend.end()
    server.line()


def broken_requests_do_not_stop_it(server):
    """Requests and frames that are cut, garbled and joined."""
    draw = random.Random(5)
    seeds = [server.handshake(), server.handshake(cookie="x=1"), server.handshake(path="/"),
             b"POST /session HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 2\r\n\r\n{}"
             % server.port]
    frames = [frame("x"), frame("y" * 200), frame("z", final=False), frame("p", PING),
              frame(b"\x03\xe8", CLOSE), frame("b", BINARY), frame("u", masked=False)]
    inserts = [b"\r\n", b"\0", b"\xff" * 20, b"A" * 20000, b"Content-Length: 9\r\n",
               b"Upgrade: h2c\r\n", b"Transfer-Encoding: chunked\r\n"]
    joined = 0
    for _ in range(400):
        text = bytearray(b"".join(draw.choices(seeds, [6, 1, 1, 1], k=draw.randint(1, 2)) +
                                  draw.choices(frames, k=draw.randint(0, 6))))
        for _ in range(draw.randint(0, 4)):
            at = draw.randrange(len(text))
            text[at:at + draw.choice((0, 1, 40))] = draw.choice([*inserts, bytes(text[at:at + 60])])
        client = socket.create_connection(("127.0.0.1", server.port))
        with contextlib.suppress(OSError):  # the server may hang up before all is sent
            for at in range(0, len(text), 100):
                client.sendall(text[at:at + 100])
        check(server.ask("GET", "/")[0].status == 200, f"{bytes(text)}: the server hangs")
        with contextlib.suppress(OSError):
            joined += b" 101 " in client.recv(1 << 16, socket.MSG_DONTWAIT)
        client.close()
    check(joined > 40, f"only {joined} garbled requests joined")


def tokens_are_checked(server):
    reply, content = server.ask("POST", "/session", json.dumps({"token": TOKEN}),
                                Origin=f"http://127.0.0.1:{server.port}")
    check((reply.status, json.loads(content)) == (200, {"session": True}), f"{content}")
    cookie = reply.getheader("Set-Cookie")
    check(cookie == f"halo_{server.port}={TOKEN}; HttpOnly; SameSite=Strict; Path=/", cookie)
    check(server.session(TOKEN, Origin="http://evil.example").status == 403, "Origin")
    check(server.session(TOKEN, Host="evil.example").status == 403, "Host")
    check(server.ask("POST", "/session", b" " * 2000)[0].status == 413, "a large text")
    for path in ("/", "/live", "/answers", "/session/"):
        check(server.ask("POST", path, "{}")[0].status == 405, f"POST {path}")
    wrong = (TOKEN[:-1], TOKEN + "0", "", None, 7, [TOKEN], TOKEN.upper(), "0" * 32, "\0")
    for token in wrong:
        reply = server.session(token)
        check(reply.status == 403 and not reply.getheader("Set-Cookie"), f"{token}: {reply.status}")
    check(server.ask("POST", "/session", "{")[0].status == 403, "damaged JSON")
    for token in ("0" * 32, TOKEN):
        reply = server.session(token)
        check(reply.status == 429 and not reply.getheader("Set-Cookie"), f"the 11th: {reply.status}")
    server.join().end()  # those with a cookie are not shut out


def idle_clients_cost_nothing(slow):
    """63 clients read nothing; one reads a text every 20 ms."""
    server = Server(20)
    reader = server.join()
    idle = [server.join(receive=4096, then=frame("stream 60000")) for _ in range(63)]
    reader.say("stream 1000")
    late = []
    for _ in range(100):
        said = reader.receive()[1].split()[0]
        late.append(time.clock_gettime(time.CLOCK_MONOTONIC) - 0.02 * int(said))
    check(statistics.median(late) < 0.25, f"late by {statistics.median(late)} s")
    for number in range(1, 64):
        reader.send(f"frames {number}")
        words = reader.receive()[1].split()
        while len(words) != 2 or words[1].startswith(b"x"):
            words = reader.receive()[1].split()
        check(int(words[1]) <= 20, f"client {number} was given {words[1]} texts")
    if slow:
        left = {server.line() for _ in range(63)}
        check(left == {f"left {number}" for number in range(1, 64)}, f"{left}")
        check(reader.say("there") != "", "the reader was disconnected, too")
    rest = server.end()
    check(rest.count("left 0") == 1, f"the last clients: {rest}")
    check(len(idle) == 63, "idle clients")


def limit_ends(_):
    server = Server()
    while server.session("0" * 32).status != 429:
        pass
    while server.session(TOKEN).status != 200:
        time.sleep(1)
    check(server.session("0" * 32).status == 403, "a new minute")
    server.end()


def half_handshakes(_):
    server = Server()
    halves = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    for half in halves:
        half.sendall(server.handshake()[:60])
    server.join().end()  # waits until the first are disconnected
    check(all(half.recv(1) == b"" for half in halves[:64]), "half a handshake stays")
    server.end()


def all_kinds(_):
    server = Server()
    pages(server)
    strangers_cannot_join(server)
    friends_can_join(server)
    attacks_close_the_attacker_alone(server)
    tokens_are_checked(server)
    server.end()
    server = Server()
    broken_requests_do_not_stop_it(server)
    server.end()


def encrypted(_):
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                           "tls.key", "-out", "tls.pem", "-days", "2", "-subj", "/CN=localhost",
                           "-addext", "subjectAltName=DNS:localhost"], capture_output=True,
                          check=False)
    if made.returncode != 0:
        print("not run: TLS, for want of openssl")
        return
    server = Server(20, "0.0.0.0:0", "tls.pem", "tls.key")
    tls = ssl.create_default_context(cafile="tls.pem")
    check(server.link.startswith("https://"), server.link)
    cookie = server.session(TOKEN, tls=tls).getheader("Set-Cookie")
    check(cookie.endswith("; Path=/; Secure"), cookie)
    host = f"localhost:{server.port}"
    for origin, status in ((f"http://{host}", 403), (f"https://{host}", 101)):
        client = Client(server, tls=tls, Host=host, Origin=origin)
        check(client.status == status, f"wss from {origin}: {client.status}")
    server.line()
    check(len(client.say("size 500000")) == 500000, "an answer by wss")
    check(client.say("stream 3000") == "2 stream 3000", "the second answer by wss")
    check(all(len(client.receive()[1]) == 3000 for _ in range(20)), "a stream by wss")
    server.end()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    slow_ = bool(sys.argv[2:])
    for test in ([idle_clients_cost_nothing, limit_ends, half_handshakes] if slow_ else
                 [all_kinds, encrypted, idle_clients_cost_nothing]):
        print(test.__name__, flush=True)
        test(slow_)
    os.chdir("/")
sys.exit(bool(failures))
