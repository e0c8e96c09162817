"""What the scripts of bench/ share: the program, random sounds, timing in turns, tables of Markdown."""
import argparse
import ctypes
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS_MOST = 1800  # a program that takes longer is ended
# A child of this process would count this process's memory in its own peak. So a shell starts the
# program and ends. The program then becomes a child of this process (as an orphan).
STARTER = '"$@" & echo $! >"$HALO_BENCH_PID"'
PR_SET_CHILD_SUBREAPER = 36
# Table for the upper byte of random floats: keeps the sign, and sets the exponent to -5..-4.
EXPONENT = bytes(byte & 0x80 | 0x3D for byte in range(256))
NOISE = bytearray(os.urandom(4 << 20))
NOISE[3::4] = NOISE[3::4].translate(EXPONENT)
NOISE16 = bytearray(os.urandom(4 << 20))
NOISE16[1::2] = NOISE16[1::2].translate(bytes((byte & 63) - 32 & 255 for byte in range(256)))


class Failed(Exception):
    """A program failed, or cannot do what is asked for."""


class Times(NamedTuple):
    wall: float
    user: float
    system: float
    peak: float  # MB of memory, of the largest process

    @property
    def processor(self):
        return self.user + self.system


def parser(doc, rounds=5):
    """Of a script's options: --halo and --rounds."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--halo", default=ROOT / "build" / "halo", help="the program to measure",
                      type=lambda path: pathlib.Path(path).resolve())
    made.add_argument("--rounds", type=int, default=rounds, help=f"in turn; default {rounds}")
    return made


def folder(memory=False):
    """A temporary folder, for `with`; memory: in memory."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if memory else None)


# ---- sounds ----


def noise(count):
    """Random float samples of at most 1/8, `count` of them, as bytes."""
    start = int.from_bytes(os.urandom(2), "little") * 4
    turned = NOISE[start:] + NOISE[:start]
    return (turned * (4 * count // len(turned) + 1))[:4 * count]


def write_wav(path, rate, channels, data, bits=32):
    """`data`: samples as bytes, or parts of them; 32 bits are floats, 16 integers."""
    parts = [data] if isinstance(data, (bytes, bytearray)) else data
    with open(path, "wb") as file:
        file.write(bytes(80))
        size = sum(file.write(part) for part in parts)
        if size >= (1 << 32) - 80:
            raise Failed("a WAV file holds no more than 4 GB")
        block, tag = bits // 8 * channels, 3 if bits == 32 else 1
        # The extensible header, for more than two channels. Its GUID names the sample format.
        form = struct.pack("<HHIIHHHHIH", 0xFFFE, channels, rate, rate * block, block, bits, 22, bits, 0, tag)
        form += bytes.fromhex("000000001000800000aa00389b71")
        file.seek(0)
        file.write(b"RIFF" + struct.pack("<I", 72 + size) + b"WAVEfmt " + struct.pack("<I", 40) + form +
                   b"fact" + struct.pack("<II", 4, size // block) + b"data" + struct.pack("<I", size))


def write_noise(path, rate, channels, frames, bits=32):
    """White noise of at most 1/8 of full scale, or with 16 bits 1/4."""
    size = bits // 8

    def part(count):
        data = bytearray((NOISE if bits == 32 else NOISE16) * (size * count // len(NOISE) + 2))
        start = int.from_bytes(os.urandom(2), "little") * size
        return data[start:start + size * count]

    write_wav(path, rate, channels, (part(min(10 * rate, frames - at) * channels)
                                     for at in range(0, frames, 10 * rate)), bits)


# ---- timing ----


def adopt_orphans():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("cannot adopt orphaned processes")


def stop_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def reap_all(starter, pid_file):
    """Wait for the program and what it leaves behind; its exit code, and what all of them used."""
    codes, usages = {}, []
    while True:
        try:
            process, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return codes[int(pid_file.read_text())], usages
        codes[process] = os.waitstatus_to_exitcode(status)
        if process != starter:
            usages.append(usage)


def measure(command, cwd=None, **environment):
    """Run it to its end: its Times. Errors: Failed, with its last line."""
    with folder() as place:
        pid_file, log = pathlib.Path(place) / "pid", pathlib.Path(place) / "log"
        with open(log, "wb") as output:
            begin = time.perf_counter()
            starter = subprocess.Popen(
                ["sh", "-c", STARTER, "sh", *map(str, command)], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, cwd=cwd, env={**os.environ, **environment, "HALO_BENCH_PID": str(pid_file)},
                start_new_session=True)
            signal.signal(signal.SIGALRM, lambda *_: stop_group(starter.pid))
            signal.alarm(SECONDS_MOST)
            try:
                code, usages = reap_all(starter.pid, pid_file)
            except BaseException:
                stop_group(starter.pid)
                raise
            finally:
                signal.alarm(0)
            wall = time.perf_counter() - begin
        starter.returncode = 0  # reaped above, not by Popen
        if code != 0:
            said = log.read_text(errors="replace").strip().splitlines()
            raise Failed(f"{command[0]}: exit code {code}: {said[-1].strip() if said else 'no message'}")
    return Times(wall, sum(u.ru_utime for u in usages), sum(u.ru_stime for u in usages),
                 max(u.ru_maxrss for u in usages) * 1024 / 1e6)


def in_turns(rounds, runs, warm=True):
    """{name: function} -> {name: its results}, A B A B. Who fails is left out, with a line."""
    results = {name: [] for name in runs}
    for turn in range(rounds + warm):
        for name in list(results):
            try:
                result = runs[name]()
            except Failed as problem:
                print(f"{name} is left out: {problem}", file=sys.stderr)
                del results[name]
                continue
            if turn >= warm:
                results[name].append(result)
    return results


# ---- tables ----


def median(times, what):
    return statistics.median(getattr(one, what) for one in times)


def spread(times, what, form=".2f"):
    values = [getattr(one, what) for one in times]
    return f"{min(values):{form}}..{max(values):{form}}"


def row(*cells):
    print("| " + " | ".join(f"{c:.2f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def head(*names):
    row(*names)
    print("|" + "---|" * len(names), flush=True)


def machine():
    """In a line."""
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    return f"{len(os.sched_getaffinity(0))} processors: {model}, {time.strftime('%Y-%m-%d')}"


adopt_orphans()
