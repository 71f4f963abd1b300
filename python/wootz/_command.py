"""The command line `wootz` of an installed package: the program that lies in it."""
import os
import pathlib
import sys


def program():
    """The program's path: in the package, or in the build that the package is part of."""
    package = pathlib.Path(__file__).resolve().parent
    for folder in (package / "bin", package.parents[1] / "bin"):
        if (folder / "wootz").is_file():
            return folder / "wootz"
    raise FileNotFoundError(f"the program wootz is not in {package / 'bin'}: install the package anew")


def main():
    """Becomes that program, with this command's arguments."""
    path = program()
    os.execv(path, ["wootz", *sys.argv[1:]])


if __name__ == "__main__":
    main()
