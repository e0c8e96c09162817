#!/usr/bin/env python3
"""What a real-time step calls is marked HALO_REALTIME, and calls nothing that could wait.

    realtime_calls.py SOURCE BUILD

The calls are gcc's own, of each file compiled again without inlining. Sources that are compiled
for each precision (signal/real.h) are looked at twice, under the names of single precision. Calls through pointers lead
to the functions of tables, which are entry points: each of those is to be marked as well.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Where a step begins: rows of tables, by the name of the field, and what is called from outside or
# through other pointers (a static function with its file).
FIELDS = "process|step|post|collect|is_worker_late"
ENTRIES = {"device_process", "live_step", "src/live/live.c:run_block", "live_process", "player_read",
           "recorder_write", "lv2/instance.c:instance_run", "clap/clap_effect.c:clap_effect_process", "listen_source_step",
           "halo_convolver_process", "halo_convolver_process_channels"}
# Rows that wait for threads that share their work in files, or for a GPU.
WAITING = {"batch_step", "cpu_batch_step", "double_step", "gathered_step", "gpu_process"}
# What a step calls although it is none of this, each for a reason.
EXCEPTIONS = {
    "job_pause": "sleeps briefly if the worker that is waited for was preempted",
    "futex_sleep": "waits for a plugin's process, live until the deadline of the block at most",
    "futex_wake": "wakes a plugin's process that sleeps: a system call that does not wait",
    "futex_wake_one": "wakes a worker that sleeps, if a step is shared out: the same",
    "prover_wait": "waits in files for the proof; live a stretch is left out",
    "convolver_make_standby": "sets up the CPU in files, after a GPU failed; live it stands by",
    "fault_at": "breaks a GPU where a test asks for it",
    "gpu_abandon": "leaves a GPU that failed, once",
    "raise_priority": "asks for a real-time priority, at the first block of a thread",
    "workers_run": "waits for the workers that filters have in files; live there are none",
    "attend_between_blocks": "what a plugin asks for on its main thread; live a thread does it",
    "lv2_instance_reset": "a host's jump in time; in files only",
}
# What is called from outside the tree, and neither allocates nor waits nor prints.
ALLOWED = re.compile(
    r"(__builtin_)?(mem(cpy|set|move|cmp|chr)|str(n?len|cmp|ncmp|chr|cpy)|__assert_fail|abort|v?snprintf)$|"
    r"_?_?(a?(sin|cos|tan)h?|atan2|sincos|exp2?|exp10|log(2|10|1p)?|pow|sqrt|cbrt|hypot|fabs|f?(min|max)|"
    r"floor|ceil|l*r?int|l*round|nearbyint|trunc|fmod|remainder|ldexp|frexp|nextafter|copysign|"
    r"scalbn|isnan|isinf|fpclassify|signbit|isfinite)[fl]?$|"
    r"jack_port_get_buffer$|pw_(filter_get_dsp|stream_(de)?queue)_buffer$|pw_stream_trigger_process$|"
    r"lilv_instance_(run|connect_port)$|lv2_atom_\w+$|"
    r"clock_gettime$|getrusage$|sched_(getcpu|[gs]etaffinity)$|pthread_self$|sched_yield$|__atomic_\w+$|__builtin_\w+$|"
    r"__cpu_\w+$|live_launch$|cuda(SetDevice|GraphLaunch|MemcpyAsync|StreamQuery|EventQuery|GetLastError|PeekAtLastError|"
    r"GetErrorString|EventRecord)$")
FUNCTION = r"\b([a-z_][A-Za-z0-9_]*)\("


def plain(text):
    """Names as in single precision; files keep theirs."""
    return re.sub(r"_in_double\b(?!\.)", "", re.sub(r"\b(?:REAL|INNER)\((\w+)\)", r"\1", text))


def sources(source):
    return sorted(p for d in ("src", "gpu", "lv2", "clap") for p in (source / d).rglob("*.[ch]"))


class Marks:
    """Which functions carry the marker, and which begin a step, by gcc's titles of them:
    `path:name` where one is static, `name` where it is not."""

    def __init__(self, source):
        self.marked, self.entries = {}, {}
        for path in sources(source):
            text = plain(path.read_text())
            self.marked[str(path)] = set(
                re.findall(r"HALO_REALTIME\b[^;{()]*?" + FUNCTION, text))
            self.entries[str(path)] = (
                set(re.findall(r"[{\s]\.(?:%s) = ([a-z]\w+)\s*[,}]" % FIELDS, text)) - WAITING |
                {e.partition(":")[2] for e in ENTRIES
                 if e.startswith(f"{path.relative_to(source)}:")})
        self.anywhere = set().union(*self.marked.values())
        self.begins = set().union(ENTRIES, *self.entries.values())

    def is_marked(self, title):
        path, _, name = title.rpartition(":")
        return name in (self.marked.get(path, ()) if path else self.anywhere)

    def begins_step(self, title):
        path, _, name = title.rpartition(":")
        return name in (self.entries.get(path, ()) if path else self.begins)


def calls_of(entry, folder, source):
    """The functions of ours in one file, and its calls as (caller, callee, where)."""
    words = shlex.split(entry["command"])
    precision = "_in_double" if "-DHALO_DOUBLE" in words else ""
    out = pathlib.Path(folder) / (re.sub(r"\W", "_", entry["file"]) + precision)
    del words[words.index("-o"):words.index("-o") + 2]
    words = [w for w in words if w not in ("-c", "-DHALO_TARGET_CLONES", "-Werror")
             and not w.startswith(("-O", "-fsanitize"))]
    if words[0].endswith("ccache"):
        words = words[1:]
    subprocess.run(words + ["-DHALO_CALLS_AS_WRITTEN", "-w", "-O0", "-fcallgraph-info", "-S", "-o", f"{out}.s"],
                   cwd=entry["directory"], check=True)
    text = plain(pathlib.Path(f"{out}.ci").read_text())
    os.unlink(f"{out}.s")
    titles = {}  # gcc names the includer of a static function in a header, and we the header
    for title, where, external in re.findall(
            r'^node: \{ title: "(.*?)" label: "[^"]*?\\n([^"]*?):\d+:\d+"( shape : ellipse)?', text, re.M):
        name = title.rpartition(":")[2]
        ours = not external and pathlib.Path(where).is_relative_to(source)
        titles[title] = (f"{where}:{name}" if ":" in title else name, ours)
    edges = [(titles[caller][0], titles.get(callee, (callee,))[0], where)
             for caller, callee, where in re.findall(
                 r'^edge: \{ sourcename: "(.*?)" targetname: "(.*?)" label: "(.*?)"', text, re.M)]
    return {title for title, ours in titles.values() if ours}, edges


def all_calls(source, build, marks):
    """Of the files that have a marked function, or one that begins a step: a sixth of all."""
    names = re.compile(r"\b(?:HALO_REALTIME|%s)\b" % "|".join(
        e.rpartition(":")[2] for e in sorted(marks.begins)))
    commands = [e for e in json.loads((build / "compile_commands.json").read_text())
                if e["file"].endswith(".c")
                and pathlib.Path(e["file"]).relative_to(source).parts[0] in ("src", "gpu", "lv2", "clap")
                and names.search(plain(pathlib.Path(e["file"]).read_text()))]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda e: calls_of(e, folder, source), commands))


def faults(source, marks, files):
    defined = set().union(*(titles for titles, _ in files))
    known = {title.rpartition(":")[2] for title in defined}
    for name in sorted(e.rpartition(":")[2] for e in ENTRIES):
        if name not in known:
            yield f"{name}: one of ENTRIES, and not defined"
    for title in sorted(filter(marks.begins_step, defined)):
        if not marks.is_marked(title):
            yield f"{os.path.relpath(title, source)}: begins a step, and is not marked HALO_REALTIME"
    for caller, callee, where in (edge for _, edges in files for edge in edges):
        if not marks.is_marked(caller) or marks.is_marked(callee) or callee == "__indirect_call":
            continue
        path, line = where.split(":")[:2]
        what = f"{os.path.relpath(path, source)}:{line}: {caller.rpartition(':')[2]} calls "
        name = callee.rpartition(":")[2]
        if name in EXCEPTIONS:
            continue
        if callee not in defined and not ALLOWED.match(name):
            yield what + f"{name}, which no step may"
        elif callee in defined:
            yield what + f"{name}, which is not marked HALO_REALTIME"


def main():
    source, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    marks = Marks(source)
    found = sorted(set(faults(source, marks, all_calls(source, build, marks))))
    for fault in found:
        print(fault)
    count = sum(map(len, marks.marked.values()))
    print(len(found), "faults;", count, "functions marked")
    sys.exit(1 if found or count < 50 else 0)


if __name__ == "__main__":
    main()
