"""What stands between the outputs and the inputs of a sound device: loudspeakers, a room, noise,
the clock of another device. In double precision; all sounds are arrays of frames x channels.

    played, rate = read_wav("played.wav")
    write_wav("recorded.wav", Room(paths, latency=480, snr=60).record(played), rate)
"""
import struct
from dataclasses import dataclass, field

import numpy as np


def read_wav(path):
    """Samples (frames x channels) and rate of a WAV file of floats or integers of 32 bits."""
    with open(path, "rb") as file:
        data = file.read()
    at, form = 12, None
    while at + 8 <= len(data):
        name, size = data[at:at + 4], int.from_bytes(data[at + 4:at + 8], "little")
        if name == b"fmt ":
            form = struct.unpack_from("<HHIIHH", data, at + 8)
            code = struct.unpack_from("<H", data, at + 32)[0] if form[0] == 0xFFFE else form[0]
        if name == b"data":
            bits = form[5]
            kind = {(3, 32): "<f4", (3, 64): "<f8", (1, 32): "<i4"}[code, bits]
            size = min(size, len(data) - at - 8) // (form[1] * bits // 8) * (form[1] * bits // 8)
            samples = np.frombuffer(data, kind, size * 8 // bits, at + 8).astype(float)
            return samples.reshape(-1, form[1]) / (2.0**31 if kind == "<i4" else 1), form[2]
        at += 8 + size + size % 2
    raise ValueError(f"{path}: no sound")


def write_wav(path, samples, rate):
    """Floats of 32 bits. `samples`: frames, or frames x channels."""
    samples = np.asarray(samples, "<f4").reshape(len(samples), -1)
    channels, data = samples.shape[1], samples.tobytes()
    form = struct.pack("<HHIIHH", 3, channels, rate, 4 * rate * channels, 4 * channels, 32)
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
                   struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data)


def length_for(frames):
    """At least that, for transforms."""
    n = 1 << (frames - 1).bit_length()
    return next(n * share // 8 for share in (5, 6, 8) if n * share // 8 >= frames)


def convolve(x, h):
    n = length_for(len(x) + len(h))
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(h, n), n)[:len(x) + len(h) - 1]


def band_pass(low, high, rate, frames=8192):
    """Taps of a loudspeaker: a high-pass and a low-pass of second order (Butterworth)."""
    z = np.exp(-1j * np.linspace(0, np.pi, frames + 1))
    taps = np.ones(frames + 1, complex)
    for hz, sign in ((low, -1), (high, 1)):
        w = 2 * np.pi * hz / rate
        alpha, cos = np.sin(w) / np.sqrt(2), np.cos(w)
        b = (1 + sign * -cos) / 2
        taps *= b * (1 + sign * z)**2 / (1 + alpha - 2 * cos * z + (1 - alpha) * z * z)
    return np.fft.irfft(taps)[:frames]


def resample(x, ratio):
    """The sound at times i / ratio: its band-limited, periodic form, evaluated there (chirp-z,
    Bluestein). `x` begins and ends with silence."""
    n = length_for(len(x) + 4096)
    spectrum = np.fft.rfft(x, n)
    count = int(len(x) * ratio)
    k, step = np.arange(n // 2 + 1), 2 * np.pi / (n * ratio)
    size = length_for(len(k) + count)
    # k i = (k^2 + i^2 - (i - k)^2) / 2
    def chirp(i):
        return np.exp(0.5j * step * np.asarray(i, float)**2)
    weights = spectrum * chirp(k)
    kernel = np.zeros(size, complex)
    kernel[:count] = chirp(np.arange(count)).conj()
    kernel[size - len(k) + 1:] = chirp(np.arange(len(k) - 1, 0, -1)).conj()
    sums = np.fft.ifft(np.fft.fft(weights, size) * np.fft.fft(kernel))[:count]
    sums *= chirp(np.arange(count))
    return (2 * sums.real - spectrum[0].real) / n


def distort(x, harmonics, peak):
    """Adds harmonics 2, 3, ... of that share of the fundamental to a sine of that peak, without
    aliases. Silence stays silence."""
    times = 2 + len(harmonics)
    n = length_for(len(x) + 4096)
    high = np.fft.irfft(np.fft.rfft(x, n), times * n) * times / peak
    series = np.polynomial.chebyshev.Chebyshev([0, 1, *harmonics])
    high = peak * (series(high) - series(0))
    return np.fft.irfft(np.fft.rfft(high)[:n // 2 + 1] / times, n)[:len(x)]


def sweep_power(played, recorded, frames=4800):
    """The mean power at the inputs in those parts where a sweep plays, which is louder than noise."""
    loud = [at for at in range(0, len(played), frames)
            if (played[at:at + frames]**2).mean(0).max() > 0.45 * (played**2).max()]
    return np.mean([recorded[at:at + frames]**2 for at in loud])


@dataclass
class Room:
    """`paths[output][input]`: taps, or None; also those of a loopback."""
    paths: list
    latency: int = 0          # frames from the outputs to the inputs
    card: np.ndarray = None   # taps of the sound card, in all inputs
    snr: float = None         # dB, of the sweeps' mean power at the inputs over that of white noise
    ppm: float = 0            # the clock of the inputs is faster
    harmonics: list = field(default_factory=list)
    gain: float = 1
    clip: bool = False
    offset: float = 0
    seed: int = 1
    noise_power: float = 0    # of the last recording

    def record(self, played):
        peak = np.abs(played).max()
        if self.harmonics:
            played = np.stack([distort(x, self.harmonics, peak) for x in played.T], 1)
        n = length_for(len(played) + max(len(h) for row in self.paths for h in row if h is not None))
        spectra = [np.fft.rfft(x, n) for x in played.T]
        recorded = np.zeros((len(played) + self.latency, len(self.paths[0])))
        for number, columns in enumerate(zip(*self.paths)):
            wet = sum(spectrum * np.fft.rfft(taps, n)
                      for spectrum, taps in zip(spectra, columns) if taps is not None)
            recorded[self.latency:, number] = self.gain * np.fft.irfft(wet, n)[:len(played)]
        if self.card is not None:
            recorded = np.stack([convolve(x, self.card)[:len(x)] for x in recorded.T], 1)
        if self.ppm:
            recorded = np.stack([resample(x, 1 + self.ppm / 1e6) for x in recorded.T], 1)
        if self.snr is not None:
            self.noise_power = sweep_power(played, recorded[self.latency:]) / 10**(self.snr / 10)
            print(f"noise of seed {self.seed}")
            noise = np.random.default_rng(self.seed).standard_normal(recorded.shape)
            recorded += np.sqrt(self.noise_power) * noise
        recorded += self.offset
        return np.clip(recorded, -1, 1) if self.clip else recorded


# ---- comparing ----

THIRDS = 1000 * 2.0**(np.arange(-15, 13) / 3)  # 31 Hz to 16 kHz


def by_thirds(power, n, rate=48000):
    """Sums of the bins of a transform of `n` frames by thirds of an octave; the last: of the sweep."""
    hz = np.arange(len(power)) * rate / n
    bands = [(f / 2**(1 / 6), f * 2**(1 / 6)) for f in THIRDS] + [(20, 22000)]
    return np.array([power[(hz >= low) & (hz < high)].sum() for low, high in bands])


def errors(got, truth, rate):
    """Energy of the difference over that of the truth in dB, by thirds of an octave; the last: all."""
    size = max(len(got), len(truth))
    got, truth = (np.pad(x, (0, size - len(x))) for x in (got, truth))
    n = length_for(max(2 * size, 4 * rate))
    wrong, right = (by_thirds(np.abs(np.fft.rfft(x, n))**2, n, rate) + 1e-30
                    for x in (got - truth, truth))
    return 10 * np.log10(wrong / right)


def lag_of(got, truth):
    """Frames by which `got` is later."""
    n = length_for(len(got) + len(truth))
    both = np.fft.irfft(np.fft.rfft(got, n) * np.fft.rfft(truth, n).conj(), n)
    lag = int(np.argmax(both))
    return lag - n if lag > n // 2 else lag


def shift(taps, frames):
    """Later by that many frames."""
    return np.pad(taps, (frames, 0)) if frames >= 0 else taps[-frames:]
