"""Sounds, rooms and noises at random for bench/speech_peers, as 16 bits, which corpora have and Kaldi needs."""

import wave
from typing import NamedTuple

import numpy

RATE = 16000


class Case(NamedTuple):
    """Samples as they are read; `room` is the channel of the room's file that is taken."""

    sound: numpy.ndarray
    room: numpy.ndarray
    noise: numpy.ndarray
    channel: int  # from 0
    kind: str

    @property
    def peak(self):
        """Where both peers say that the direct sound is."""
        return int(numpy.argmax(self.room))

    @property
    def is_inverted(self):
        """Then halo says otherwise."""
        return self.peak != int(numpy.argmax(numpy.abs(self.room)))


# ---- files ----


def write_16(path, samples, rate=RATE):
    """Of the shape (frames,) or (frames, channels)."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(numpy.clip(numpy.rint(samples * 32768), -32768, 32767).astype("<i2").tobytes())


def read_sound(path):
    """16 bits or float, of the shape (frames, channels)."""
    data = path.read_bytes()
    at, channels, kind = 12, int.from_bytes(data[22:24], "little"), data[20]
    if data[20:22] == b"\xfe\xff":
        kind = data[44]
    while data[at : at + 4] != b"data":
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "little") + (data[at + 4] & 1)
    size = int.from_bytes(data[at + 4 : at + 8], "little")
    samples = numpy.frombuffer(data[at + 8 : at + 8 + size], "<f4" if kind == 3 else "<i2")
    return samples.reshape(-1, channels).astype(float) / (1 if kind == 3 else 32768), kind == 3


# ---- sounds ----


def speech(rng, length):
    """Coloured noise in bursts."""
    sound = numpy.cumsum(rng.standard_normal(length))
    sound = (sound - 0.97 * numpy.concatenate([[0], sound[:-1]])) * numpy.abs(
        numpy.sin(1 + numpy.arange(length) / rng.integers(500, 9000)))
    return sound * rng.uniform(0.05, 0.9) / numpy.abs(sound).max()


SOUNDS = {
    "speech": lambda rng, length: speech(rng, length),
    "noise": lambda rng, length: 0.1 * rng.standard_normal(length),
    "offset": lambda rng, length: 0.3 + 0.3 * speech(rng, length),
    "clipped": lambda rng, length: numpy.clip(20 * speech(rng, length), -1, 1),
    "quiet": lambda rng, length: speech(rng, length) / 200,
    "constant": lambda rng, length: numpy.full(length, rng.uniform(-0.5, 0.5)),
    "short": lambda rng, length: rng.uniform(-0.9, 0.9, length // 300 + 1),
}


# ---- rooms ----


def decay(rng, taps):
    room = rng.standard_normal(taps) * numpy.exp(-6.9 * numpy.arange(taps) / taps)
    return room * rng.uniform(0.05, 0.5) / numpy.abs(room).max()


def with_direct(rng, room, at):
    room[at] = rng.uniform(0.6, 0.99)
    return room


def usual(rng, taps):
    return with_direct(rng, decay(rng, taps), int(rng.integers(0, min(taps, 400))))


def late(rng, taps):
    return with_direct(rng, decay(rng, taps), int(rng.integers(taps // 2, taps)))


def twice(rng, taps):
    """Two taps are the largest."""
    room = usual(rng, taps)
    room[int(rng.integers(0, taps))] = room.max()
    return room


def several(rng, taps):
    """As many channels as an array has, each with a direct sound of its own time."""
    return numpy.stack([usual(rng, taps) for _ in range(int(rng.choice([2, 4, 7])))], axis=1)


ROOMS = {
    "usual": usual,
    "late": late,
    "inverted": lambda rng, taps: -usual(rng, taps),
    "long": lambda rng, taps: usual(rng, 2 * taps + 16000),
    "one tap": lambda rng, taps: numpy.array([rng.uniform(0.1, 0.9)]),
    "the last tap": lambda rng, taps: with_direct(rng, decay(rng, taps), taps - 1),
    "twice": twice,
    "several": several,
    "quiet": lambda rng, taps: usual(rng, taps) / 500,
    "of one sign": lambda rng, taps: numpy.abs(usual(rng, taps)) / 20,
    "positive, then silent": lambda rng, taps: usual(rng, taps) * (numpy.arange(taps) < 400),
}


def make(folder, count, rng):
    """Files s0.wav, r0.wav and n0.wav, and so on. Noise is longer than what it is added to and its reverberation."""
    cases = []
    sounds, rooms = list(SOUNDS), list(ROOMS)
    for i in range(count):
        length, taps = int(rng.integers(2000, 60000)), int(rng.integers(50, 20000))
        sound_kind, room_kind = sounds[i % len(sounds)], rooms[i % len(rooms)]
        sound, room = SOUNDS[sound_kind](rng, length), ROOMS[room_kind](rng, taps)
        noise = rng.standard_normal(len(sound) + len(room) + 1000) * rng.uniform(0.001, 0.1)
        for name, samples in (("s", sound), ("r", room), ("n", noise)):
            write_16(folder / f"{name}{i}.wav", samples)
        sound, room, noise = (read_sound(folder / f"{name}{i}.wav")[0] for name in "srn")
        channel = int(rng.integers(0, room.shape[1]))
        cases.append(Case(sound[:, 0], room[:, channel], noise[:, 0], channel, f"{sound_kind}, {room_kind}"))
    return cases
