#!/usr/bin/env python3
"""halo measure on the device null. A first run keeps what halo plays; room.py makes what the inputs
record; a second run measures that, and its files are compared with the simulated room.

    measure_null.py HALO
"""
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent))
from room import (THIRDS, Room, band_pass, by_thirds, convolve, errors, lag_of, read_wav, resample,
                  shift, write_wav)

HALO = sys.argv[1]
RATE = 48000
SHORT = ["--length", "2s", "--pause", "400ms"]
MEASURED = [1000 * 2**((n - 17) / 3) for n in range(31)]


def halo(*arguments, before=""):
    return subprocess.run(["sh", "-c", before + 'exec "$0" "$@"', HALO, *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)


def files():
    return sorted(os.listdir("."))


def done(*arguments):
    """Standard output, as JSON where asked for."""
    result = halo(*arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout) if "--json" in arguments else result.stdout


def refused(expected, *arguments, before=""):
    """halo fails with a line that says so, and files stay as they were."""
    there = {name: pathlib.Path(name).read_bytes() for name in files() if os.path.isfile(name)}
    result = halo(*arguments, before=before)
    lines = [line for line in result.stderr.splitlines() if line.startswith("halo: ")]
    assert result.returncode in (1, 2) and expected in lines[-1], (expected, result)
    now = {name: pathlib.Path(name).read_bytes() for name in files() if os.path.isfile(name)}
    assert there == now, (there.keys(), now.keys())


@functools.cache
def played(outputs, options):
    """What halo plays, from a run that hears silence and is refused."""
    with tempfile.TemporaryDirectory() as folder:
        device = ["--driver", "null", "--device",
                  f"null:out={folder}/played.wav,pace=0,channels={outputs}"]
        maps = ["--output-map", ",".join(str(n + 1) for n in range(outputs)), "--input-map", 1]
        result = halo("measure", "--plain", folder + "/none.wav", *device, *maps, *options)
        assert result.returncode == 1 and re.search("above the noise|hears nothing|does not hear", result.stderr), result
        assert os.listdir(folder) == ["played.wav"], os.listdir(folder)
        sound, rate = read_wav(folder + "/played.wav")
    assert rate == RATE and sound.shape[1] == outputs
    return sound[:np.abs(sound).max(1).nonzero()[0][-1] + RATE]  # halo looks for the end now and then


def arguments_for(inputs, outputs, options, device=None):
    """Of a run that hears rec.wav."""
    numbers = [",".join(str(n + 1) for n in range(count)) for count in (inputs, outputs)]
    device = device or ["--driver", "null", "--device",
                        f"null:in=rec.wav,pace=0,channels={outputs}"]
    return ["measure", "--plain", *device, "--input-map", numbers[0], "--output-map", numbers[1],
            *options]


def record(room, options=(), **more):
    """Writes rec.wav for a measurement with these options."""
    write_wav("rec.wav", room.record(played(len(room.paths), tuple(options))), RATE)


def measured(room, options=(), more=(), device=None):
    """The columns of room.wav (frames x paths), and the answer."""
    record(room, options)
    for name in ("room.wav", "room-take.wav"):
        if os.path.exists(name):
            os.remove(name)
    answer = done(*arguments_for(len(room.paths[0]), len(room.paths), options, device), *more,
                  "--json", "room.wav")
    assert files() == ["rec.wav", "room-take.wav", "room.wav"], files()
    columns, rate = read_wav("room.wav")
    assert rate == RATE
    return columns, answer


@functools.cache
def ears(seed, rt60=0.25):
    """Of a loudspeaker in a room, at two ears: two columns of taps."""
    done("mask", "make", f"room:rt60={rt60},seed={seed}", "-o", f"seed{seed}.wav")
    taps, _ = read_wav(f"seed{seed}.wav")
    os.remove(f"seed{seed}.wav")
    box = 0.25 * band_pass(40, 18000, RATE)
    return [convolve(column, box) for column in taps.T]


def worst(columns, truths, lag=None):
    """The largest errors by thirds, where all are late by the same frames; the last: of all."""
    if lag is None:
        lag = lag_of(columns[:, 0], truths[0])
    return np.max([errors(columns[:, i], shift(truth, lag)[:len(columns)], RATE)
                   for i, truth in enumerate(truths)], 0)


def both_ears(seeds=(1, 2), **more):
    return Room([ears(seed) for seed in seeds], **more), [h for seed in seeds for h in ears(seed)]


# ---- what is measured ----


def test_bounds():
    room, truths = both_ears(latency=700)
    columns, answer = measured(room, SHORT)
    found = worst(columns, truths)
    print(f"without noise: {found[-1]:.1f} dB, thirds {found[:-1].max():.1f} dB")
    assert found.max() <= -110
    delays = [path["delay"] for path in answer["measurement"]["paths"]]
    peaks = [np.argmax(np.abs(truth)) for truth in truths]
    assert np.allclose(np.diff(delays) * RATE, np.diff(peaks), atol=0.6), (delays, peaks)
    options = ["--pause", "500ms", "--to", "22000"]
    single = noisy(options)
    double = noisy(options + ["--repeats", "2"], 2)
    print(f"at 60 dB: {single:.2f} dB, twice {double:.2f} dB")
    assert single <= -65 and abs(single - double - 3) <= 0.3


def noisy(options, repeats=1):
    """The worst error at 60 dB in dB. The thirds are compared with theory and with what halo tells."""
    room, truths = both_ears([1], latency=700, snr=60, seed=repeats)
    columns, answer = measured(room, options)
    sweep = played(1, tuple(options))[:, 0]
    end = sweep.nonzero()[0][-1]
    n = 1 << 20
    power = np.abs(np.fft.rfft(sweep[end - int(8.06 * RATE):end], n))**2
    noise = by_thirds(room.noise_power / repeats * len(columns) / power, n)
    lag = lag_of(columns[:, 0], truths[0])
    ratios = []
    for number, path in enumerate(answer["measurement"]["paths"]):
        truth = shift(truths[number], lag)[:len(columns)]
        theory = 10 * np.log10(noise / by_thirds(np.abs(np.fft.rfft(truth, n))**2, n))
        told = [*path["snr"][2:30], path["snr_all"]]
        ratios.append([errors(columns[:, number], truth, RATE) - theory, -np.array(told) - theory])
    wrong, told = 10 * np.log10(np.mean(10**(np.array(ratios) / 10), 0))[:, 15:]  # from 1 kHz on
    print(f"beside theory: {np.abs(wrong).max():.2f} dB; told: {np.abs(told).max():.2f} dB")
    assert np.abs(wrong).max() <= 1 and np.abs(told).max() <= 1
    return worst(columns, truths, lag)[-1]


def test_loopback():
    """Output 3 is wired to input 3. Delays are right, and the card is divided out."""
    card = convolve(band_pass(10, 21500, RATE), [0] * 5 + [0.8])
    room, truths = both_ears()
    room = Room([[*row, None] for row in room.paths] + [[None, None, np.ones(1)]],
                latency=333, card=card)
    columns, answer = measured(room, SHORT + ["--reference", "3:3"])
    assert answer["measurement"]["timing"] == "loopback" and columns.shape[1] == 4
    found = worst(columns, truths, answer["zero_tap"])
    print(f"loopback: {found[-1]:.1f} dB, thirds {found[:-1].max():.1f} dB")
    assert found[:-1].max() <= -100


def test_what_is_played():
    """Three sweeps between the frequencies, at the level."""
    options = ["--from", "200", "--to", "2000", "--level", "-20", "--length", "1s", "--pause", "300ms",
               "--repeats", "3"]
    sound = played(1, tuple(options))[:, 0]
    loud = [np.abs(sound[at:at + 4800]).max() > 0.05 for at in range(0, len(sound), 4800)]
    assert np.count_nonzero(np.diff(loud)) == 8, loud  # the check and three sweeps
    power = np.abs(np.fft.rfft(sound))**2
    hz = np.fft.rfftfreq(len(sound), 1 / RATE)
    outside = 10 * np.log10(power[(hz < 180) | (hz > 2200)].sum() / power.sum())
    peak = 20 * np.log10(np.abs(sound).max())
    print(f"played: peak {peak:.2f} dB, {outside:.1f} dB outside of the band")
    assert abs(peak + 20) < 0.05 and outside < -20


def test_mark():
    """Output 2 plays the mark, 100 frames away; output 1 is 340 frames away."""
    box = band_pass(40, 18000, RATE)
    room = Room([[shift(box, 340)], [shift(box, 100)]], latency=4321)
    _, answer = measured(room, SHORT + ["--mark", "2"])
    assert answer["measurement"]["timing"] == "mark"
    delays = [RATE * path["delay"] for path in answer["measurement"]["paths"]]
    print("after the mark:", delays)
    assert np.allclose(delays, [240, 0], atol=0.6)


def test_distortion():
    harmonics = [0.01, 0.003, 0.001]
    _, answer = measured(Room([[np.ones(1)]], harmonics=harmonics, snr=90, latency=100), SHORT)
    told = answer["measurement"]["paths"][0]["harmonics"]
    for number, share in enumerate(harmonics):
        levels = np.array(told[number][7:24])  # 100 Hz to 4 kHz
        assert np.allclose(levels, 20 * np.log10(share), atol=0.5), (number + 2, levels)


def align(got, truth):
    """The truth, later by the fraction of a frame that fits best."""
    lag = lag_of(got, truth)
    n = 2 * len(got)
    bins = np.arange(n // 2 + 1)
    truth = np.fft.rfft(shift(truth, lag)[:len(got)], n)
    both = np.fft.rfft(got, n) * truth.conj()
    turn = 2 * np.pi * bins / n
    late = -(np.abs(both) * np.angle(both) * turn).sum() / (np.abs(both) * turn**2).sum()
    return np.fft.irfft(truth * np.exp(-1j * turn * late), n)[:len(got)]


def test_two_clocks():
    for ppm in (100, -100):
        room = Room([[ears(1)[0]]], ppm=ppm, latency=960)
        device = ["--input", f"null:in=rec.wav,drift={ppm},pace=0",
                  "--output", "null:channels=1,pace=0"]
        columns, answer = measured(room, SHORT + ["--repeats", "2"], device=device)
        drift = answer["measurement"]["drift"]
        truth = resample(np.pad(ears(1)[0], (4096, 4096)), 1 + ppm / 1e6)  # in the input's time
        error = errors(columns[:, 0], align(columns[:, 0], truth), RATE)[-1]
        print(f"{ppm} ppm: told {drift:.3f}, error {error:.1f} dB")
        assert abs(drift - ppm) <= 1 and error <= -60


def test_headphones():
    """Each ear hears one earphone. The other paths are silent, and no noise of theirs counts."""
    left, right = ears(1)
    room = Room([[left, None], [None, right]], latency=100, snr=50)
    columns, answer = measured(room, SHORT)
    found = worst(columns[:, [0, 3]], [left, right])
    assert not columns[:, 1:3].any() and found[-1] <= -45, found
    assert [path["delay"] is None for path in answer["measurement"]["paths"]] == [0, 1, 1, 0]


def test_cables():
    """Two cables without noise: each input is silent while the other's output plays."""
    wire = np.ones(1)
    columns, answer = measured(Room([[wire, None], [None, wire]], latency=700), SHORT)
    paths = answer["measurement"]["paths"]
    found = worst(columns[:, [0, 3]], [wire, wire])[0]
    distortion = np.nanmax(np.array(paths[0]["thd"][2:24], float))
    print(f"cables: 31 Hz {found:.1f} dB, distortion {distortion:.1f} dB")
    assert not columns[:, 1:3].any() and found <= -110 and distortion <= -80
    assert [path["delay"] is None for path in paths] == [0, 1, 1, 0]


def test_subwoofer():
    """Over all frequencies noise is as loud as a subwoofer, but not in its band: it is measured."""
    low = band_pass(25, 100, RATE, 1 << 15)
    sub = 0.3 * convolve(low, low)
    columns, answer = measured(Room([[ears(1)[0]], [sub]], latency=100, snr=25), SHORT)
    error = errors(columns[:, 1], shift(sub, lag_of(columns[:, 1], sub))[:len(columns)], RATE)[3]
    told = answer["measurement"]["paths"][1]["snr_all"]
    print(f"subwoofer: {told:.1f} dB over the noise, error at 63 Hz {error:.1f} dB")
    assert told < 10 and error <= -40


def test_late():
    """Output 1 is 100 ms later than output 2: no bass is lost."""
    box = band_pass(40, 18000, RATE)
    columns, answer = measured(Room([[shift(box, 4800)], [box]], latency=500), SHORT)
    found = worst(columns, [shift(box, 4800), box])
    print(f"output 1 is late: {found[-1]:.1f} dB, thirds {found[:-1].max():.1f} dB")
    assert found[-1] <= -90 and found[1:-1].max() <= -90
    take_refused("longer --pause", Room([[shift(box, 24000)], [box]]), ["-f"])


def test_slow_rise():
    """A subwoofer alone, with an offset at the input: its response is there from its beginning."""
    sub = band_pass(25, 120, RATE)
    columns, _ = measured(Room([[sub]], latency=500, offset=0.02), SHORT)
    found = worst(columns, [sub])
    print(f"subwoofer: thirds {found[:6].max():.1f} dB")
    assert found[:6].max() <= -40
    box = band_pass(40, 18000, RATE)
    take_refused("does not hear the mark", Room([[box], [np.zeros(1)]], snr=60), ["-f"],
                 options=SHORT + ["--mark", "2"])


def test_reference_with_two_clocks():
    box = band_pass(40, 18000, RATE)
    room = Room([[shift(box, 300), None], [None, np.ones(1)]], latency=333, ppm=37)
    device = ["--output", "null:pace=0", "--input", "null:in=rec.wav,pace=0,drift=37"]
    columns, answer = measured(room, SHORT + ["--repeats", "2", "--reference", "2:2"], device=device)
    truth = np.fft.rfft(box, 1 << 16)
    got = np.fft.rfft(columns[:, 0], 1 << 16)
    band = slice(int(100 / RATE * 65536), int(16000 / RATE * 65536))
    wrong = 20 * np.log10(np.abs(got[band]) / np.abs(truth[band]))
    print(f"reference and two clocks: {np.abs(wrong).max():.3f} dB")
    assert np.abs(wrong).max() < 0.02
    peak = np.argmax(np.abs(box)) + 300
    delay = answer["measurement"]["paths"][0]["delay"] * RATE
    assert abs(delay - peak) < 0.6, (delay, peak)


def test_calibration():
    """A microphone's file is taken out, and --full-scale gives levels."""
    microphone = band_pass(60, 9000, RATE)
    hz = 10 * 2.0**(np.arange(0, 12 * 11) / 12)
    response = np.exp(-2j * np.pi * hz[:, None] / RATE * np.arange(len(microphone))) @ microphone
    with open("mic.txt", "w") as file:
        file.writelines(f"{f:.3f} {20 * np.log10(abs(r)):.3f}\n" for f, r in zip(hz, response))
    room = Room([[ears(1)[0]]], card=microphone)
    record(room, SHORT)
    text = done(*arguments_for(1, 1, SHORT), "room.wav", "--calibration", "mic.txt",
                "--full-scale", 120)
    assert " dB SPL" in text, text
    shown = done("mask", "show", "room.wav")
    for line in (r"halo measure \d{4}-\d\d-\d\dT[\d:]{8}Z: sweep 20-21600 Hz, 2.1 s, -12 dB, 1 repeat",
                 r"SNR \d+ dB\n", r"calibration +mic.txt\n", r"full scale +120.0 dB SPL\n"):
        assert re.search(line, shown), (line, shown)
    columns, _ = read_wav("room.wav")
    size = 1 << 17
    got, truth = (by_thirds(np.abs(np.fft.rfft(taps, size))**2, size)
                  for taps in (columns[:, 0], ears(1)[0]))
    gains = np.abs(10 * np.log10(got / truth)[3:27])  # 63 Hz to 12.5 kHz
    print(f"after calibration: {gains.max():.3f} dB")
    assert gains.max() <= 0.2


def test_calibrator():
    write_wav("rec.wav", 0.1 * np.sin(2 * np.pi * 1000 / RATE * np.arange(30 * RATE)), RATE)
    answer = done("measure", "--plain", "--json", "--driver", "null", "--device",
                  "null:in=rec.wav,pace=2", "--spl", 94)
    assert abs(answer["full_scale_db"] - 114) <= 0.1, answer
    assert files() == ["rec.wav"]


def test_take_again():
    columns, _ = measured(both_ears()[0], SHORT)
    done("measure", "again.wav", "--take", "room-take.wav")
    again, _ = read_wav("again.wav")
    assert np.array_equal(columns, again)
    for more in (["--length", "2s"], ["--level", "-12"], ["--mark", "1"]):
        refused("--take uses the sweeps", "measure", "x.wav", "--take", "room-take.wav", *more)
        refused("it takes no file", "measure", "--spl", "94", *more)
    data = pathlib.Path("room-take.wav").read_bytes()
    for bad, expected in ((data[:len(data) // 2], ""), (data[:3000], ""), (b"RIFF", ""),
                          (pathlib.Path("rec.wav").read_bytes(), "no recording of halo measure")):
        pathlib.Path("bad.wav").write_bytes(bad)
        refused(expected, "measure", "worse.wav", "--take", "bad.wav")


def test_hesuvi():
    """Seven loudspeakers at two ears, for headphones: render gives what they would."""
    speakers = [ears(seed, 0.1) for seed in range(1, 8)]
    options = ["--length", "500ms", "--pause", "250ms"]
    record(Room(speakers), options)
    done(*arguments_for(2, 7, options), "room.wav", "--hesuvi")
    columns, _ = read_wav("room.wav")
    assert columns.shape[1] == 14
    film = np.random.default_rng(1).uniform(-0.1, 0.1, (RATE, 7))
    write_wav("film.wav", np.insert(film, 3, 0, 1), RATE)  # FL FR FC LFE BL BR SL SR
    done("render", "film.wav", "phones.wav", "-q", "--mask", "room.wav,order=hesuvi")
    phones, _ = read_wav("phones.wav")
    truths = [sum(convolve(film[:, s], speakers[s][ear]) for s in range(7)) for ear in (0, 1)]
    error = worst(phones, truths)[-1]
    print(f"seven loudspeakers: {error:.1f} dB")
    assert error <= -50


# ---- what is refused ----


def take_refused(expected, room, more=(), device=None, options=SHORT, before=""):
    record(room, options)
    refused(expected, *arguments_for(len(room.paths[0]), len(room.paths), options, device), *more,
            "room.wav", before=before)


def test_refused():
    flat = [[np.ones(1)]]
    take_refused("reached full scale", Room(flat, gain=8, clip=True))
    take_refused("above the noise", Room(flat, gain=0))
    take_refused("above the noise", Room(flat, gain=1e-3, snr=-60))
    frame = len(played(1, tuple(SHORT))) - RATE
    take_refused("lost sound", Room(flat), device=[
        "--driver", "null", "--device", f"null:in=rec.wav,pace=0,channels=1,xrun={frame}"])
    take_refused("room", Room(flat), before="trap '' XFSZ; ulimit -f 100; ")
    for more in (["--calibration", "nothing.txt"], ["--hesuvi"]):  # found before anything is played
        refused(more[-1], *arguments_for(1, 1, SHORT), "room.wav", *more)
        assert "a sweep" not in halo(*arguments_for(1, 1, SHORT), "room.wav", *more).stderr
    os.mkdir("folder.wav")
    refused("folder.wav", *arguments_for(1, 1, SHORT), "folder.wav", "-f")
    for name in ("room.wav", "room-take.wav"):  # neither is replaced, and -f replaces both
        pathlib.Path(name).write_text("old")
        take_refused(name, Room(flat))
        done(*arguments_for(1, 1, SHORT), "room.wav", "-f")
        assert len(read_wav(name)[0]) > RATE // 4
        os.remove("room.wav")
        os.remove("room-take.wav")


def stopped(*arguments, left):
    """Ctrl-C during the sweeps ends it, and only these files are there."""
    process = subprocess.Popen([HALO, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while b"a sweep of" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    text = process.stderr.read()
    assert process.wait(60) not in (0, 1) or b"stopped" in text, (process.returncode, text)
    assert files() == left, files()


def test_stopped():
    stopped("measure", "--plain", "room.wav", "--driver", "null", "--device", "null:pace=1", left=[])

# ---- through a mask, and what halo correct leaves ----


def through(room, columns, options=SHORT):
    """What is measured through a mask of these columns, and the options that name the mask."""
    with tempfile.TemporaryDirectory() as folder:
        write_wav(folder + "/mask.wav", np.stack(columns, 1), RATE)
        options = [*options, "--mask", folder + "/mask.wav"]
        got, answer = measured(room, options)
        peak = np.abs(played(len(room.paths), tuple(options))).max()
    assert abs(20 * np.log10(peak) + 12) < 0.1, peak  # the loudest sweep has the level asked for
    return got, answer


def decaying(seed, frames):
    taps = np.random.default_rng(seed).standard_normal(frames) * np.exp(-6 * np.arange(frames) / frames)
    return np.asarray(0.3 * taps / np.abs(np.fft.rfft(taps)).max(), "<f4").astype(float)


def test_mask():
    room, truths = both_ears(latency=700)
    for name, columns in {
            "short, of one channel": [decaying(1, 64)],
            "of 0.5 s, of two channels": [decaying(2, RATE // 2), decaying(4, RATE // 2)],
            "louder by 12 dB": [np.array([0, 4.0]), np.array([1.0, 0])],
    }.items():
        got, _ = through(room, columns)
        twice = [convolve(truth, columns[i // 2 % len(columns)]) for i, truth in enumerate(truths)]
        error = worst(got, twice)[-1]
        print(f"mask {name}: {error:.1f} dB")
        assert error <= -80
        done("measure", "again.wav", "--take", "room-take.wav")
        assert np.array_equal(read_wav("again.wav")[0], got)
        os.remove("again.wav")


def test_mask_and_reference():
    """The cable carries the sweep without the mask, so time zero is that of the loudspeakers."""
    room, truths = both_ears()
    room = Room([[*row, None] for row in room.paths] + [[None, None, np.ones(1)]], latency=333)
    columns = [decaying(1, 300), 4 * decaying(2, 300)]
    got, answer = through(room, columns, SHORT + ["--reference", "3:3"])
    assert answer["measurement"]["timing"] == "loopback" and got.shape[1] == 4
    twice = [convolve(truth, columns[i // 2]) for i, truth in enumerate(truths)]
    error = worst(got, twice, answer["zero_tap"])[:-1].max()
    print(f"mask and loopback: {error:.1f} dB")
    assert error <= -80


def test_mask_refused():
    run = [*arguments_for(1, 2, SHORT), "room.wav"]
    write_wav("rec.wav", np.zeros(RATE), RATE)
    write_wav("one.wav", np.ones(1), RATE)
    write_wav("three.wav", np.ones((1, 3)), RATE)
    pathlib.Path("mixes.mask").write_text(
        "rate: 48000\ninputs: 2\noutputs: 2\npath: 1 2 1\npath: 2 1 1\n1\n")
    refused("needs IN:OUT", *run, "--mask", "one.wav", "--input-map", "1,2", "--reference", "2")
    refused("mixes channels", *run, "--mask", "mixes.mask")
    refused("three.wav", *run, "--mask", "three.wav")
    refused("none.wav", *run, "--mask", "none.wav")
    refused("--take uses", "measure", "room.wav", "--take", "rec.wav", "--mask", "one.wav")


def test_correct_leaves_nothing():
    os.environ["XDG_CONFIG_HOME"] = os.path.abspath("config")
    write_wav("rec.wav", np.zeros(RATE), RATE)
    device = ["--plain", "--driver", "null", "--device"]
    refused("above the noise", "correct", "room", *device, "null:in=rec.wav,pace=0")
    pathlib.Path("room-2.wav").write_text("mine")
    refused("room-2.wav", "correct", "room", *device, "null:in=rec.wav,pace=0")
    os.remove("room-2.wav")
    stopped("correct", "room", *device, "null:in=rec.wav,pace=1", left=["config", "rec.wav"])
    assert not os.listdir("config/halo/presets")


def test_correct_waits_for_enter():
    """Standard input that cannot be read ends the command after the first place."""
    os.environ["XDG_CONFIG_HOME"] = os.path.abspath("config")
    record(Room([[ears(1)[0]]]), SHORT)
    result = halo("correct", "room", *arguments_for(1, 1, SHORT)[1:], before="exec <.; ")
    assert result.returncode == 2 and "standard input ended" in result.stderr, result
    assert files() == ["config", "rec.wav", "room-1-take.wav", "room-1.wav"], files()


def main():
    failed = []
    for name, test in list(globals().items()):
        if not name.startswith("test_") or sys.argv[2:] and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                begin = time.monotonic()
                test()
                print(f"passed: {name}, {time.monotonic() - begin:.1f} s")
            except Exception as error:
                failed.append(name)
                print("FAILED:", name, type(error).__name__, error, "line",
                      error.__traceback__.tb_next.tb_lineno)
            os.chdir("/")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


main()
