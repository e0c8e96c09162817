"""`render`: the program."""
import errno
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Union

from ._library import FOLDER, library

ERRNO = {"missing": errno.ENOENT, "exists": errno.EEXIST, "not permitted": errno.EACCES, "no space": errno.ENOSPC,
         "read-only": errno.EROFS, "damaged": errno.EIO, "device": errno.EIO}
OTHERS = {"usage": ValueError, "no memory": MemoryError}


def program() -> str:
    """The halo that belongs to the library, or the one in the PATH."""
    for folder in (FOLDER, pathlib.Path(library._name).resolve().parent):
        if os.access(folder / "halo", os.X_OK) and (folder / "halo").is_file():
            return str(folder / "halo")
    found = shutil.which("halo")
    if not found:
        raise FileNotFoundError(errno.ENOENT, "there is no program halo beside libhalo or in the PATH", "halo")
    return found


def words_of(options: dict[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                words += ["--" + name.replace("_", "-")] + ([] if one is True else [str(one)])
    return words


def error_of(error: dict[str, Any]) -> Exception:
    cause, message = error["cause"], error["message"]
    if cause in ERRNO:
        return OSError(ERRNO[cause], message)
    return OTHERS.get(cause, RuntimeError)(message)


def render(source: Union[str, os.PathLike], output: Union[str, os.PathLike], *words: str, **options: Any) -> dict:
    """Render a sound file by the program: render("voice.wav", "out.wav", mask="hall.wav", normalize="-16LUFS").

    words: more of the command line. options: those of `halo render`, in order, with _ for -; True is an option
        without a value, a list an option several times.
    Returns the program's report. Raises OSError, ValueError, MemoryError or RuntimeError with its message.
    """
    command = [program(), "render", "--json", *words, *words_of(options), "--", os.fspath(source), os.fspath(output)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    try:
        report = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines()
        raise RuntimeError(said[-1] if said else f"halo ended with exit code {done.returncode}") from None
    if done.returncode:
        raise error_of(report["error"])
    return report
