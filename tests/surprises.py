#!/usr/bin/env python3
"""bench/surprises finds the steps that are in a report, and no others; and what it measures of halo is
such a report. No time of this machine is judged.

    tests/surprises.py SOURCE HALO FOLDER"""
import json
import os
import subprocess
import sys
import tempfile

source, halo, folder = sys.argv[1:]
scratch = tempfile.mkdtemp(dir=folder)
program = f"{source}/bench/surprises"


def point(taps, seconds):
    return {"job": {"taps": taps, "channels": 1, "seconds": 1}, "work": 1e6 * taps, "wall": seconds,
            "algorithm": "direct", "block": 64}


def faults_in(times, kind="render"):
    """Of points whose work doubles."""
    line = {"name": "", "kind": kind, "axis": "taps", "backend": "cpu", "left_out": [],
            "held": {"channels": 1, "seconds": 1},
            "points": [point(16 << i, seconds) for i, seconds in enumerate(times)]}
    path = f"{folder}/surprises-read.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"start": {"wall": 0.001, "processor": 0.001}, "lines": [line]}, file)
    result = subprocess.run([program, "--read", path], capture_output=True, text=True)
    found = [row for row in result.stdout.splitlines() if row.startswith("FAULT")]
    assert result.returncode == (1 if found else 0) and not result.stderr, result
    return [("step" if ": step," in row else "slower", row.split(": ")[3].split(",")[0])
            for row in found]


def expect(times, faults, **options):
    found = faults_in(times, **options)
    assert found == faults, f"{times}: {found}, not {faults}"


line = [[0.1 * 2**i, 0.1 * 2**i] for i in range(8)]
expect(line, [])
expect([[0.004], [0.004], [0.0041]], [])  # the start of a process
expect([[0.004], [0.0059], [0.005]], [])  # its noise
expect(line[:4] + [[3.2 * t for t in pair] for pair in line[4:]], [("step", "128 -> 256")])
expect(line[:4] + [[9.0, 1.6]] + line[5:], [])  # one round of several was late
expect([[0.1], [0.2], [0.9], [0.8], [1.6]], [("step", "32 -> 64"), ("slower", "64 -> 128")])
expect([[0.2], [0.1], [0.4]], [("slower", "16 -> 32"), ("step", "32 -> 64")])
expect([[1e-6], [1.5e-6], [9e-6]], [("step", "32 -> 64")], kind="bench stream")

output = f"{folder}/surprises-measured.json"
result = subprocess.run([program, "--halo", halo, "--lines", "^(bench )?render, cpu: taps; [12] ch",
                         "--rounds", "1", "--budget", "4", "--folder", scratch, "--memory", "0.2",
                         "-o", output], capture_output=True, text=True)
assert result.returncode in (0, 1), result
with open(output, encoding="utf-8") as file:
    report = json.load(file)
points = [point for line in report["lines"] for point in line["points"]]
assert points, result
for point in points:
    assert min(point["wall"]) > 0 and point["algorithm"] and point["block"] > 0, point
assert not os.listdir(scratch), os.listdir(scratch)

for wrong in (["--read", f"{folder}/none.json"], ["--halo", f"{folder}/none", "-o", output], []):
    result = subprocess.run([program, *wrong], capture_output=True, text=True)
    assert result.returncode in (1, 2) and result.stderr.startswith(("surprises: ", "usage")), result
os.rmdir(scratch)
