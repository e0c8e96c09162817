#!/usr/bin/env python3
"""Times the GPU kernels beside what a Python user would use instead, in one
run on the same GPU, on random float32 data, and prints a Markdown table of ratios.

    bench/kernels_peers.py [--halo build/halo] [--samples 2^26] [--repeats 7]

Peers: torch conv1d, torchaudio fftconvolve, cupyx oaconvolve; those that are not
installed are skipped. halo: the faster of the register and the fft kernel. Peers get
the same array sizes, not the same arrays: all data is random.
"""
import argparse
import json
import statistics
import subprocess

TAPS = [5, 33, 65, 257, 1025, 4097, 16385, 65536, 480000]
DIRECT_TAPS = 16385  # conv1d would take minutes beyond
SLOW = 0.5  # seconds a run: such a peer is timed once


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halo", default="build/halo")
    parser.add_argument("--samples", default="2^26")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    base, _, power = arguments.samples.partition("^")
    arguments.count = int(base) ** int(power) if power else int(base)
    return arguments


def ours(arguments):
    command = [arguments.halo, "bench", "kernels", "--kernel", "register,fft", "--json",
               "--taps", ",".join(map(str, TAPS)), "--samples", str(arguments.count),
               "--repeats", str(arguments.repeats)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    best = {}
    for row in report["rows"]:
        rate = row["samples_per_second"]
        if row["kernel"] != "copy" and rate > best.get(row["taps"], (0, ""))[0]:
            best[row["taps"]] = (rate, row["kernel"])
    return report["device"], best


def timed(torch, run, repeats):
    """Median seconds of a run on the GPU, by events."""
    times = []
    for turn in range(2 + repeats):
        if turn == 2:  # two to warm up, unless they were slow
            if times[-1] > SLOW:
                break
            times = []
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(1e-3 * begin.elapsed_time(end))
    return statistics.median(times[1:] if times[-1] > SLOW else times)


def torch_peers(torch, count, taps):
    """Name and call of each peer on torch tensors."""
    sound = torch.rand(1, 1, count, device="cuda") * 2 - 1
    mask = torch.rand(1, 1, taps, device="cuda") * 2 - 1
    if taps <= DIRECT_TAPS:
        yield "torch conv1d", lambda: torch.nn.functional.conv1d(sound, mask)
    try:
        from torchaudio.functional import fftconvolve
    except ImportError:
        return
    yield "torchaudio fftconvolve", lambda: fftconvolve(sound[0], mask[0])


def cupy_rate(count, taps, repeats):
    try:
        import cupy
        from cupyx.scipy.signal import oaconvolve
    except ImportError:
        return None
    sound = cupy.random.random(count, dtype=cupy.float32) * 2 - 1
    mask = cupy.random.random(taps, dtype=cupy.float32) * 2 - 1
    times = []
    for round_number in range(repeats + 2):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        oaconvolve(sound, mask)
        end.record()
        end.synchronize()
        if round_number >= 2:
            times.append(1e-3 * cupy.cuda.get_elapsed_time(begin, end))
    return count / statistics.median(times)


def main():
    arguments = parse()
    device, best = ours(arguments)
    import torch
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.conv.fp32_precision = "ieee"  # as exact as ours, not tf32
    print(f"{device}, {arguments.count} random float32 samples, Gsamples/s, "
          f"median of {arguments.repeats}\n")
    print("| taps | halo | kernel | peer | peer's | ours / peer's |\n|---|---|---|---|---|---|")
    for taps in TAPS:
        peers = {}
        rate, kernel = best[taps]
        for name, run in torch_peers(torch, arguments.count, taps):
            try:
                peers[name] = arguments.count / timed(torch, run, arguments.repeats)
            except RuntimeError as error:  # out of memory, or no algorithm for this size
                print(f"| {taps} | {1e-9 * rate:.2f} | {kernel} | {name} | failed: "
                      f"{str(error).splitlines()[0][:60]} | |")
            torch.cuda.empty_cache()
        cupy = cupy_rate(arguments.count, taps, arguments.repeats)
        if cupy:
            peers["cupyx oaconvolve"] = cupy
        for name, theirs in peers.items():
            print(f"| {taps} | {1e-9 * rate:.2f} | {kernel} | {name} | {1e-9 * theirs:.2f} | "
                  f"{rate / theirs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
