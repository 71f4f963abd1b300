"""The C++ tests that speak of the public API, as the build compiles them, and their declarations, as clang's syntax tree has them."""

import collections
import fcntl
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
import unity_groups
FOLDERS = ("tests/api/", "tests/api_headers/", "tests/collectives/", "tests/levels/", "tests/plugins/", "tests/cuda/", "tests/memory/", "tests/steady/",
           "tests/outside_backend/", "tests/deviceless/")
HEADERS = ("gtest/gtest.h", "gmock/gmock.h", "algorithm", "atomic", "chrono", "cmath", "cstring", "filesystem", "fstream", "functional", "map",
           "memory", "mutex", "numeric", "optional", "random", "set", "span", "sstream", "string", "thread", "vector")
FILE = re.compile(r'"includedFrom": \{\s*"file": "[^"]*"|"file": "([^"]*)"')

precompiled_folder = None
Unit = collections.namedtuple("Unit", "files program level flags")  # files: read together, of one folder


def units(build, kind=lambda file: None):
    """The test sources that speak of the API, as the build compiles them; those of one unit are of one kind."""
    build = pathlib.Path(build).resolve()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        program = re.search(r"(\w+)\.dir/", words[words.index("-o") + 1]).group(1)
        sources = sources_of(words[words.index("-c") + 1])
        made_in = sources[0].partition("/tests/")[0]
        flags = [word if index == 0 or words[index - 1] == "-isystem" else word for index, word in enumerate(words)
                 if word.startswith(("-D", "-I", "-std", "-isystem")) or words[index - 1] == "-isystem"]
        flags = [re.sub(rf"{re.escape(made_in)}(?=$|/(?!build|\.venv))", str(ROOT), flag) for flag in flags]
        level = 11 if "-DWOOTZ_TENSORRT_API=11" in flags else 10
        together = collections.defaultdict(list)
        for source in sources:
            file = pathlib.Path(source).as_posix().removeprefix(made_in + "/")
            if file.startswith(FOLDERS) and re.search(r"_test\.cpp$", file):
                together[pathlib.Path(file).parent, own_namespace(file), kind(file)].append(file)
        for files in together.values():
            yield Unit(tuple(files), program, level, flags)


def own_namespace(file):
    """In which a test declares what is its own."""
    return "wootz_test" if re.search(r"^namespace wootz_test\b", text_of(file), re.M) else "anonymous namespace"


def text_of(file):
    return (ROOT / file).read_text()


def sources_of(compiled):
    """The files that a compilation is of: one, or those that builds compile together (cmake/unity.cmake)."""
    file = pathlib.Path(compiled)
    if file.parent.name != "unity":
        return [compiled]
    return [str((file.parent / path).resolve()) for path in re.findall(r'^#include "(.*\.cpp)"$', file.read_text(), re.M)]


def compiled(unit, *flags):
    """What the compiler says of the unit's files, one after the other, as the build compiles such: they know nothing of each other."""
    sources = {str(ROOT / file): unity_groups.Source(text_of(file)) for file in unit.files}
    text = unity_groups.text_of(list(sources), sources, str(ROOT))
    command = ["clang-14", "-x", "c++", *unit.flags, "-DWOOTZ_NO_CUDA_HEADERS", "-w", *flags, "-"]
    return subprocess.run(command, input=text.encode(), capture_output=True, cwd=ROOT)


def precompile_in(folder):
    """From now on this process, and others with the same folder, read the headers that most tests begin with from one file there."""
    global precompiled_folder
    precompiled_folder = pathlib.Path(folder)


def precompiled():
    """Flags that make a test take half of the time to read; none where no folder was named or the compiler refuses."""
    if precompiled_folder is None:
        return []
    made = precompiled_folder / "headers.pch"
    with (precompiled_folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            text = "".join(f"#include <{header}>\n" for header in HEADERS)
            subprocess.run(["clang-14", "-x", "c++-header", "-std=c++20", "-DNDEBUG", "-DGTEST_HAS_PTHREAD=1", "-w", "-", "-o", made],
                           input=text, text=True, capture_output=True)
            made.touch()
    return ["-include-pch", str(made)] if made.stat().st_size else []


def dump(unit):
    """The declarations of the tests' own namespace, each with the file that it stands in."""
    done = compiled(unit, *precompiled(), "-fsyntax-only", "-Xclang", "-ast-dump=json", "-Xclang",
                    f"-ast-dump-filter={own_namespace(unit.files[0])}")
    if done.returncode != 0:
        raise SystemExit(f"{', '.join(unit.files)}:\n{done.stderr.decode()[:2000]}")
    tree = done.stdout.decode()
    decoder, at, file = json.JSONDecoder(), tree.find("{"), None
    while at >= 0:
        node, end = decoder.raw_decode(tree, at)
        yield node["loc"].get("file", file), node
        for named in FILE.finditer(tree, at, end):  # clang names a file where it is another than that of the place named before
            file = named[1] or file
        at = tree.find("\n{", end)
        at = at + 1 if at >= 0 else at
