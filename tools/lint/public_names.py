"""TensorRT's names stay in the API: below it, settings are plain data, and log, progress and allocator are our own interfaces."""

import pathlib

NAME = "nvinfer1"
FOLDERS = ("src", "cmake", "shims")
MAY = ("src/api/",)
SUFFIXES = (".cpp", ".h", ".cu", ".cuh", ".inc", ".def")


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    errors = []
    for folder in FOLDERS:
        for file in sorted(p for p in (root / folder).rglob("*") if p.suffix in SUFFIXES and p.is_file()):
            path = file.relative_to(root).as_posix()
            if path.startswith(MAY):
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                if NAME in line:
                    errors.append(f"{path}:{number}: public_names: {NAME} is for src/api, include, python, tools and tests")
    return errors, []
