"""What lhotse makes of sounds and rooms: run by bench/speech_peers with a Python that has lhotse.

    python speech_lhotse.py TASKS.jsonl

A task is an object with "sound", "room", "room_channel" (from 0), "options" of reverb_rir and "out", a
file of NumPy for the samples, perhaps also "noise" and "snr". What lhotse refuses is in "out" with .txt at its end. Prints
lhotse's version and the processor time of the loop.
"""

import json
import sys
import time

import numpy
import torch

import lhotse


def reverberate(task):
    cut = lhotse.Recording.from_file(task["sound"]).to_cut()
    room = lhotse.Recording.from_file(task["room"])
    made = cut.reverb_rir(room, rir_channels=[task["room_channel"]], **task["options"])
    if "noise" in task:
        noise = lhotse.Recording.from_file(task["noise"]).to_cut()
        made = made.mix(noise.truncate(duration=cut.duration), snr=task["snr"])
    return made.load_audio()


def run(task):
    try:
        samples = reverberate(task)
    except Exception as error:  # whatever lhotse and torch raise
        with open(task["out"] + ".txt", "w") as file:
            print(f"{type(error).__name__}: {error}".splitlines()[0], file=file)
    else:
        numpy.save(task["out"], samples)


torch.set_num_threads(1)
with open(sys.argv[1]) as lines:
    tasks = [json.loads(line) for line in lines]
begin = time.process_time()
for each in tasks:
    run(each)
print(json.dumps({"version": lhotse.__version__, "seconds": time.process_time() - begin}))
