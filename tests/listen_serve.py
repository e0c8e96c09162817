#!/usr/bin/python3
"""Serves the page of a listening test to clients of several kinds, and looks at what is saved.

  listen_serve.py HALO [slow]      slow: clients that send nothing, which takes 30 s
"""
import contextlib
import hashlib
import http.client
import json
import os
import random
import select
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import time

HALO = sys.argv[1]
SALT = "5a" * 32
PATIENCE = 120
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("wrong:", what, file=sys.stderr)


def text_of(key):
    return json.dumps(key, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def make_page(**more):
    key = {"halo": "key", "kind": "mushra", "title": "Räume", "choices": [{"name": "original"}],
           "sounds": [{"name": "voice", "training": False}],
           "trials": {"r4kq2m9x": {"sound": 0, "slots": {"ab12cd34": 0, "aaaaaaaa": 1}},
                      "s4kq2m9x": {"sound": 0, "slots": {"bbbbbbbb": 0, "cccccccc": 1}}}, **more}
    key["commitment"] = hashlib.sha256(f"{SALT} {text_of(key)}".encode()).hexdigest()
    key["salt"] = SALT
    os.makedirs("page/data", exist_ok=True)
    for name, text in FILES.items():
        with open("page/" + name, "w", encoding="utf-8") as file:
            file.write(text.replace("COMMITMENT", key["commitment"]))
    with open("page.key", "w", encoding="utf-8") as file:
        json.dump(key, file)
    return key


FILES = {"index.html": "<!doctype html>", "page.js": "'use strict';", "page.css": "body{}",
         "test.js": 'halo_test({"commitment":"COMMITMENT"});',
         "data/01.js": "halo_sound(0, {});" + " " * 3000000}


def token(name):
    return hashlib.sha256(f"{SALT} token {name}".encode()).hexdigest()[:32]


def answers(key, number=1, **more):
    return {"halo": "answers", "kind": "mushra", "commitment": key["commitment"],
            "id": f"{number:032x}", "listener": "anna", "language": "en", "complete": True,
            "trials": [{"trial": "r4kq2m9x", "seconds": 41.25, "shown": ["aaaaaaaa", "ab12cd34"],
                        "ratings": [87, 100], "played": [3, 2], "remark": "“ü”"}], **more}


class Server:
    """A running halo; its links are in `links`."""

    def __init__(self, *options, links=1, before=""):
        self.process = subprocess.Popen(
            ["sh", "-c", before + 'exec "$0" listen page --serve "$@"', HALO, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.links = [self.line() for _ in range(links)]
        self.port = int(self.links[0].split("/")[2].rsplit(":", 1)[1])

    def line(self):
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                sys.exit("halo says nothing")
            byte = self.process.stdout.read(1)
            if not byte:
                sys.exit("halo ended: " + self.process.stderr.read().decode())
            text += byte
        return text.decode().rstrip("\n")

    def ask(self, method, path, body=None, tls=None, **headers):
        client = (http.client.HTTPSConnection("localhost", self.port, context=tls, timeout=PATIENCE)
                  if tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))
        client.request(method, path, body, headers)
        reply = client.getresponse()
        content = reply.read()
        client.close()
        return reply, content

    def try_to(self, method, path, **more):
        """Status and content; 0 if the server hangs up."""
        try:
            reply, content = self.ask(method, path, **more)
            return reply.status, content
        except (http.client.HTTPException, OSError):
            return 0, b""

    def post(self, name, said, token_=None, **headers):
        body = json.dumps({"token": token_ or token(name), "name": name, "answers": said})
        reply, content = self.ask("POST", "/answers", body, **headers)
        return reply.status, json.loads(content)

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=PATIENCE)
        check(self.process.returncode == -number, f"Ctrl-C: {self.process.returncode} {err}")
        return err.decode()


def refused(why, *options):
    run = subprocess.run([HALO, "listen", "page", "--serve", *options], capture_output=True,
                         timeout=PATIENCE, text=True, check=False)
    check(run.returncode in (1, 2) and why in run.stderr and run.stderr.count("\n") == 1
          and not run.stdout, f"{options}: {run}")


def saved(name):
    with open(f"page.answers/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def files_are_served(server):
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
    for name, text in list(FILES.items()) + [("", FILES["index.html"])]:
        reply, content = server.ask("GET", "/" + name)
        with open("page/" + (name or "index.html"), "rb") as file:
            check(reply.status == 200 and content == file.read(), f"GET {name}: {reply.status}")
        kind = types[(name or "index.html").rsplit(".", 1)[1]]
        check(reply.getheader("Content-Type") == kind + "; charset=utf-8", f"type of {name}")
        check(reply.getheader("X-Content-Type-Options") == "nosniff", f"sniffing {name}")
        check(reply.getheader("Cache-Control") == "no-store", f"caching {name}")
        check(reply.getheader("Referrer-Policy") == "no-referrer", f"referrer of {name}")
        check("default-src 'self'" in reply.getheader("Content-Security-Policy"), f"CSP of {name}")
        check(len(reply.headers.get_all("Cache-Control")) == 1, f"caching {name} twice")


def other_files_are_not(server):
    with open("page/secret.js", "w", encoding="utf-8") as file:
        file.write(SALT)
    os.symlink("../../page.key", "page/data/02.js")
    os.symlink("../page.key", "page/other")
    os.mkfifo("page/data/03.js")
    os.mkdir("page/data/04.js")
    for path in ("/../page.key", "/%2e%2e/page.key", "/..%2fpage.key", "/data/../../page.key",
                 "/data/..%2f..%2fpage.key", "/data/%2e%2e/%2e%2e/page.key", "//page.key", "/other",
                 "/data/02.js", "/data/03.js", "/data/04.js", "/data/../secret.js", "/secret.js",
                 "/page.key", "/data/", "/data", "/./", "/data/.js", "/data/x/../../secret.js",
                 "/index.html%00.js", "/data/%5c..%5csecret.js", "/../page.answers/anna.json",
                 os.path.abspath("page.key"), "/answers", "/test.js/", "/%2e%2e%2fpage.key"):
        status, content = server.try_to("GET", path)
        check(status in (0, 403, 404) or content == FILES["index.html"].encode(),
              f"GET {path}: {status}")
        check(SALT.encode() not in content, f"GET {path} gives the key")
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "CONNECT"):
        status, _ = server.try_to(method, "/index.html")
        check(status in (0, 405), f"{method}: {status}")
    os.unlink("page/test.js")
    os.symlink("secret.js", "page/test.js")
    check(server.ask("GET", "/test.js")[0].status == 404, "a link is followed")
    os.unlink("page/test.js")
    make_page()


def strangers_are_refused(server, key):
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", "", "localhost:1"):
        check(server.ask("GET", "/", Host=host)[0].status == 403, f"Host {host}")
    for host in (f"localhost:{server.port}", f"[::1]:{server.port}", f"LOCALHOST:{server.port}"):
        check(server.ask("GET", "/", Host=host)[0].status == 200, f"Host {host}")
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}"):
        status, reply = server.post("", answers(key), Origin=origin)
        check(status == 403 and "error" in reply, f"Origin {origin}: {status}")
    upgrade = {"Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    for protocol in ("websocket", "h2c"):
        status, _ = server.try_to("GET", "/", Upgrade=protocol, **upgrade)
        check(status in (0, 400, 403), f"{protocol}: {status}")


def wrong_answers_are_refused(server, key):
    trial = answers(key)["trials"][0]
    for said in (answers(key, commitment="0" * 64), answers(key, kind="abx"),
                 answers(key, halo="key"), answers(key, id="../../x"), answers(key, id=7),
                 answers(key, trials=None), answers(key, trials=[trial, trial]),
                 answers(key, trials=[{**trial, "trial": "unknown0"}]), answers(key, trials=[7]),
                 answers(key, trials=[{**trial, "shown": ["bbbbbbbb", "aaaaaaaa"]}]),
                 answers(key, trials=[{**trial, "shown": ["aaaaaaaa", "aaaaaaaa"]}]),
                 answers(key, trials=[{**trial, "shown": [7]}]),
                 answers(key, trials=[{**trial, "shown": []}]), None, 7, []):
        status, reply = server.post("", said)
        check(status == 400 and list(reply) == ["error"], f"{said}: {status} {reply}")
    for body in ("", "{", "[1]", "7", '"x"', "{}", '{"token": {}}', b"\xff\xfe", "[" * 100000,
                 '{"name": "a", "name": "b"}', '{"name": "\\u0000"}'):
        reply, content = server.ask("POST", "/answers", body)
        check(reply.status in (400, 403, 411, 429) and "error" in json.loads(content),
              f"{body[:20]}: {reply.status}")
    # the server may hang up before all is sent
    for path, body, status in (("/answers", b" " * ((4 << 20) + 1), 413),
                               ("/index.html", "x", 405)):
        got = server.try_to("POST", path, body=body)[0]
        check(got in (0, status), f"POST {path}: {got}")
    check(not os.path.exists("page.answers"), "wrong answers are saved")


def tokens_are_checked(server, key):
    began, seen = time.monotonic(), []
    while set(seen) != {403, 429} and len(seen) < 10000:
        seen.append(server.post("", answers(key), "0" * 32)[0])
    check(set(seen) == {403, 429} and
          seen.count(403) <= 5 * (2 + time.monotonic() - began), f"wrong tokens: {seen}")
    for name, sent in (("anna", token("")), ("", token("anna")), ("", token("")[:31]), ("", ""),
                       ("a/b", token("a/b")), (".a", token(".a")), ("a\n", token("a\n")),
                       ("x" * 101, token("x" * 101)), ("../x", token("../x"))):
        status, _ = server.post(name, answers(key), sent or "x")
        check(status in (403, 429), f"token of {name!r}: {status}")
    check(not os.path.exists("page.answers"), "answers with wrong tokens are saved")


def broken_requests_do_not_stop_it(server, key):
    """Requests that are cut, garbled and joined. libwebsockets hung on some of them."""
    draw = random.Random(4)
    host = f"HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
    body = json.dumps({"token": "0" * 32, "name": "", "answers": answers(key)})
    seeds = [f"GET /data/01.js {host}\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
             f"POST /answers {host}Content-Length: {len(body)}\r\n\r\n{body}",
             f"GET / {host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"]
    inserts = [b"\r\n", b"%00", b"\0", b"Content-Length: -1\r\n", b"A" * 20000,
               b"Transfer-Encoding: chunked\r\n"]
    for _ in range(400):
        text = bytearray("".join(draw.choices(seeds, k=draw.randint(1, 4))).encode())
        for _ in range(draw.randint(0, 6)):
            at = draw.randrange(len(text))
            text[at:at + draw.choice((0, 1, 40))] = draw.choice([*inserts, bytes(text[at:at + 60])])
        with contextlib.suppress(OSError), \
                socket.create_connection(("127.0.0.1", server.port)) as client:
            client.settimeout(0.02)
            for at in range(0, len(text), 100):
                client.sendall(text[at:at + 100])
            client.recv(1 << 16)
        check(server.ask("GET", "/")[0].status == 200, f"{bytes(text)}: the server hangs")


def answers_are_saved(server, key):
    for name, number in (("", 1), ("", 2), ("Jörg & Ко", 3)):
        said = answers(key, number, listener=name or "who")
        check(server.post(name, said, Origin=f"http://127.0.0.1:{server.port}") ==
              (200, {"saved": True}), f"answers of {name!r}")
        file = name or said["id"]
        check(saved(file) == {**said, "key": key}, f"{file} is what was posted")
        check(server.line() == f"{name or 'who'}: answers to 1 trial, saved as "
              f"page.answers/{file}.json", "a line for saved answers")
        check(stat.S_IMODE(os.stat(f"page.answers/{file}.json").st_mode) == 0o600, "permissions")
        before = saved(file)
        status, reply = server.post(name, answers(key, number, language="de"))
        check(status == 409 and "error" in reply and saved(file) == before, f"twice: {status}")


def slow_clients_do_not_block():
    key = make_page()
    server = Server()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    for slow in idle[:50]:
        slow.sendall(b"POST /answers HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99\r\n\r\n{"
                     % server.port)
    check(server.post("late", answers(key, 9))[0] == 200, "100 idle clients")
    check(sum(slow.recv(1) == b"" for slow in idle[:64]) == 64, "slow clients stay")
    server.end()


def all_kinds():
    key = make_page()
    os.umask(0)
    server = Server()
    check(server.links == [f"http://127.0.0.1:{server.port}/#listener=&token={token('')}"], "link")
    files_are_served(server)
    other_files_are_not(server)
    strangers_are_refused(server, key)
    wrong_answers_are_refused(server, key)
    broken_requests_do_not_stop_it(server, key)
    tokens_are_checked(server, key)
    answers_are_saved(server, key)
    check(server.end() == "", "an error at the end")
    check(len(os.listdir("page.answers")) == 3, f"files: {os.listdir('page.answers')}")


def named_listeners():
    key = make_page(listeners=["bea", "Zoë/"[:3]])
    server = Server("--json", links=2)
    links = [json.loads(link)["link"] for link in server.links]
    check([link.split("#")[1] for link in links] ==
          [f"listener=bea&token={token('bea')}", f"listener=Zo%C3%AB&token={token('Zoë')}"],
          f"links {links}")
    check(server.post("", answers(key))[0] == 403, "a listener without a name")
    check(server.post("anna", answers(key))[0] == 403, "a listener of another list")
    check(server.post("bea", answers(key, listener="anna"))[0] == 200, "bea")
    check(json.loads(server.line()) == {"saved": "page.answers/bea.json", "listener": "bea",
                                        "trials": 1}, "--json")
    check(saved("bea")["listener"] == "bea", "the name of the link counts")
    server.end(signal.SIGTERM)
    server = Server("--listener", "cid", "--web", "localhost:0")
    check(f"listener=cid&token={token('cid')}" in server.links[0], f"{server.links}")
    check(server.post("bea", answers(key, 7))[0] == 403, "--listener")
    server.end()


def full_disk():
    key = make_page()
    server = Server(before="trap '' XFSZ; ulimit -f 1; ")  # 512 bytes or 1 KiB
    status, reply = server.post("dan", answers(key, pad="x" * 100000))
    check(status == 500 and "error" in reply, f"a full disk: {status}")
    check(not os.path.exists("page.answers/dan.json"), "half of the answers")
    check(server.ask("GET", "/")[0].status == 200, "no answers after a full disk")
    check("page.answers/dan.json: File too large" in server.end(), "no message of a full disk")
    check([name for name in os.listdir("page.answers") if "dan" in name] == [], "rest of answers")


def encrypted():
    key = make_page()
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
                           "tls.key", "-out", "tls.pem", "-days", "2", "-subj", "/CN=localhost",
                           "-addext", "subjectAltName=DNS:localhost"], capture_output=True,
                          check=False)
    if made.returncode != 0:
        print("not run: TLS, for want of openssl")
        return
    server = Server("--web", "0.0.0.0:0", "--tls-certificate", "tls.pem", "--tls-key", "tls.key")
    check(server.links[0].startswith(f"https://{socket.gethostname()}:"), f"{server.links}")
    tls = ssl.create_default_context(cafile="tls.pem")
    reply, content = server.ask("GET", "/data/01.js", tls=tls)
    check(reply.status == 200 and content == FILES["data/01.js"].encode(), "a file by HTTPS")
    check(server.post("eve", answers(key), tls=tls)[0] == 200, "answers by HTTPS")
    server.line()
    check(server.try_to("GET", "/")[0] != 200, "HTTP at an HTTPS port")
    server.end()
    refused("tls.none", "--tls-certificate", "tls.pem", "--tls-key", "tls.none")
    refused("need each other", "--tls-certificate", "tls.pem")
    refused("cannot use the certificate tls.key", "--tls-certificate", "tls.key", "--tls-key",
            "tls.key")


def refusals():
    make_page()
    for address in ("0.0.0.0:0", "[::]:0"):
        refused("can be reached from other machines", "--web", address)
    for address in ("127.0.0.1", ":80", "::1:80", "127.0.0.1:x", "127.0.0.1:65536"):
        refused("--web takes", "--web", address)
    refused("cannot listen on", "--web", "nowhere.invalid:0")
    server = Server()
    refused("Address already in use", "--web", f"127.0.0.1:{server.port}")
    server.end()
    for name in ("a/b", ".a", "x" * 101, "a\tb"):
        refused("cannot be a listener", "--listener", name)
    refused("stand in its test file", "--abx", "3")
    refused("use one of", "--verify")
    os.rename("page/test.js", "test.js")
    with open("page/test.js", "w", encoding="utf-8") as file:
        file.write("halo_test({});")
    refused("is of another test")
    os.replace("test.js", "page/test.js")
    with open("page.key", encoding="utf-8") as file:
        text = file.read()
    for other, why in ((text.replace("voice", "noise"), "was changed"), (text[:99], "line"),
                       ("{}", "is not the key")):
        with open("page.key", "w", encoding="utf-8") as file:
            file.write(other)
        refused(why)
    os.unlink("page.key")
    refused("cannot read page.key")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in ([slow_clients_do_not_block] if sys.argv[2:] else
                 [all_kinds, named_listeners, full_disk, encrypted, refusals]):
        print(test.__name__, flush=True)
        test()
    os.chdir("/")
sys.exit(bool(failures))
