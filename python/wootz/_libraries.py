"""Tells the library where this Python's packages have CUDA's libraries: nvidia/*/lib in the folders that it imports from, as
PyPI's packages nvidia-* have them, which torch brings along."""
import os
import sys

from . import _wootz


def package_folders(paths):
    """The folders with CUDA's libraries below folders of packages."""
    found = []
    for path in dict.fromkeys(paths):
        nvidia = os.path.join(path, "nvidia")
        if path and os.path.isdir(nvidia):
            found += [os.path.join(nvidia, name, "lib") for name in sorted(os.listdir(nvidia))]
    return [folder for folder in found if os.path.isdir(folder)]


for _folder in package_folders(sys.path):
    _wootz._add_library_folder(_folder)
