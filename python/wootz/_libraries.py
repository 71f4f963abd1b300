"""Tells the library where this Python's packages have CUDA's libraries: nvidia/*/lib in the folders that it imports from, as
PyPI's packages nvidia-* have them, which torch brings along."""
import glob
import os
import sys

from . import _wootz


def package_folders(paths):
    """The folders with CUDA's libraries below folders of packages."""
    found = (glob.glob(os.path.join(glob.escape(path), "nvidia", "*", "lib")) for path in dict.fromkeys(paths) if path)
    return [folder for folders in found for folder in sorted(folders)]


for _folder in package_folders(sys.path):
    _wootz._add_library_folder(_folder)
