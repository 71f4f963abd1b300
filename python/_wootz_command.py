"""The command `wootz` of an installed package: it becomes the program that lies in the package, without importing it."""
import importlib.util
import os
import pathlib
import sys


def program():
    """The program's path: in the package, or in the build that the package is part of."""
    package = pathlib.Path(importlib.util.find_spec("wootz").origin).resolve().parent
    for folder in (package / "bin", package.parents[1] / "bin"):
        if (folder / "wootz").is_file():
            return folder / "wootz"
    raise FileNotFoundError(f"the program wootz is not in {package / 'bin'}: install the package anew")


def main():
    """Becomes that program, with this command's arguments."""
    os.execv(program(), ["wootz", *sys.argv[1:]])
