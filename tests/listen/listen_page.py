#!/usr/bin/env python3
"""The page of a listening test (src/listen/panel/page) in a real browser: Chromium without a screen,
by chromedriver, with a PulseAudio of its own whose sink nobody hears.

    listen_page.py SOURCE [FOLDER FOR PICTURES]
"""
import base64
import contextlib
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import numpy

RATE, FRAMES = 48000, 96000
FADE, PAUSE = 480, 960 # frames of a switch
PATIENCE = 120 # seconds that a busy machine may take for anything
PAGE = pathlib.Path(sys.argv[1]) / "src/listen/panel/page"
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None


def until(what, ready):
    """Waits for ready() to be true, and returns that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = ready()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


# ---- a test's folder: until `halo listen --export` writes it ----

def masked(pcm, mask):
    words, state = numpy.empty((len(pcm) + 3) // 4, "<u4"), mask
    for i in range(len(words)):
        state ^= state << 13 & 0xffffffff
        state ^= state >> 17
        state ^= state << 5 & 0xffffffff
        words[i] = state
    keys = words.view(numpy.uint8)[:len(pcm)]
    return (numpy.frombuffer(pcm, numpy.uint8) ^ keys).tobytes()


def make_test(folder, kind, **more):
    """Writes the folder of a test of noise. Returns the test, and the samples of each slot."""
    draw, samples, slots, trials = numpy.random.default_rng(7), {}, {}, []
    counts = {"mushra": (1, 4), "bs1116": (1, 2), "preference": (0, 2), "abx": (2, 2)}[kind]
    truth = draw.integers(-2**21, 2**21, (3, FRAMES, 2))
    for number in range(4):
        names = [draw.bytes(4).hex() for _ in range(sum(counts))]
        opened, hidden = names[:counts[0]], names[counts[0]:]
        trials.append({"id": draw.bytes(4).hex(), "sound": number % 2, "training": number == 0,
                       "open": opened, "hidden": hidden, "pair": 0, "round": number // 2})
        for place, name in enumerate(opened + hidden):
            choice = place % max(counts[0], 1) if kind == "abx" else place % 3
            pcm = truth[choice].astype("<i4").tobytes()
            pcm = numpy.frombuffer(pcm, numpy.uint8).reshape(-1, 4)[:, :3].tobytes()
            mask = int(draw.integers(1, 2**32))
            samples[name] = truth[choice] / 2**23
            slots.setdefault(number % 2, {})[name] = {
                "mask": mask, "pcm": base64.b64encode(masked(pcm, mask)).decode()}
    test = {"kind": kind, "title": {"en": "Halls of <b>Oslo</b>", "de": "Säle"},
            "instructions": "Listen.\nThen judge.", "languages": ["en", "de"],
            "commitment": "5a" * 32, "rate": RATE, "channels": 2, "remarks": True,
            "before": [{"ask": {"en": "Age", "de": "Alter"}, "name": "age"},
                       {"ask": "Do you make music?", "name": "music", "answers": ["yes", "no"]}],
            "after": [{"ask": "How was it?", "name": "how"}], "listener": None,
            "sounds": [{"frames": FRAMES, "file": f"data/0{i + 1}.js"} for i in range(2)],
            "trials": trials, **more}
    (folder / "data").mkdir(parents=True)
    for name in ("index.html", "page.js"):
        shutil.copy(PAGE / name, folder)
    (folder / "test.js").write_text(f"halo_test({json.dumps(test)});")
    for i, of in slots.items():
        (folder / f"data/0{i + 1}.js").write_text(f"halo_sound({i}, {json.dumps({'slots': of})});")
    return test, samples


# ---- a browser ----

class Browser:
    def __init__(self, work, environment):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       env=environment, text=True)
        for line in self.driver.stdout:
            if "successfully on port" in line:
                self.at = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}"
                break
        threading.Thread(target=self.driver.stdout.read, daemon=True).start()
        arguments = ["--headless=new", f"--user-data-dir={work}/profile", "--disable-dev-shm-usage",
                     "--disable-gpu", "--lang=en"] + ["--no-sandbox"] * (os.geteuid() == 0)
        self.at += "/session/" + self.ask("POST", "/session", capabilities={"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"performance": "ALL"},
            "unhandledPromptBehavior": "ignore"}})["sessionId"]
        self.downloads = work / "downloads"
        self.devtools("Browser.setDownloadBehavior", behavior="allow",
                      downloadPath=str(self.downloads))

    def ask(self, method, path, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.at + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:500]) from None

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, address, width):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800,
                      deviceScaleFactor=1, mobile=width < 500)
        self.ask("POST", "/url", url=address)

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", script=script, args=arguments)

    def find(self, path):
        return self.ask("POST", "/elements", using="xpath", value=path)

    def click(self, path):
        """Clicks as a hand does: the element must be seen, enabled, and not be covered."""
        found = until(path, lambda: self.find(path))[0]
        self.ask("POST", f"/element/{next(iter(found.values()))}/click")

    def type(self, path, text):
        found = until(path, lambda: self.find(path))[0]
        self.ask("POST", f"/element/{next(iter(found.values()))}/value", text=text)

    def keys(self, text):
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": [
            {"type": step, "value": key} for key in text for step in ("keyDown", "keyUp")]}])

    def wait(self, path):
        until(path, lambda: self.find(path))

    def picture(self, name):
        if PICTURES:
            size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
            shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip={
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
            (pathlib.Path(PICTURES) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def answers(self):
        """The one file that the page offers."""
        self.click(button("Download the answers"))
        path = until("the download", lambda: list(self.downloads.glob("*.json")))[0]
        value = json.loads(path.read_text())
        path.unlink()
        return value

    def requests(self):
        """Addresses of all requests since the last call."""
        log = [json.loads(entry["message"])["message"]
               for entry in self.ask("POST", "/se/log", type="performance")]
        return [entry["params"]["request"]["url"] for entry in log
                if entry["method"] == "Network.requestWillBeSent"]

    def close(self):
        with contextlib.suppress(Exception):
            self.ask("DELETE", "")
        self.driver.terminate()
        self.driver.wait()


def button(label):
    return f"//button[text()='{label}']"
