#!/usr/bin/env python3
"""The Kubernetes recipe: a validator of its schema takes it and no misspelling of it, its command does
all of a list over its indices, and its policy knows the exit codes.

    deploy_kubernetes.py HALO SOURCE
"""

import copy
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import wave

halo, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
tools = source / "build-tools" / "bin" / "python"
if pathlib.Path(sys.prefix) != source / "build-tools":
    if not tools.exists() or subprocess.run([tools, "-c", "import kubernetes_validate"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: kubernetes-validate is not in build-tools/; scripts/setup check installs it")
        sys.exit(77)
    os.execv(tools, [tools, __file__, halo, source])

import kubernetes_validate
import yaml

VERSIONS = ["1.29", "1.33", "1.37"]  # the first that has backoffLimitPerIndex by default; a later one; the last known
NAMES_ARE_FREE = {"requests", "limits"}


def is_valid(recipe, version):
    try:
        kubernetes_validate.validate(recipe, version, strict=True)
    except kubernetes_validate.ValidationError:
        return False
    return True


def places_of(node, path=()):
    """The path of each key of a recipe."""
    if isinstance(node, dict):
        for key, value in node.items():
            if not (path and path[-1] in NAMES_ARE_FREE):
                yield (*path, key)
            yield from places_of(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from places_of(value, (*path, i))


def misspelt(recipe, place):
    changed = copy.deepcopy(recipe)
    node = changed
    for step in place[:-1]:
        node = node[step]
    node[place[-1] + "x"] = node.pop(place[-1])
    return changed


def check_schema(recipe):
    for version in VERSIONS:
        assert is_valid(recipe, version), f"no Job of Kubernetes {version}"
    places = [place for place in places_of(recipe) if place not in {("kind",), ("apiVersion",)}]
    assert len(places) > 30
    for place in places:
        assert not is_valid(misspelt(recipe, place), VERSIONS[-1]), f"{place} misspelt was taken"


def action_of(recipe, code):
    """What the policy does with an exit code; None: it counts."""
    for rule in recipe["spec"]["podFailurePolicy"]["rules"]:
        codes = rule.get("onExitCodes")
        if codes and code in codes["values"]:
            assert codes["operator"] == "In"
            return rule["action"]
    return None


def write_noise(path, frames):
    rng = random.Random(str(path))
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(rng.randbytes(2 * frames))


def run(arguments, folder, **environment):
    return subprocess.run([halo, *arguments], cwd=folder, env={**os.environ, **environment},
                          capture_output=True, text=True)


def outputs(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.wav")}


def check_command(recipe, folder):
    spec, container = recipe["spec"], recipe["spec"]["template"]["spec"]["containers"][0]
    arguments, count = container["args"], spec["completions"]
    at = arguments.index("--shard")
    assert arguments[at + 1] == str(count), "completions and --shard differ"
    (folder / "in").mkdir()
    for i in range(24):
        write_noise(folder / "in" / f"u{i:02}.wav", 4000 + i)
    write_noise(folder / "hall.wav", 500)
    (folder / "in" / "u07.wav").write_text("poison")
    (folder / "jobs.jsonl").write_text("".join(f'{{"in": "in/u{i:02}.wav"}}\n' for i in range(24)))

    codes = []
    for index in range(count):
        shard = run(arguments, folder, JOB_COMPLETION_INDEX=str(index))
        assert f"shard {index + 1} of {count}, by JOB_COMPLETION_INDEX" in shard.stderr, shard.stderr
        codes.append(shard.returncode)
    assert sorted(codes) == [0] * (count - 1) + [3], codes
    assert action_of(recipe, 3) == "FailIndex"
    beyond = run(arguments, folder, JOB_COMPLETION_INDEX=str(count))
    assert beyond.returncode == 2 and action_of(recipe, 2) == "FailJob"
    assert [action_of(recipe, code) for code in (1, 4, 137)] == [None] * 3

    whole = [word for i, word in enumerate(arguments) if i not in (at, at + 1)]
    whole[whole.index("-O") + 1] = "want"
    assert run(whole, folder).returncode == 3
    made = outputs(folder / "out")
    assert len(made) == 23 and made == outputs(folder / "want"), "the shards are not the one run"


def main():
    text = (source / "deploy" / "kubernetes" / "batch.yaml").read_text()
    recipe = yaml.safe_load(text)
    check_schema(recipe)
    containers = {container["name"] for container in recipe["spec"]["template"]["spec"]["containers"]}
    for rule in recipe["spec"]["podFailurePolicy"]["rules"]:
        assert rule.get("onExitCodes", {}).get("containerName", "halo") in containers
    version = subprocess.run([halo, "--version"], capture_output=True, text=True).stdout.split()[1]
    image = recipe["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.endswith(":" + version.rstrip(",")), f"{image}, but this is {version}"
    with tempfile.TemporaryDirectory() as folder:
        check_command(recipe, pathlib.Path(folder))


main()
