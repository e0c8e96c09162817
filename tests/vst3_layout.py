#!/usr/bin/env python3
"""Our declarations of VST3 (src/plugin/vst3/vst3_interface.h) are those of Steinberg's C++ headers: the
size of each structure, offset and size of each member, the functions of each interface in their
order, the identifiers, and each constant.

    vst3_layout.py SOURCE CC CXX FOLDER OF pluginterfaces/
"""
import pathlib
import re
import subprocess
import sys
import tempfile

source, cc, cxx, folder = pathlib.Path(sys.argv[1]), *sys.argv[2:4], pathlib.Path(sys.argv[4])
text = re.sub(r"/\*.*?\*/", "",
              (source / "src/plugin/vst3/vst3_interface.h").read_text(), flags=re.S)
HEADERS = ["base/ipluginbase.h", "base/ibstream.h", "vst/ivstcomponent.h", "vst/ivstaudioprocessor.h",
           "vst/ivsteditcontroller.h", "vst/ivstparameterchanges.h", "vst/ivstprocesscontext.h",
           "vst/ivsthostapplication.h", "vst/ivstmessage.h", "vst/ivstattributes.h", "vst/ivstunits.h",
           "base/funknown.h", "gui/iplugview.h"]
theirs = "\n".join((folder / "pluginterfaces" / name).read_text() for name in HEADERS)
theirs = re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", theirs), flags=re.S)
OTHER_NAMES = {"factory_info": "PFactoryInfo", "class_info": "PClassInfo", "class_info2": "PClassInfo2",
               "units": "IUnitInfo", "unknown": "FUnknown", "bstream": "IBStream",
               "channel_buffers": "channelBuffers32", "sample32": "kSample32", "sample64": "kSample64",
               "ok": "kResultOk", "false": "kResultFalse", "seek_set": "kIBSeekSet",
               "seek_cur": "kIBSeekCur", "seek_end": "kIBSeekEnd"}
SCOPES = [("Vst::BusInfo::", "DEFAULT_ACTIVE|IS_CONTROL_VOLTAGE"), ("Vst::ParameterInfo::", "CAN_.*|IS_.*"),
          ("Vst::ProcessContext::", "PLAYING|.*_VALID"), ("Vst::BusDirections::", "INPUT|OUTPUT"),
          ("IBStream::", "SEEK_.*"),
          ("", "OK|FALSE|NO_INTERFACE|NOT_.*|INVALID_ARGUMENT|INTERNAL_ERROR|OUT_OF_MEMORY"),
          ("Vst::", ".*")]


def camel(name, upper):
    if name in OTHER_NAMES and name != "units":
        return OTHER_NAMES[name]
    words = name.split("_")
    return (words[0].capitalize() if upper else words[0]) + "".join(
        word.upper() if word == "id" else word.capitalize() for word in words[1:]).replace("ID", "Id")


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def methods(interface):
    """The functions of an interface, those of its bases first."""
    found = re.search(rf"class {interface}\s*:\s*public (\w+)\s*\{{(.*?)static const FUID iid", theirs, re.S)
    if not found:
        return ["query_interface", "add_ref", "release"]
    return methods(found[1]) + [snake(name) for name in
                                re.findall(r"virtual [\w*]+\s*\*?\s*PLUGIN_API (\w+)", found[2])]


failed = False


def differ(*words):
    global failed
    failed = True
    print(*words)


# Interfaces.
count = 0
bases = {"VST3_UNKNOWN_CALLS": methods("FUnknown"), "VST3_PLUGIN_BASE_CALLS": methods("IPluginBase")}
for name, base, body in re.findall(r"VST3_INTERFACE\(vst3_(\w+)\)\s*\{\s*(\w+)(.*?)\n\};", text, re.S):
    interface = OTHER_NAMES.get(name, "I" + camel(name, True))
    ours = bases[base] + re.findall(r"\(\*(\w+)\)\(", body)
    published = methods(interface)
    count += len(ours)
    if ours != (published[:len(ours)] if name == "units" else published):
        differ(f"{interface} has {published}, and we {ours}")

# Structures, identifiers and constants: two programs print them.
c, cpp = [], []
for name, body in re.findall(r"struct vst3_(\w+) \{(.*?)\n\};", text, re.S):
    if name == "id" or "calls" in body:
        continue
    scope = "" if name.endswith(("class_info", "class_info2", "factory_info")) else "Vst::"
    published = f"Steinberg::{scope}{camel(name, True)}"
    c.append(f'P("{name} %zu", sizeof(struct vst3_{name}));')
    cpp.append(f'P("{name} %zu", sizeof({published}));')
    for declaration in filter(str.strip, body.split(";")):
        for part in declaration.split(","):
            member = re.search(r"(\w+)\s*(\[.*\])?$", part.strip())[1]
            for rows, struct, its in ((c, f"struct vst3_{name}", member),
                                      (cpp, published, camel(member, False))):
                rows.append(f'P("{name}.{member} %zu %zu", offsetof({struct}, {its}), '
                            f"sizeof((({struct} *)0)->{its}));")
for name in re.findall(r"vst3_(\w+)_iid =", text):
    interface = OTHER_NAMES.get(name, "I" + camel(name, True))
    scope = "" if f"I{camel(name, True)}" in theirs.split("namespace Vst")[0] else "Vst::"
    c.append(f'H("{name}", &vst3_{name}_iid);')
    cpp.append(f'{{ using namespace Steinberg; using namespace Steinberg::Vst; using namespace Steinberg::Linux; '
               f'H("{name}", {interface}_iid); }}')
for names in re.findall(r"enum \{(.*?)\}", text, flags=re.S):
    for constant in re.findall(r"\bVST3_(\w+)\s*(?:=[^,]*)?(?:,|$)", names.strip()):
        if constant == "TEXT":
            continue
        scope = next(scope for scope, pattern in SCOPES if re.fullmatch(pattern, constant))
        published = OTHER_NAMES.get(constant.lower()) or "k" + camel(constant.lower(), True)
        c.append(f'P("{constant} %lld", (long long)VST3_{constant});')
        cpp.append(f'P("{constant} %lld", (long long)Steinberg::{scope}{published});')
assert count > 90 and len(c) > 130, f"{count} functions and {len(c)} rows: too few to be all"


def run(compiler, ending, include, rows, flags):
    program = (f"#include <stddef.h>\n#include <stdio.h>\n{include}\n"
               '#define P(...) (printf(__VA_ARGS__), puts(""))\n'
               "static void H(const char *name, const void *id)\n{\n    printf(\"%s\", name);\n"
               "    for (int i = 0; i < 16; i++)\n"
               '        printf(" %02x", ((const unsigned char *)id)[i]);\n    puts("");\n}\n'
               "int main(void)\n{\n" + "\n".join(rows) + "\nreturn 0;\n}\n")
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / f"layout.{ending}").write_text(program)
        subprocess.run([compiler, "-w", "-o", f"{work}/layout", f"{work}/layout.{ending}", *flags], check=True)
        return subprocess.run([f"{work}/layout"], check=True, capture_output=True,
                              text=True).stdout.splitlines()


ours = run(cc, "c", '#include "plugin/vst3/vst3_interface.h"', c, [f"-I{source / 'src'}"])
published = run(cxx, "cc", "\n".join(f'#include "pluginterfaces/{name}"' for name in HEADERS), cpp,
                [f"-I{folder}", "-DRELEASE=1"])
for a, b in zip(ours, published):
    if a != b:
        differ(f"{a} is {b} in Steinberg's headers")
print(f"{len(ours)} sizes, offsets, identifiers and constants, and {count} functions"
      + ("" if failed else " agree"))
sys.exit(failed)
