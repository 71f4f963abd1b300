"""Files stay small enough to read: an error above 800 lines, a warning above 400. Tables and generated files are exempt."""

import pathlib

LIMIT, WARN = 800, 400
SUFFIXES = {".cpp", ".h", ".cu", ".cuh", ".py", ".cmake", ".fbs"}
FOLDERS = ("src", "include", "python", "tools", "tests", "bench", "cmake", "shims", "examples")


def generated(text: str) -> bool:
    return "@generated" in text[:400]


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    errors, warnings = [], []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            text = file.read_text(errors="replace")
            lines = text.count("\n")
            if lines <= WARN or generated(text):
                continue
            path = file.relative_to(root).as_posix()
            if lines > LIMIT:
                errors.append(f"{path}:1: size: {lines} lines, the limit is {LIMIT}: split it")
            elif not any(mark in text[:2000] for mark in ("Why so long:",)):
                warnings.append(f"{path}:1: size: {lines} lines (above {WARN}): split it, or say `Why so long:` at its head")
    return errors, warnings
