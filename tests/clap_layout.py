#!/usr/bin/env python3
"""Our declarations of CLAP (src/plugin/clap/clap_abi.h) are those of the system's <clap/clap.h>: the
size of each structure, offset and size of each member, and each constant.

    clap_layout.py SOURCE CC [FOLDER OF clap/clap.h]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

source, compiler, folders = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
text = re.sub(r"/\*.*?\*/", "", (source / "src/plugin/clap/clap_abi.h").read_text(), flags=re.S)
rows = []
for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", text, flags=re.S):
    rows.append(f'P("{name} %zu", sizeof(struct {name}));')
    for declaration in filter(str.strip, body.split(";")):
        pointer = re.search(r"\(\*(\w+)\)\(", declaration)
        names = [pointer[1]] if pointer else [
            re.search(r"(\w+)\s*(\[.*\])?$", part.strip())[1] for part in declaration.split(",")]
        for member in names:
            of = f"((struct {name} *)0)->{member}"
            rows.append(f'P("{name}.{member} %zu %zu", offsetof(struct {name}, {member}), '
                        f"sizeof {of});")
for names in re.findall(r"enum \{(.*?)\}", text, flags=re.S):
    for constant in re.findall(r"\b(CLAP_\w+)\s*(?:=[^,]*)?(?:,|$)", names.strip()):
        rows.append(f'P("{constant} %lld", (long long){constant});')
for constant in re.findall(r'#define (CLAP_\w+) "', text):
    rows.append(f'P("{constant} %s", {constant});')
assert len(rows) > 250, "too few to be all"


def layout(include, folder):
    program = (f"#include {include}\n#include <stddef.h>\n#include <stdio.h>\n"
               "#define P(...) printf(__VA_ARGS__), puts(\"\")\n"
               "int main(void)\n{\n" + "\n".join(rows) + "\nreturn 0;\n}\n")
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "layout.c").write_text(program)
        subprocess.run([compiler, "-o", f"{work}/layout", f"{work}/layout.c",
                        *[f"-I{place}" for place in folder]], check=True)
        return subprocess.run([f"{work}/layout"], check=True, capture_output=True,
                              text=True).stdout.splitlines()


ours = layout('"plugin/clap/clap_abi.h"', [source / "src"])
theirs = layout("<clap/clap.h>", folders)
different = [f"{a} is {b} in <clap/clap.h>" for a, b in zip(ours, theirs) if a != b]
print("\n".join(different) if different else f"{len(ours)} sizes, offsets and constants agree")
sys.exit(bool(different))
