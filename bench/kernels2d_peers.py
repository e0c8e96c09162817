#!/usr/bin/env python3
"""Times our GPU kernel of two dimensions beside what others offer, in one run on the
same GPU, on a random float32 picture, and prints a Markdown table of ratios.

    bench/kernels2d_peers.py [--halo build/halo] [--side 8192] [--repeats 7]

Peers: torch conv2d, cupyx.scipy.ndimage.convolve, NPP's FilterBorder, and OpenCV's filter2D,
which is the CPU's unless OpenCV was built with CUDA; those that are not installed are left out.
Ours: the register kernel, pitched. Edges are zero, NPP's replicated, which is all it knows. Peers
get pictures of the same size, not the same: all data is random.
"""
import argparse
import ctypes
import json
import statistics
import subprocess
import time

MASKS = [3, 5, 7, 9, 15, 31]
SLOW = 0.5  # seconds a run: such a peer is timed once
REPLICATE = 2  # NPP_BORDER_REPLICATE


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halo", default="build/halo")
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=7)
    return parser.parse_args()


def ours(arguments):
    command = [arguments.halo, "bench", "kernels", "--dim", "2", "--kernel", "register", "--json",
               "--masks", ",".join(map(str, MASKS)), "--sizes", str(arguments.side),
               "--repeats", str(arguments.repeats)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    times = {row["mask_rows"]: row["seconds"] for row in report["rows"]}
    return report["device"], times


def median_of(run, repeats):
    """Median of what `run` returns, seconds; two to warm up, unless they were slow."""
    times = []
    for turn in range(2 + repeats):
        if turn == 2:
            if times[-1] > SLOW:
                break
            times = []
        times.append(run())
    return statistics.median(times[1:] if times[-1] > SLOW else times)


def on_gpu(event, elapsed, call):
    """One run's seconds, by events."""
    def run():
        begin, end = event(), event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return 1e-3 * elapsed(begin, end)
    return run


def torch_run(side, mask):
    import torch
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.conv.fp32_precision = "ieee"  # as exact as ours, not tf32
    picture = torch.rand(1, 1, side, side, device="cuda") * 2 - 1
    taps = torch.rand(1, 1, mask, mask, device="cuda") * 2 - 1
    return on_gpu(lambda: torch.cuda.Event(enable_timing=True), lambda a, b: a.elapsed_time(b),
                  lambda: torch.nn.functional.conv2d(picture, taps, padding=mask // 2))


def cupy_random(side):
    import cupy
    return cupy.random.random((side, side), dtype=cupy.float32) * 2 - 1


def cupy_run(side, mask):
    import cupy
    from cupyx.scipy.ndimage import convolve
    picture, taps = cupy_random(side), cupy_random(mask)
    out = cupy.empty_like(picture)
    return on_gpu(cupy.cuda.Event, cupy.cuda.get_elapsed_time,
                  lambda: convolve(picture, taps, output=out, mode="constant"))


class Pair(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class StreamContext(ctypes.Structure):
    _fields_ = [("stream", ctypes.c_void_p)] + [
        (name, ctypes.c_int) for name in ("device", "multiprocessors", "threads", "block_threads")
    ] + [("shared", ctypes.c_size_t)] + [
        (name, ctypes.c_int) for name in ("major", "minor", "flags", "reserved")]


def npp_run(side, mask):
    import cupy
    core = ctypes.CDLL("libnppc.so.13")
    convolve = ctypes.CDLL("libnppif.so.13").nppiFilterBorder_32f_C1R_Ctx
    context = StreamContext()
    if core.nppGetStreamContext(ctypes.byref(context)) != 0:
        raise RuntimeError("no NPP stream")
    picture, taps = cupy_random(side), cupy_random(mask)
    out = cupy.empty_like(picture)
    address = ctypes.c_void_p
    size = Pair(side, side)

    def call():
        status = convolve(address(picture.data.ptr), 4 * side, size, Pair(0, 0),
                          address(out.data.ptr), 4 * side, size, address(taps.data.ptr),
                          Pair(mask, mask), Pair(mask // 2, mask // 2), REPLICATE, context)
        if status != 0:
            raise RuntimeError(f"NPP's status {status}")
    return on_gpu(cupy.cuda.Event, cupy.cuda.get_elapsed_time, call)


def opencv_run(side, mask):
    import cv2
    import numpy
    random = numpy.random.default_rng(1)
    picture = random.random((side, side), dtype=numpy.float32)
    taps = random.random((mask, mask), dtype=numpy.float32)
    out = numpy.empty_like(picture)

    def run():
        begin = time.perf_counter()
        cv2.filter2D(picture, -1, taps, dst=out, borderType=cv2.BORDER_CONSTANT)
        return time.perf_counter() - begin
    return run


PEERS = {"torch conv2d": torch_run, "cupyx ndimage.convolve": cupy_run, "NPP FilterBorder": npp_run,
         "OpenCV filter2D (CPU)": opencv_run}


def main():
    arguments = parse()
    device, times = ours(arguments)
    cells = arguments.side ** 2
    print(f"{device}, {arguments.side} x {arguments.side} random float32 cells, "
          f"median of {arguments.repeats}\n")
    print("| mask | halo, ms | TFLOP/s | peer | peer's ms | peer's / ours |\n|---|---|---|---|---|---|")
    for mask in MASKS:
        own = times[mask]
        left = f"| {mask}x{mask} | {1e3 * own:.3f} | {2e-12 * mask ** 2 * cells / own:.1f}"
        for name, peer in PEERS.items():
            try:
                theirs = median_of(peer(arguments.side, mask), arguments.repeats)
            except (ImportError, OSError):
                continue
            except RuntimeError as error:
                print(f"{left} | {name} | failed: {str(error).splitlines()[0][:60]} | |")
                continue
            print(f"{left} | {name} | {1e3 * theirs:.3f} | {theirs / own:.1f} |", flush=True)


if __name__ == "__main__":
    main()
