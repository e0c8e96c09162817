"""The examples of docs/python.md run as they are. Arguments: the source tree; "torch" for those with PyTorch, which
are the others' complement. Exit code 77: there is no PyTorch."""
import importlib.util
import os
import pathlib
import re
import sys
import tempfile

source, with_torch = pathlib.Path(sys.argv[1]), "torch" in sys.argv[2:]
if with_torch and not importlib.util.find_spec("torch"):
    print("skipped: no PyTorch is installed")
    sys.exit(77)
blocks = re.findall(r"^```python\n(.*?)^```", (source / "docs" / "python.md").read_text(), re.M | re.S)
blocks = [block for block in blocks if ("import torch" in block) == with_torch]
assert len(blocks) == 3, len(blocks)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in ("filters", "wav"):
        os.symlink(source / part, part)
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), {"__name__": "example"})
    os.chdir("/")
