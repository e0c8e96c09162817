#!/usr/bin/env python3
"""halo live --web by its messages (docs/web.md), without a browser: commands, undo, changes of the
chain, the blind comparison, curves, what pages may not do. Levels are those of noise, and at the
end the replay of the take's log has to give the same samples.

    live_web.py HALO CLIENT
"""
import array
import base64
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import wave
from urllib.parse import urlsplit

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from browser import until

HALO, CLIENT = sys.argv[1:]


class Page:
    """A connection. Its thread keeps the last event of each kind."""
    def __init__(self, link):
        url = urlsplit(link)
        self.wire = socket.create_connection((url.hostname, url.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.wire.sendall(
            f"GET /live HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"Cookie: halo_{url.port}={url.fragment}\r\n\r\n".encode())
        self.file = self.wire.makefile("rb")
        while self.file.readline().strip():
            pass
        self.last, self.answers, self.texts, self.id = {}, {}, [], 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while head := self.file.read(2):
            size = head[1]
            if size > 125:
                size = int.from_bytes(self.file.read({126: 2, 127: 8}[size]), "big")
            text = self.file.read(size)
            if head[0] != 0x81:
                continue
            event = json.loads(text)
            self.last[event["event"]] = event
            if event["event"] in ("answer", "curves"):
                self.answers[event["id"]] = event
            if event["event"] == "message":
                self.texts.append(event["text"])

    def write(self, text):
        data = text.encode()
        head = bytes([0x80 | len(data)]) if len(data) < 126 else \
            b"\xfe" + len(data).to_bytes(2, "big")
        self.wire.sendall(b"\x81" + head + bytes(4) + data)

    def ask(self, name, *arguments):
        """Sends a command, and returns the answer."""
        self.id += 1
        self.write(json.dumps({"id": self.id, "do": name, "with": arguments}))
        return until(f"an answer to {name}", lambda: self.answers.get(self.id))

    def do(self, name, *arguments):
        error = self.ask(name, *arguments)["error"]
        assert error is None, error

    def refused(self, reason, name, *arguments):
        error = self.ask(name, *arguments)["error"]
        assert error and reason in error, error

    def burst(self, *commands):
        """Sends commands without waiting for answers in between."""
        for command, *arguments in commands:
            self.id += 1
            self.write(json.dumps({"id": self.id, "do": command, "with": arguments}))
        until("the answers", lambda: all(self.answers.get(self.id - i)
                                         for i in range(len(commands))))

    def is_told(self, text):
        until(text, lambda: any(text in one for one in self.texts))

    def chain(self):
        return self.last["chain"]

    def expect_chain(self, what, check):
        until(what, lambda: check(self.last["chain"]))

    def expect_gain(self, what, db):
        """Until the output is louder than the input by so much."""
        def is_there():
            status = self.last["status"]
            if not status["out"]:
                return False
            levels = [[one["rms_db"] for one in status[side]] for side in ("in", "out")]
            return None not in levels[1] and \
                all(abs(o - i - db) < 0.3 for i, o in zip(*levels))
        until(f"{what}: {db} dB", is_there)


def names(chain):
    return [stage["text"] for stage in chain["stages"] or []]


def commands(page):
    page.expect_gain("mask 1", -6.0)
    page.do("choose", 2)
    page.expect_gain("mask 2", -12.0)
    page.do("gain", 3)
    page.expect_gain("gain", -9.0)
    for value in (2, 1, 0):  # as a slider: one change for undo
        page.do("gain", value)
    page.do("undo")
    page.expect_gain("undo of the gain", -12.0)
    page.do("undo")
    page.expect_gain("undo of the choice", -6.0)
    page.refused("there is nothing to undo", "undo")
    page.refused("the ceiling is from -60 to 0 dB", "ceiling", 1)
    page.refused("there is no such message", "kazoo")
    page.refused("it takes a number of dB", "gain", "loud")
    page.refused("it takes", "gain", True)
    for text in ("", "[]", "{", '{"do":1}', '{"id":1,"do":"gain","with":{}}', '{"do":"gain"}',
                 '{"id":1,"do":"gain","with":[[1]]}', '{"id":0,"do":"gain","do":"dry"}'):
        before = page.answers.pop(0, None), page.answers.pop(1, None)
        page.write(text or " ")
        until(f"an answer to {text}, not {before}",
              lambda: (page.answers.get(0) or page.answers.get(1) or {}).get("error"))


def stages(page):
    page.do("stage/add", 1, "mask", "parametric:PK 1000 0 1")
    page.expect_chain("a stage more", lambda chain: len(chain["stages"]) == 2)
    assert page.chain()["stages"][0]["eq"]["bands"][0]["hz"] == 1000
    assert page.chain()["stages"][1]["chooses"], "the masks to choose from are others now"
    page.do("eq", 1, "PK 2000 0 1", -12)
    page.expect_gain("the equaliser", -18.0)
    page.do("stage/move", 1, 2)
    page.expect_chain("another order", lambda chain: names(chain)[0] == "half.txt")
    page.expect_gain("the same gain", -18.0)
    page.refused("there is no stage 3: there are 2", "stage/move", 3, 1)
    page.refused("there is no stage 7", "stage/remove", 7)
    page.do("stage/remove", 2)
    page.do("undo")  # waits until the removal has entered
    page.expect_gain("undo of the removal", -18.0)
    page.do("undo")
    page.do("undo")
    page.expect_chain("undo of the equaliser",
                      lambda chain: chain["stages"][0]["eq"] and
                      chain["stages"][0]["eq"]["bands"][0]["hz"] == 1000)
    page.do("undo")
    page.expect_chain("undo of all", lambda chain: names(chain) == ["half.txt"])


def what_pages_may_not(page, work):
    offers = {one["text"] for one in page.last["offers"]["masks"]}
    assert offers - {"take.wav", "take-dry.wav"} == {"half.txt", "in.wav", "quarter.txt"}, offers
    (work / "secret").mkdir()
    (work / "secret/mask.txt").write_text("1\n")
    for spec in ("/etc/passwd", "secret/mask.txt", "./half.txt", "half.txt,gain=-6",
                 "combine:half.txt*secret/mask.txt", "response:/etc/passwd",
                 "parametric:PK 1000 0 1,@reads=/etc", "parametric:PK 1000 0 1;/etc/passwd"):
        page.refused("a page can add only what it was offered", "stage/add", 1, "mask", spec)
        page.refused("a page can add only what it was offered", "load", 1, spec)
    page.refused("a page can add only what it was offered", "stage/add", 1, "ladspa", "x.so:x")
    page.refused("a preset cannot be called '../x'", "preset/save", "../x")
    page.do("load", 2, "half.txt")
    until("another mask", lambda: "mask half.txt is loaded" in page.texts)
    page.do("load", 2, "quarter.txt")
    until("the mask again", lambda: "mask quarter.txt is loaded" in page.texts)


def curves(page):
    curve = page.ask("curves", "chain", 1, 1, 1)
    levels = [level for level in curve["magnitude"]["y"] if level is not None]
    assert all(abs(level + 6.02) < 0.01 for level in levels) and len(levels) > 100, levels[:9]
    curve = page.ask("curves", "mask", 2, 2, 2)
    assert abs(curve["magnitude"]["y"][50] + 12.04) < 0.01
    page.refused("", "curves", "chain", 9, 1, 1)
    page.refused("it takes", "curves", "chain", 1, 0, 1)


def bursts(page):
    """What comes faster than it can be done: nothing is lost, and what fails later is told."""
    page.burst(["preset", "nosuch"])
    page.is_told("there is no preset 'nosuch'")
    page.burst(["stage/add", 1, "mask", "parametric:PK 1000 0 1"], ["gain", -10], ["gain", -6],
          ["eq", 1, "PK 2000 0 1", -6], ["choose", 2])
    page.expect_gain("all of a burst", -24.0)
    for _ in range(4):
        page.do("undo")
    page.expect_chain("undo of a burst", lambda chain: names(chain) == ["half.txt"] and
                      not chain["can_undo"] or "half.txt" == names(chain)[0])
    page.do("choose", 1)
    page.do("gain", 0)
    page.expect_gain("as before", -6.0)
    page.do("choose", 1)
    page.expect_gain("mask 1 again", -6.0)  # later commands are another change for undo
    before = len(page.texts)
    page.burst(["stage/add", 1, "mask", "parametric:PK 1 3 1000"])
    page.burst(["stage/add", 1, "mask", "parametric:PK 1000 0 1"], ["blind/begin"], ["undo"],
          ["gain", -3])
    until("refusals", lambda: len([text for text in page.texts[before:]
                                   if "a blind comparison runs" in text]) == 2)
    page.expect_chain("both versions", lambda chain: chain["blind"] and chain["blind"]["ready"])
    page.do("blind/keep", 1)
    told = until("which is which", lambda: [text for text in page.texts[before:]
                                            if "; kept 1" in text])[0]
    if "version 2 is the state before" in told:
        page.do("undo")
    page.expect_chain("no stage more", lambda chain: names(chain) == ["half.txt"])


def changed_files(page, work):
    """A mask's file changes. Afterwards a replay would read the wrong mask."""
    (work / "quarter.txt").unlink()
    page.do("choose", 2)
    page.burst(["reload"])
    page.is_told("cannot open mask quarter.txt")
    (work / "quarter.txt").write_text("0.125\n")
    page.burst(["reload"])
    until("the mask of the file", lambda: page.texts.count("mask quarter.txt is loaded") == 2)
    page.expect_gain("the file's mask", -18.0)
    curve = page.ask("curves", "chain", 2, 1, 1)
    assert abs(curve["magnitude"]["y"][50] + 18.06) < 0.01, "the curve is of the old file"
    (work / "quarter.txt").write_text("0.25\n")
    page.burst(["reload"])
    page.expect_gain("the file as before", -12.0)


def presets(page):
    page.do("preset/save", "loud")
    page.expect_chain("a preset", lambda chain: chain["presets"] == ["loud"])
    page.do("gain", -12)
    page.expect_gain("another gain", -18.0)
    page.do("preset", "loud")
    page.expect_gain("the preset", -6.0)
    page.do("preset/for-device", "loud")
    page.refused("there is no preset", "preset/for-device", "quiet")


def blind(page):
    page.do("choose", 2)
    page.expect_gain("a second state", -12.0)
    before = len(page.texts)
    page.do("blind/begin")
    page.refused("a blind comparison runs", "choose", 1)
    page.refused("a blind comparison runs", "curves", "chain", 1, 1, 1)
    page.expect_chain("both versions", lambda chain: chain["blind"] and chain["blind"]["ready"])
    page.refused("there are versions 1 and 2", "blind/hear", 3)
    for number in (1, 2, 2, 1):
        page.do("blind/hear", number)
        page.expect_chain("a version", lambda chain, n=number: chain["blind"]["heard"] == n)
        status, chain = page.last["status"], page.chain()
        hidden = [chain["stages"], chain["choices"], status["out"], status["chosen"],
                  status["preset"], status["backend"]]
        assert hidden == [None] * 6, hidden
        assert status["gain_db"] == 0, "the matched gain tells which version is heard"
    page.do("blind/keep", 1)
    told = until("which is which", lambda: [text for text in page.texts[before:]
                                            if "; kept 1" in text])[0]
    page.expect_gain("what was kept", -6.0 if "version 1 is the state before" in told else -12.0)
    page.do("choose", 2)
    page.do("choose", 1)
    page.do("blind/begin")
    page.expect_chain("both versions", lambda chain: chain["blind"] and chain["blind"]["ready"])
    page.do("blind/end")
    page.expect_gain("the present state", -6.0)
    page.refused("no blind comparison runs", "blind/end")


def samples(path):
    data = path.read_bytes()
    at = data.index(b"data") + 8
    return array.array("f", data[at:at + (len(data) - at) // 4 * 4])


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="live-web-"))
    os.chdir(work)
    for variable, name in (("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"),
                           ("XDG_RUNTIME_DIR", "runtime"), ("XDG_CACHE_HOME", "cache"),
                           ("LV2_PATH", "none"), ("LADSPA_PATH", "none"), ("CLAP_PATH", "none")):
        (work / name).mkdir(mode=0o700, exist_ok=True)
        os.environ[variable] = str(work / name)
    with wave.open("in.wav", "wb") as file:
        file.setparams((2, 2, 16000, 0, "NONE", ""))
        file.writeframes(bytes(array.array("h", (random.Random(7).choices(range(-3000, 3000),
                                                                          k=2 * 16000 * 400)))))
    (work / "half.txt").write_text("0.5\n")
    (work / "quarter.txt").write_text("0.25\n")
    process = subprocess.Popen(
        [HALO, "live", "--device", "null:in=in.wav", "--block", "256", "--no-feedback-guard",
         "--mask", "half.txt", "--or", "--mask", "quarter.txt", "--web", "127.0.0.1:0", "--plain",
         "--quiet",
         "--fade", "0.02", "--record", "take.wav", "--record-dry", "take-dry.wav"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        link = None
        while not link:
            found = re.search(r"http://\S+", process.stderr.readline())
            link = found and found[0]
        threading.Thread(target=process.stderr.read, daemon=True).start()
        page = Page(link)
        until("the stream", lambda: {"status", "chain", "spectrum"} <= set(page.last))
        commands(page)
        stages(page)
        what_pages_may_not(page, work)
        curves(page)
        presets(page)
        bursts(page)
        blind(page)
        other = Page(link)
        until("the chain for a second page", lambda: "chain" in other.last)
        other.do("mute", 1)
        until("mute on the first page", lambda: page.last["status"]["muted"])
        other.do("mute", False)
        done = subprocess.run([sys.executable, CLIENT, link, "gain", "0"], check=False)
        assert done.returncode == 0
        refused = subprocess.run([sys.executable, CLIENT, link, "gain", "99"], check=False,
                                 stderr=subprocess.PIPE, text=True)
        assert refused.returncode == 1 and "the gain is from -60 to 24 dB" in refused.stderr
        replayed = 2 * page.last["status"]["frames"]
        changed_files(page, work)
        page.do("quit")
        assert process.wait() == 0, process.returncode
        subprocess.run([HALO, "render", "take-dry.wav", "again.wav", "--replay", "take.wav.log"],
                       check=True, stderr=subprocess.DEVNULL)
        take, again = samples(work / "take.wav"), samples(work / "again.wav")
        worst = max(abs(a - b) for a, b in zip(take[:replayed], again))
        assert len(take) == len(again) and worst < 1e-5, (len(take), len(again), worst)
        assert os.stat(work / "state/halo/web-token").st_mode & 0o777 == 0o600
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        os.chdir("/")
        shutil.rmtree(work, ignore_errors=True)


main()
