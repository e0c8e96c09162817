#!/usr/bin/env python3
"""The page of halo live --web in Chromium: controls are used as by a hand, and what they do is
measured in the recorded sound beside the recorded input.

    web_page.py HALO CLIENT [FOLDER FOR PICTURES]
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import wave

import numpy

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from browser import Browser, until

RATE, SECONDS = 16000, 600
HALO, CLIENT = sys.argv[1:3]
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None
AMPLIFIER = "http://lv2plug.in/plugins/eg-amp"


def element(**data):
    """The path of an element by its data attributes: do, n, ..."""
    return "//*[" + " and ".join(f"@data-{key}='{value}'" for key, value in data.items()) + "]"


class Halo:
    """A stream that records its output and its input."""
    def __init__(self, work, port, record="take", device=("--device", "null:in=in.wav")):
        self.work, self.lines = work, []
        self.rec, self.dry = work / f"{record}.wav", work / f"{record}-dry.wav"
        self.process = subprocess.Popen(
            [HALO, "live", *device, "--block", "256", "--no-feedback-guard",
             "--mask", "half.txt", "--or", "--mask", "quarter.txt", "--lv2",
             f"{AMPLIFIER},gain=0", f"--web=127.0.0.1:{port}", "--plain", "--fade", "0.02",
             "--record", str(self.rec), "--record-dry", str(self.dry), "--force"],
            cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)
        threading.Thread(target=self.read, daemon=True).start()
        self.link = until("the link", self.find_link)

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def find_link(self):
        return re.search(r"http://\S+", "".join(self.lines)) and \
            re.search(r"http://\S+", "".join(self.lines))[0]

    def says(self, text):
        until(f"'{text}'", lambda: text in "".join(self.lines))

    def frames(self):
        """Frames in both recordings so far."""
        sizes = [path.stat().st_size if path.exists() else 0 for path in (self.rec, self.dry)]
        return max(0, min(sizes) - 4096) // 8

    def sounds(self, count):
        """The last `count` frames of output and input, recorded after this call."""
        first = max(self.frames(), 0) + RATE // 2  # what is recorded lags behind what is heard
        until("a recording", lambda: self.frames() >= first + count)
        found = []
        for path in (self.rec, self.dry):
            data = path.read_bytes()
            at = data.index(b"data") + 8
            whole = numpy.frombuffer(data[at:at + (len(data) - at) // 8 * 8], "<f4").reshape(-1, 2)
            found.append(whole[first:first + count].astype(float))
        return found

    def gain(self):
        """The gain from the input to the output in dB, and what is left of the output without it,
        relative to it."""
        out, dry = self.sounds(RATE // 2)
        factor = (out * dry).sum() / (dry * dry).sum()
        left = numpy.sqrt(((out - factor * dry) ** 2).sum() / max((out * out).sum(), 1e-30))
        return 20 * numpy.log10(max(abs(factor), 1e-10)), left

    def gain_at(self, hertz):
        """The gain in dB at a frequency."""
        out, dry = self.sounds(2 * RATE)
        size = 4096
        window = numpy.hanning(size)
        spectra = [numpy.fft.rfft(window * sound[:len(sound) // size * size, 0].reshape(-1, size))
                   for sound in (out, dry)]
        cross = (spectra[0] * spectra[1].conj()).sum(0) / (abs(spectra[1]) ** 2).sum(0)
        return 20 * numpy.log10(abs(numpy.interp(hertz, numpy.fft.rfftfreq(size, 1 / RATE),
                                                 abs(cross))))

    def expect_gain(self, what, db):
        """Until the stream has this gain, and nothing else is in the output."""
        def is_there():
            now, left = self.gain()
            return abs(now - db) < 0.02 and left < 1e-3
        until(f"{what}: a gain of {db} dB", is_there)

    def expect_gain_at(self, what, hertz, db):
        until(f"{what}: {db} dB at {hertz} Hz", lambda: abs(self.gain_at(hertz) - db) < 0.3)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait() == -signal.SIGINT, self.process.returncode

    def replays(self):
        """The replay of the take's log gives the same samples: crossfades and all."""
        again = self.work / "again.wav"
        subprocess.run([HALO, "render", self.dry, again, "--replay", f"{self.rec}.log", "--force"],
                       cwd=self.work, check=True, stdout=subprocess.DEVNULL)
        sounds = [numpy.frombuffer(path.read_bytes()[-frames:], "<f4")
                  for path, frames in ((self.rec, 0), (again, 0))]
        count = min(map(len, sounds)) - RATE
        difference = abs(sounds[0][-count:] - sounds[1][-count:]).max()
        assert difference < 1e-5, f"the replay differs by {difference}"


class PipeWire:
    """A server of its own, with a sink that nobody hears and a program that plays noise."""
    def __init__(self, work):
        self.log = open(work / "pipewire.log", "w", encoding="utf-8")
        folder = work / "config/pipewire/pipewire.conf.d"
        folder.mkdir(parents=True)
        (folder / "sink.conf").write_text("""
context.properties = { default.clock.rate = 48000 default.clock.quantum = 4096 }
context.objects = [ { factory = adapter args = { factory.name = support.null-audio-sink
  node.name = speakers media.class = Audio/Sink audio.position = [ FL FR ]
  priority.session = 3000 priority.driver = 3000 } } ]""")
        self.work, self.processes = work, []
        self.start("pipewire")
        until("PipeWire", (work / "runtime/pipewire-0").exists)
        self.start("dbus-run-session", "wireplumber")
        until("the sink's ports", lambda: "speakers:playback_FR" in self.ports())

    def start(self, *command):
        self.processes.append(subprocess.Popen(command, stdout=self.log, stderr=self.log,
                                               stdin=subprocess.DEVNULL))

    @staticmethod
    def ports():
        return subprocess.run(["pw-link", "-i"], check=False, text=True,
                              capture_output=True).stdout

    def play_to(self, sink):
        until(f"the sink {sink}", lambda: f"{sink}:playback" in self.ports())
        self.start("pw-cat", "-p", str(self.work / "in.wav"))
        for side in ("FL", "FR"):
            until("a link", lambda: subprocess.run(
                ["pw-link", f"pw-cat:output_{side}", f"{sink}:playback_{side}"], check=False,
                stderr=self.log).returncode == 0)

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        self.log.close()


def fill(browser, path, text):
    """Types into a field in place of what is there."""
    browser.type(path, "\ue009a\ue000" + text + "\ue007")  # control a, null, the text, enter


def press(browser, keys):
    """Keys that no field has the focus for."""
    browser.run("document.activeElement.blur()")
    browser.keys(keys)


def masks_and_levels(browser, halo):
    browser.click(element(do="choose", n=2) + "/..")
    halo.expect_gain("mask 2", -12.04)
    browser.click(element(do="choose", n=0) + "/..")
    halo.expect_gain("dry", 0)
    press(browser, "1")
    halo.expect_gain("key 1", -6.02)
    fill(browser, "//input[@id='gain-number']", "-3")
    halo.expect_gain("gain", -9.02)
    press(browser, "]")
    halo.expect_gain("key ]", -8.02)
    browser.click("//button[@id='mute']")
    halo.expect_gain("mute", -200)
    browser.click("//button[@id='mute']")
    halo.expect_gain("sound again", -8.02)
    fill(browser, "//input[@id='ceiling-number']", "-40")
    until("the ceiling", lambda: abs(abs(halo.sounds(RATE)[0]).max() - 0.01) < 1e-6)
    fill(browser, "//input[@id='ceiling-number']", "-1")
    halo.expect_gain("no ceiling", -8.02)


def controls_and_undo(browser, halo):
    fill(browser, "//input[@id='control-2-0-number']", "6")
    halo.expect_gain("a plugin's gain", -2.02)
    bypass = "//label[contains(., 'ypass')]"
    browser.click(bypass)
    halo.expect_gain("bypass", -8.02)
    browser.click("//button[@data-do='undo']")
    halo.expect_gain("undo of the bypass", -2.02)
    press(browser, "u")
    halo.expect_gain("undo of the control", -8.02)


def stages(browser, halo):
    browser.click("//details[@id='add']/summary")
    browser.type("//input[@id='add-search']", "quarter.txt")
    browser.click("//select[@id='add-offer']/option[1]")
    browser.click("//button[@data-do='stage/add']")
    halo.expect_gain("a stage more", -20.06)
    browser.wait(element(stage=3))
    browser.click(element(do="stage/move", n=1, to=2))
    halo.says("the chain has changed")
    browser.wait("//article[@data-stage='2']//b[contains(., 'half')]"
                 "|//article[@data-stage='1']//b[contains(., 'half')]")
    browser.click(element(do="stage/remove", n=1))
    until("two stages", lambda: len(browser.find("//article")) == 2)
    browser.click("//button[@data-do='undo']")
    until("three stages", lambda: len(browser.find("//article")) == 3)
    halo.expect_gain("undo of the removal", -20.06)
    for count in (3, 2):
        browser.click("//button[@data-do='undo']")
        until(f"{count} stages", lambda: len(browser.find("//article")) == count)
    halo.expect_gain("undo of all", -8.02)


def equaliser(browser, halo):
    browser.click("//button[@id='equaliser-add']")
    band = element(do="band", n=1)
    browser.wait(f"//button{band[3:]}")
    for field, value in (("hz", "2000"), ("db", "6"), ("q", "2")):
        fill(browser, element(do="band", n=1, field=field), value)
    halo.expect_gain_at("a band typed", 2000, -2.02)
    halo.expect_gain_at("far from the band", 100, -8.02)
    handle = browser.find(f"//button{band[3:]}")[0]
    browser.ask("POST", "/actions", actions=[{
        "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": handle},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 300, "x": 0, "y": 60, "origin": "pointer"},
            {"type": "pointerUp", "button": 0}]}])
    def value(field):
        return float(browser.run("return document.querySelector(arguments[0]).value",
                                 f"[data-do=band][data-n='1'][data-field={field}]"))
    until("a drag", lambda: value("db") < 3)
    halo.expect_gain_at("a band dragged", value("hz"), value("db") - 8.02)
    browser.picture("equaliser")
    browser.click("//button[@data-do='undo']")
    until("the band as typed", lambda: value("db") == 6)
    browser.click("//button[@id='equaliser-save']")
    path = until("the download", lambda: list(browser.downloads.glob("*.txt")))[0]
    text = path.read_text()
    assert "ON PK Fc 2000 Hz Gain 6 dB Q 2" in text.replace(".00", "").replace(".0 ", " "), text
    subprocess.run([HALO, "mask", "show", path], check=True, stdout=subprocess.DEVNULL)
    browser.click(element(do="stage/remove", n=1))
    halo.expect_gain("without the equaliser", -8.02)


def presets(browser, halo):
    browser.type("//input[@id='preset-name']", "evening")
    browser.click("//button[@data-do='preset/save']")
    until("the preset", lambda: browser.shows("//select[@id='presets']/option[.='evening']"))
    fill(browser, "//input[@id='control-2-0-number']", "-10")
    halo.expect_gain("another state", -18.02)
    browser.click("//button[@data-do='preset']")
    halo.expect_gain("the preset", -8.02)
    browser.click("//button[@data-do='preset/for-device']")
    halo.says("has preset evening until halo ends")


def blind(browser, halo):
    """Versions are as loud as each other: before and after a change of 12 dB."""
    fill(browser, "//input[@id='control-2-0-number']", "-12")
    halo.expect_gain("the second state", -20.02)
    browser.click("//button[@data-do='blind/begin']")
    browser.wait("//button[@data-do='blind/hear' and @data-n='1' and not(@disabled)]")
    browser.click(element(do="blind/hear", n=1))
    halo.expect_gain("version 1", -20.02)
    browser.wait("//button[@data-do='blind/hear' and @data-n='1' and @aria-pressed='true']")
    browser.click(element(do="blind/hear", n=2))
    halo.expect_gain("version 2", -20.02)
    state = browser.run("return JSON.stringify([state.chain.stages, state.chain.choices,"
                        " state.status.out, state.status.chosen, state.status.preset])")
    assert state == "[null,null,null,null,null]", state
    browser.picture("blind")
    browser.click(element(do="blind/keep", n=1))
    halo.says("kept 1")
    order = re.search(r"version (\d) is the state before", "".join(halo.lines))[1]
    halo.expect_gain("the version kept", -8.02 if order == "1" else -20.02)


def two_pages(browser, halo):
    """A second page shows what the first one changes."""
    first = browser.ask("GET", "/window")
    browser.ask("POST", "/window", handle=browser.ask("POST", "/window/new", type="tab")["handle"])
    browser.open(halo.link, 1280)
    browser.wait("//fieldset[@id='all' and not(@disabled)]")
    fill(browser, "//input[@id='gain-number']", "-7")
    second = browser.ask("GET", "/window")
    browser.ask("POST", "/window", handle=first)
    until("both pages agree", lambda: browser.run(
        "return document.getElementById('gain-number').value") in ("-7.0", "-7"))
    browser.ask("POST", "/window", handle=second)
    browser.ask("DELETE", "/window")
    browser.ask("POST", "/window", handle=first)


def session(browser, halo, link):
    """The token leaves the address; scripts cannot read the cookie; without it there is no page."""
    address = browser.run("return location.href + ' ' + document.cookie")
    assert address == link.split("#")[0] + " ", address
    client = [sys.executable, CLIENT]
    assert subprocess.run([*client, link, "gain", "0"], check=False).returncode == 0
    refused = subprocess.run([*client, link, "stage/add", "1", "mask", "/etc/passwd"], check=False,
                             capture_output=True, text=True)
    assert "a page can add only what it was offered" in refused.stderr, refused.stderr
    wrong = link[:-4] + "0000"
    assert subprocess.run([*client, wrong, "gain", "0"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="web-page-"))
    for name in ("CONFIG", "STATE", "RUNTIME"):
        folder = work / name.lower()
        folder.mkdir(mode=0o700)
        os.environ[f"XDG_{name}_HOME" if name != "RUNTIME" else "XDG_RUNTIME_DIR"] = str(folder)
    with wave.open(str(work / "in.wav"), "wb") as file:
        file.setparams((2, 2, RATE, 0, "NONE", ""))
        noise = numpy.random.default_rng(7).integers(-3000, 3000, (SECONDS * RATE, 2))
        file.writeframes(noise.astype("<i2").tobytes())
    for name, tap in (("half", 0.5), ("quarter", 0.25)):
        (work / f"{name}.txt").write_text(f"{tap}\n")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        halo = Halo(work, 0)
        stack.callback(halo.process.kill)
        browser = Browser(work, None, PICTURES)
        stack.callback(browser.close)
        browser.open(halo.link, 1280)
        browser.wait("//fieldset[@id='all' and not(@disabled)]")
        for part in (masks_and_levels, controls_and_undo, stages, equaliser, presets, blind,
                     two_pages):
            try:
                part(browser, halo)
            except AssertionError:
                browser.picture("failed")
                print("".join(halo.lines), browser.run(
                    "return document.getElementById('messages').textContent"), file=sys.stderr)
                raise
            print(part.__name__, flush=True)
        session(browser, halo, halo.link)
        for width in (360, 1280, 2560):
            browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900,
                             deviceScaleFactor=1, mobile=width < 500)
            browser.picture(f"live-{width}")
            wide = browser.run("return document.documentElement.scrollWidth"
                               " - document.documentElement.clientWidth")
            assert wide <= 0, f"at {width} pixels the page is {wide} too wide"
        halo.end()
        halo.replays()
        browser.wait("//p[@id='banner' and contains(., 'Not connected')]")
        port = int(re.search(r":(\d+)/", halo.link)[1])
        again = Halo(work, port, "second")
        stack.callback(again.process.kill)
        browser.wait("//fieldset[@id='all' and not(@disabled)]")
        browser.click(element(do="choose", n=2) + "/..")
        again.expect_gain("after a restart", -12.04)
        again.end()
        if all(map(shutil.which, ("pipewire", "wireplumber", "pw-cat", "pw-link"))):
            pipewire = PipeWire(work)
            stack.callback(pipewire.close)
            sink = Halo(work, port, "sink", ("--driver", "pipewire", "--sink", "Web", "--output",
                                             "speakers"))
            stack.callback(sink.process.kill)
            pipewire.play_to("Web")
            browser.wait("//fieldset[@id='all' and not(@disabled)]")
            masks_and_levels(browser, sink)
            print("PipeWire", flush=True)
            sink.end()


main()
