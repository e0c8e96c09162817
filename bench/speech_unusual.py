"""What lhotse, Kaldi and halo make of sounds and rooms that have no equal output: for bench/speech_peers."""

import json
import pathlib
import subprocess

import numpy

import speech_sounds
from speech_sounds import RATE

FRAMES = 2 * RATE


def cases(rng):
    """Name -> sound, room, its rate, noise, and what is peculiar to a call of lhotse and of Kaldi."""
    sound, noise = speech_sounds.speech(rng, FRAMES), 0.1 * rng.standard_normal(2 * FRAMES)
    room, silence = speech_sounds.usual(rng, 4000), numpy.zeros(FRAMES)
    pair = numpy.stack([room, numpy.roll(room, 40) / 2], axis=1)
    both = {"channels": [0, 1]}, ["--multi-channel-output=true"]
    one = {}, []
    return {
        "a silent sound": (silence, room, RATE, None, *one),
        "a silent sound, with noise": (silence, room, RATE, noise[:FRAMES], *one),
        "silent noise": (sound, room, RATE, silence, *one),
        "noise of a quarter of the length, 0 dB": (sound, room, RATE, noise[: FRAMES // 4], *one),
        "noise of twice the length, 0 dB": (sound, room, RATE, noise, *one),
        "a room at 48 kHz": (sound, room, 3 * RATE, None, *one),
        "the same, which lhotse resamples": (sound, room, 3 * RATE, None, {"resample": RATE}, []),
        "a room of two channels, the second later and 6 dB lower": (sound, pair, RATE, None, *both),
        "a sound of two channels, the second 20 dB lower": (
            numpy.stack([sound, sound / 10], axis=1), room, RATE, None, *one),
        "a silent room": (sound, 0 * room, RATE, None, *one),
    }


def level(samples):
    return 10 * numpy.log10(numpy.mean(numpy.square(samples)) + 1e-30)


def text_of(samples, sound):
    """Its length, and its level beside that of the sound's first channel, or of full scale; channel by channel."""
    reference = max(level(sound if sound.ndim == 1 else sound[:, 0]), -120)
    levels = ", ".join("silent" if level(row) < -200 else "not a number" if numpy.isnan(level(row)) else
                       f"{level(row) - (reference if reference > -120 else 0):.1f}" for row in samples)
    return levels + (f" ({samples.shape[1] / len(sound):g} times as long)" if samples.shape[1] != len(sound) else "")


def of_lhotse(python, folder, case):
    sound, _, _, noise, extra, _ = case
    extra = dict(extra)
    task = {"sound": "s.wav", "room": "r.wav", "room_channel": 0, "options": {}, "out": str(folder / "l.npy")} | extra
    if noise is not None:
        task |= {"noise": "n.wav", "snr": 0, "whole": True}
    (folder / "tasks.jsonl").write_text(json.dumps(task))
    script = pathlib.Path(__file__).resolve().parent / "speech_lhotse.py"
    subprocess.run([python, script, "tasks.jsonl"], cwd=folder, check=True, capture_output=True)
    refusal = folder / "l.npy.txt"
    return "refused: " + refusal.read_text().strip() if refusal.exists() else text_of(
        numpy.load(folder / "l.npy"), sound)


def of_kaldi(program, folder, case):
    sound, _, _, noise, _, extra = case
    extra = extra + (["--additive-signals=n.wav", "--snrs=0", "--start-times=0"] if noise is not None else [])
    done = subprocess.run([program, *extra, "--impulse-response=r.wav", "s.wav", "k.wav"], cwd=folder,
                          capture_output=True, text=True)
    return f"exit code {done.returncode}" if done.returncode else text_of(
        speech_sounds.read_sound(folder / "k.wav")[0].T, sound)


def of_halo(halo, folder, case):
    sound, _, _, noise, _, _ = case
    stages = ["--mask", "r.wav,align=peak,level=input"] + (
        ["--noise", "n.wav,snr=0,start=0"] if noise is not None else [])
    done = subprocess.run([halo, "render", "s.wav", "h.wav", "-q", "-f", "--format", "float", "--tail", "none", *stages],
                          cwd=folder, capture_output=True, text=True)
    return "refused: " + done.stderr.strip().removeprefix("halo: ") if done.returncode else text_of(
        speech_sounds.read_sound(folder / "h.wav")[0].T, sound)


def compare(folder, rng, halo, lhotse_python, wav_reverberate):
    """Prints a table."""
    print("\n| unusual: level in dB of the sound | lhotse | Kaldi | halo |\n|---|---|---|---|")
    for number, (name, case) in enumerate(cases(rng).items()):
        at = folder / f"unusual{number}"
        at.mkdir()
        for file, samples, rate in (("s", case[0], RATE), ("r", case[1], case[2]), ("n", case[3], RATE)):
            if samples is not None:
                speech_sounds.write_16(at / f"{file}.wav", samples, rate)
        texts = [of_lhotse(lhotse_python, at, case) if lhotse_python else "-",
                 of_kaldi(wav_reverberate, at, case) if wav_reverberate else "-", of_halo(halo, at, case)]
        print(f"| {name} | {' | '.join(texts)} |", flush=True)
