#!/usr/bin/env python3
"""The page of a listening test (src/listen/panel/page) in a real browser: Chromium without a
screen, by chromedriver, with a PulseAudio of its own whose sink nobody hears.

    listen_page.py HALO [FOLDER FOR PICTURES]
"""
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
import wave

import numpy

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from browser import Browser, until

RATE, FRAMES = 48000, 96000
FADE, PAUSE = 480, 960 # A switch fades and pauses for so many frames.
HALO = sys.argv[1]
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None


# ---- a test's folder ----

def write_noise(path, draw):
    """Returns the samples as the page has them: with a fade at both ends."""
    whole = draw.integers(-2**21, 2**21, (FRAMES, 2)).astype("<i4")
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 3, RATE, 0, "NONE", ""))
        file.writeframes(whole.view("u1").reshape(-1, 4)[:, :3].tobytes())
    end = numpy.arange(FRAMES) / (0.005 * RATE)
    fade = 0.5 - 0.5 * numpy.cos(numpy.pi * numpy.minimum(1, numpy.minimum(end, end[::-1])))
    return whole / 2**23 * fade[:, None]


def make_test(folder, kind, trials=3):
    """Writes the folder of a test of noise: a training, then `trials`. Returns the test, and the
    samples of each slot."""
    draw, samples = numpy.random.default_rng(list(kind.encode())), {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    choices = "abc" if kind == "mushra" else "a" if kind == "bs1116" else "ab"
    if kind in ("mushra", "bs1116"):
        choices += "r"
    truth = [{name: write_noise(folder.parent / f"{kind}{sound}-{name}.wav", draw)
              for name in choices} for sound in range(2)]
    about = {"test": kind, "title": {"en": "Halls of <b>Oslo</b>", "de": "Säle"},
             "instructions": "Listen.\nThen judge.", "languages": ["en", "de"], "remarks": True,
             "before": [{"ask": {"en": "Age", "de": "Alter"}, "name": "age"},
                        {"ask": "Do you make music?", "name": "music", "answers": ["yes", "no"]}],
             "after": [{"ask": "How was it?", "name": "how"}], "trials": trials,
             "match": "none", "align": False,
             "sounds": [{"file": f"{kind}0-a.wav", "name": f"{kind}0", "training": True},
                        {"file": f"{kind}1-a.wav", "name": f"{kind}1"}],
             "choices": [{"name": name, "file": f"{{sound}}-{name}.wav"} for name in choices]}
    if "r" in choices:
        about["reference"] = "r"
    if kind == "mushra":
        about["anchors"] = []
    path = folder.with_suffix(".yml")
    path.write_text(json.dumps(about)) # JSON is YAML.
    subprocess.run([HALO, "listen", path, "--export", folder], check=True)
    script = (folder / "test.js").read_text()
    test = json.loads(script[len("halo_test("):script.rindex(")")])
    key = json.loads(folder.with_suffix(".key").read_text())
    for one in key["trials"].values():
        for slot, choice in one["slots"].items():
            samples[slot] = truth[one["sound"]][key["choices"][choice]["name"]]
    return test, samples


# ---- a browser ----

def button(label):
    return f"//button[text()='{label}']"


class ListeningBrowser(Browser):
    def stored(self):
        """What the page has in store for a reload."""
        return json.loads(self.run(
            "return localStorage[Object.keys(localStorage).find(key => key.startsWith('halo '))]"
            " ?? 'null'"))

    def answers(self):
        """The one file that the page offers."""
        self.click(button("Download the answers"))
        path = until("the download", lambda: list(self.downloads.glob("*.json")))[0]
        value = json.loads(path.read_text())
        path.unlink()
        return value


# ---- sound ----

class Loudspeaker:
    """A PulseAudio of its own with one sink of 32-bit floats."""
    def __init__(self, work):
        self.environment = {**os.environ, "HOME": str(work), "XDG_RUNTIME_DIR": str(work),
                            "PULSE_RUNTIME_PATH": f"{work}/pulse",
                            "PULSE_SERVER": f"unix:{work}/native",
                            "PULSE_CONFIG": f"{work}/daemon.conf"}
        (work / "pulse").mkdir(mode=0o700)
        (work / "daemon.conf").write_text( # Chromium takes this for the rate of the sink.
            f"default-sample-rate = {RATE}\ndefault-sample-format = float32le\n")
        self.server = subprocess.Popen(
            ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--disallow-exit",
             "--use-pid-file=no", "--realtime=no", "--high-priority=no",
             "-L", f"module-native-protocol-unix socket={work}/native",
             "-L", f"module-null-sink sink_name=loudspeaker rate={RATE} format=float32le"],
            env=self.environment, stderr=subprocess.DEVNULL)
        until("PulseAudio", lambda: subprocess.run(
            ["pactl", "info"], env=self.environment, capture_output=True).returncode == 0)

    @contextlib.contextmanager
    def recording(self, path):
        with open(path, "wb") as file:
            recorder = subprocess.Popen(
                ["parec", "--raw", "--format=float32le", f"--rate={RATE}", "--channels=2",
                 "--device=loudspeaker.monitor"], env=self.environment, stdout=file)
        try:
            yield
        finally:
            recorder.terminate()
            recorder.wait()

    def close(self):
        self.server.terminate()
        self.server.wait()


class Served(contextlib.AbstractContextManager):
    """A server of a folder. Takes answers, and replies with `replies` in turn."""
    def __init__(self, folder):
        owner, self.posts, self.replies = self, [], []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_POST(self):
                owner.posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                status, said = owner.replies.pop(0) if self.path == "/answers" else (404, {})
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def until_recorded(path, seconds):
    size = path.stat().st_size
    until("the recorder", lambda: path.stat().st_size > size + seconds * RATE * 8)


def residual(heard, model):
    """Power of what the model with a fitted gain does not explain, in dB."""
    gain = (heard * model).sum() / (model ** 2).sum()
    return 10 * numpy.log10(((heard - gain * model) ** 2).sum() / (heard ** 2).sum() + 1e-30)


def place_of(heard, sound):
    """The frame of the repeated sound with which `heard` begins."""
    padded = numpy.zeros(FRAMES)
    padded[:len(heard)] = heard[:, 0]
    found = numpy.fft.irfft(numpy.fft.rfft(sound[:, 0]) * numpy.fft.rfft(padded).conj(), FRAMES)
    return int(found.argmax())


def switch_residual(heard, silence, before, after, again):
    """Compares a switch with its one form, in step (or, `again`, from the beginning)."""
    best = 0
    for begin in range(silence - FADE - 2, silence - FADE + 3):
        frame = numpy.arange(begin - RATE // 10, begin + PAUSE + RATE // 10)
        place = place_of(heard[frame[0]:begin], before) + frame - frame[0]
        later = frame - begin
        fall = numpy.clip(1 - later / FADE, 0, 1)
        rise = numpy.clip((later - FADE - PAUSE) / FADE, 0, 1)
        coming = later - FADE - PAUSE if again else place
        model = (before[place % FRAMES] * fall[:, None] + after[coming % FRAMES] * rise[:, None])
        best = min(best, residual(heard[frame], model))
    return best


def silences(heard):
    """First frames of the pauses after the first sound."""
    loud = numpy.flatnonzero(numpy.abs(heard).max(1) > 1e-9)
    gaps = numpy.flatnonzero(numpy.diff(loud) > PAUSE - 10)
    return loud[gaps] + 1


def hear(browser, loudspeaker, path, sounds):
    """Switches between two sounds, from one to itself, and back to the beginning. Returns the
    residual of the worst of these, with all of the first sound."""
    with loudspeaker.recording(path):
        until_recorded(path, 0.1)
        for keys in ("a", "b", "b"):
            browser.keys(keys)
            until_recorded(path, 0.5)
        browser.click("//label[contains(., 'at each switch')]")
        browser.keys("a")
        until_recorded(path, 0.5)
        browser.keys(" ")
        browser.click("//label[contains(., 'at each switch')]")
    raw = path.read_bytes()
    heard = numpy.frombuffer(raw[:len(raw) // 8 * 8], "<f4").reshape(-1, 2).astype(float)
    pauses = silences(heard)[-3:]
    if len(pauses) < 3 or pauses[0] < RATE // 2:
        return 0 # the machine was too busy
    first, second = sounds
    steps = [(first, second, False), (second, second, False), (second, first, True)]
    results = [switch_residual(heard, pause, *step) for pause, step in zip(pauses, steps)]
    part = heard[pauses[0] - FADE - RATE // 4:pauses[0] - FADE - 1]
    place = place_of(part, first)
    results.append(residual(part, first[(place + numpy.arange(len(part))) % FRAMES]))
    print("residuals of switches and sound:", *(f"{value:.1f}" for value in results), "dB")
    return max(results)


def hear_part(browser, loudspeaker, path):
    """Repeats a part. Returns the difference of what is heard to the same one period earlier."""
    def part():
        """Shares of the sound before and after the part, in percent, as the bar shows them."""
        return browser.run("return ['left', 'right'].map("
                           "side => parseFloat(document.querySelector('.part').style[side]))")

    browser.keys("|a")
    until("the whole sound", lambda: part() == [0, 0])
    with loudspeaker.recording(path):
        until_recorded(path, 0.1)
        browser.keys("[")
        until_recorded(path, 0.4)
        browser.keys("]")
        before, after = until("both ends of the part", lambda: all(part()) and part())
        period = round((1 - after / 100) * FRAMES) - round(before / 100 * FRAMES)
        until_recorded(path, 0.5 + 2.2 * period / RATE)
    browser.keys("|")
    until("the whole sound", lambda: part() == [0, 0])
    assert 0.1 * RATE < period < FRAMES - 0.1 * RATE, (before, after)
    heard = numpy.frombuffer(path.read_bytes()[-16 * period:], "<f4").astype(float)
    earlier, later = heard[:2 * period], heard[2 * period:]
    assert numpy.abs(later).max() > 0.1, "nothing is heard"
    return residual(later, earlier)


# ---- the test ----

def equal(what, is_, wanted):
    assert is_ == wanted, f"{what}: {is_!r} instead of {wanted!r}"


def start(browser, address, width, name="Anna"):
    browser.open(address, width)
    if name:
        browser.type("//input[@id='name']", name)
    browser.type("//input[@id='question0']", "34")
    browser.click("//label[text()='no']")
    browser.click(button("Start"))


def at_trial(browser, number, of=3):
    """Waits for a trial, by the number of the rated one; 0 is the training."""
    label = f"Trial {number} of {of}" if number else "Training 1 of 1"
    browser.wait(f"//header/h1[text()='{label}']")


def nothing_yet(browser, message):
    """Nothing can be judged, and a click on Next only says why."""
    controls = ("//fieldset[not(@disabled)]//input | "
                "//input[@type='range' and not(@disabled)]")
    assert not browser.shows(controls), "a sound can be judged before it was heard"
    browser.click(button("Next"))
    browser.wait(f"//p[@role='alert' and starts-with(., '{message}')]")


def common(answers, test, wanted):
    """Checks what all kinds of answers have."""
    own = {key: answers.pop(key) for key in ("id", "agent", "began", "ended")}
    assert len(own["id"]) == 32 and int(own["id"], 16), own["id"]
    assert "Chrome" in own["agent"] and own["began"] < own["ended"], own
    trials = answers.pop("trials")
    equal("answers", answers, {
        "halo": "answers", "kind": test["kind"], "commitment": test["commitment"],
        "language": "en", "complete": True, "rate": RATE, "listener": "Anna",
        "before": {"age": "34", "music": "no"}, "after": {"how": "Well <i>done</i>"}} | wanted)
    equal("trials", sorted(one["trial"] for one in trials), sorted(
        one["id"] for one in test["trials"]))
    equal("the first trial", trials[0]["trial"], test["trials"][0]["id"])
    assert all(0 < one["seconds"] < 3600 for one in trials)
    return [(one, next(trial for trial in test["trials"] if trial["id"] == one["trial"]))
            for one in trials]


def last_question(browser):
    browser.type("//input[@id='question0']", "Well <i>done</i>")
    browser.click(button("Next"))


def abx_by_clicks(browser, folder, test, width):
    """A whole test, opened as a file. Reloads in the middle."""
    start(browser, (folder / "index.html").as_uri(), width)
    clicked = []
    for number in range(4):
        if number == 1: # The training is over.
            browser.wait("//h1[text()='The training is over. The test has 3 trials.']")
            browser.click(button("Start"))
        at_trial(browser, number)
        if number == 2:
            before = browser.stored()
            browser.ask("POST", "/refresh")
            browser.click(button("Go on"))
            at_trial(browser, number)
            equal("what is stored, after a reload", browser.stored(), before)
        nothing_yet(browser, "Please listen first to: A, B, X.")
        for name in "AB":
            browser.click(button(name))
        nothing_yet(browser, "Please listen first to: X.")
        for _ in range(number + 1):
            browser.click(button("X"))
        browser.click(button("Next"))
        browser.wait("//p[text()='Please choose an answer.']")
        browser.click(f"//label[starts-with(., 'X is {'AB'[number % 2]}')]")
        browser.type("//textarea", f"remark <{number}>")
        browser.picture(f"abx-{width}-judged")
        clicked.append((number % 2, [number + 1], f"remark <{number}>"))
        browser.click(button("Next"))
    last_question(browser)
    answers = browser.answers()
    for (one, trial), (answer, played, remark) in zip(common(answers, test, {}), clicked):
        equal("a trial", (one["answer"], one["played"], one["remark"]), (answer, played, remark))
        assert len(one["shown"]) == 1 and one["shown"][0] in trial["hidden"], one
    equal("what is stored at the end", browser.stored(), None)
    asked = browser.requests()
    assert any(address.endswith("data/02.js") for address in asked), asked
    assert all(address.startswith((folder.as_uri(), "blob:")) for address in asked), asked


def mushra_by_keys(browser, folder, test, width):
    """A whole test by keys, from a server that refuses the answers at first."""
    with Served(folder) as served:
        served.replies = [(403, {"error": "The token is <b>wrong</b>."}), (200, {"saved": True})]
        browser.open("about:blank", width)
        start(browser, f"{served.address}/#listener=J%C3%BCrg%20%2B&token=5eed", width, None)
        equal("the address", browser.run("return location.href"), f"{served.address}/")
        pressed = []
        for number in range(4):
            if number == 1:
                browser.click(button("Start"))
            at_trial(browser, number)
            browser.keys("5") # nothing plays
            nothing_yet(browser, "Please listen first to: Reference, A, B, C, D.")
            browser.keys("r5abcd") # Only D gets a rating.
            browser.keys("7\ue00e\ue007") # page up; enter
            browser.wait("//p[text()='Please rate: A, B, C.']")
            equal("sliders that can move",
                  len(browser.find("//input[@type='range' and not(@disabled)]")), 1)
            browser.keys(f"a{number}b9\ue013\ue013c0\ue015b\ue012") # arrows up, down, left
            browser.picture(f"mushra-{width}-judged")
            pressed.append(([number * 10 or 100, 91, 99, 80], [2, 3, 2, 1]))
            browser.keys("\ue007")
        last_question(browser)
        browser.wait("//p[@role='alert' and contains(., 'The token is <b>wrong</b>.')]")
        assert browser.stored(), "answers that were refused are not stored"
        browser.picture(f"refused-{width}")
        browser.click(button("Try again"))
        browser.wait("//p[@role='status' and starts-with(., 'Your answers are saved.')]")
        equal("what is stored at the end", browser.stored(), None)
        first, second = served.posts
        equal("the second post", second, first)
        equal("the token", (second["token"], second["name"]), ("5eed", "Jürg +"))
        wanted = {"listener": "Jürg +"}
        trials = common(second["answers"], test, wanted)
        for (one, trial), (ratings, played) in zip(trials, pressed):
            equal("a trial", (one["ratings"], one["played"]), (ratings, played))
            equal("what was shown", sorted(one["shown"]), sorted(trial["hidden"]))
        asked = browser.requests()
        assert all(address.startswith(f"{served.address}/") for address in asked), asked


def preference_by_keys(browser, folder, test):
    """A link that names the listener works for a file too."""
    browser.open("about:blank", 360)
    start(browser, (folder / "index.html").as_uri() + "#listener=Anna", 360, None)
    for number, key in enumerate("12312311"):
        if number == 1:
            browser.click(button("Start"))
        at_trial(browser, number, 7)
        nothing_yet(browser, "Please listen first to: A, B.")
        browser.keys("1a1") # too early
        nothing_yet(browser, "Please listen first to: B.")
        browser.keys(f"b{key}")
        browser.picture("preference-360-judged")
        browser.keys("\ue007")
    last_question(browser)
    trials = common(browser.answers(), test, {})
    equal("preferred", [one["preferred"] for one, _ in trials], [0, 1, None] * 2 + [0, 0])
    for pair in (0, 1): # trials of one sound
        turned = {(one["shown"] != trial["hidden"]) ^ trial["round"] % 2 for one, trial in trials
                  if trial["sound"] == pair}
        equal("number of first orders of a pair", len(turned), 1)


def bs1116_stopped(browser, folder, test):
    """The scale has a rule. A test that stops early keeps its answers. A sound that is missing can
    be loaded later."""
    sound = (folder / "data/01.js").rename(folder / "01.js")
    start(browser, (folder / "index.html").as_uri(), 1600)
    browser.wait("//p[@role='alert' and starts-with(., 'data/01.js is missing')]")
    sound.rename(folder / "data/01.js")
    browser.click(button("Try again"))
    at_trial(browser, 0)
    browser.keys("r1a3b4")
    browser.click(button("Next"))
    browser.wait("//p[@role='alert' and contains(., 'at least one at 5.0')]")
    browser.keys("5a\ue015")
    browser.picture("bs1116-1600-judged")
    browser.keys("\ue007")
    browser.click(button("Start"))
    at_trial(browser, 1)
    browser.click(button("Stop the test"))
    browser.ask("POST", "/alert/accept")
    browser.wait("//h1[text()='Thank you']")
    browser.ask("POST", "/refresh")
    answers = browser.answers()
    equal("complete", answers["complete"], False)
    equal("ratings", [one["ratings"] for one in answers["trials"]], [[2.9, 5]])


def here_by_keys(browser, path):
    """halo listen test.yml: serves the page, saves the answers and reports them."""
    log = path.with_suffix(".json")
    program = subprocess.Popen([HALO, "listen", path, "--listener", "Jürg +", "--log", log],
                               stdout=subprocess.PIPE, text=True,
                               env={name: value for name, value in os.environ.items()
                                    if name not in ("DISPLAY", "WAYLAND_DISPLAY")})
    program.stdout.readline()
    browser.open("about:blank", 360)
    start(browser, program.stdout.readline().strip(), 360, None)
    for number in range(4):
        if number == 1:
            browser.click(button("Start"))
        at_trial(browser, number)
        browser.keys("abx1\ue007")
    last_question(browser)
    browser.wait("//p[@role='status' and starts-with(., 'Your answers are saved.')]")
    report = program.communicate()[0]
    equal("the exit code", program.returncode, 0)
    answers = json.loads(log.read_text())
    known = answers["key"]["trials"]
    right = sum(known[one["trial"]]["slots"][one["shown"][0]] == 0 for one in answers["trials"]
                if not known[one["trial"]]["training"])
    assert f"Jürg +: {right} of 3 right" in report, report


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="listen-page-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        loudspeaker = Loudspeaker(work)
        stack.callback(loudspeaker.close)
        browser = ListeningBrowser(work, loudspeaker.environment, PICTURES)
        stack.callback(browser.close)
        abx, samples = make_test(work / "abx", "abx")
        mushra, _ = make_test(work / "mushra", "mushra")
        for width in (360, 1600):
            abx_by_clicks(browser, work / "abx", abx, width)
            mushra_by_keys(browser, work / "mushra", mushra, width)
        for check, kind, count in ((preference_by_keys, "preference", 7),
                                   (bs1116_stopped, "bs1116", 3)):
            check(browser, work / kind, make_test(work / kind, kind, count)[0])
        here_by_keys(browser, work / "abx.yml")
        start(browser, (work / "abx/index.html").as_uri(), 1600)
        at_trial(browser, 0)
        best = min(hear_part(browser, loudspeaker, work / f"part{i}.raw") for i in range(3))
        print(f"residual of a repeated part: {best:.1f} dB")
        assert best < -80, "a part is not repeated"
        sounds = [samples[name] for name in abx["trials"][0]["open"]]
        for attempt in range(10):
            if hear(browser, loudspeaker, work / f"heard{attempt}.raw", sounds) < -80:
                return
        raise AssertionError("what is heard differs from the file")


main()
