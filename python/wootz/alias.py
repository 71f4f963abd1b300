"""Wootz under TensorRT's name: a package `tensorrt` in this Python's environment, for programs that say `import tensorrt`.

    python -m wootz.alias [--level 10|11]   install it (again: in the place of the one that is there)
    python -m wootz.alias --remove          remove it; `pip uninstall tensorrt` does the same

It holds no code of its own: every name is that of Wootz, as the level of TensorRT's API has it. Where a real tensorrt is installed,
nothing is changed.
"""
import argparse
import base64
import hashlib
import importlib.machinery
import importlib.metadata
import os
import pathlib
import shutil
import sys
import sysconfig

INSTALLER = "wootz.alias"
_HEAD = '"""Wootz under TensorRT\'s name, made by `python -m wootz.alias`."""\n'
_NAMES = _HEAD + """from wootz import _levels

_names = _levels.names({level})
__all__ = list(_names)
globals().update(_names)
__version__ = "{version}"
"""
_SAME = _HEAD + """from tensorrt import *  # noqa: F401,F403
from tensorrt import __version__  # noqa: F401
"""
_ITSELF = _HEAD + """import sys

sys.modules[__name__] = sys.modules["tensorrt"]
"""
_PLUGIN = _HEAD + """import importlib
import sys

from wootz import _levels

sys.modules[__name__] = importlib.import_module(_levels.package({level}).__name__ + ".plugin")
"""
# File: its text. Those of NVIDIA's packages that programs import.
_FILES = {
    "tensorrt/__init__.py": _NAMES,
    "tensorrt/tensorrt.py": _ITSELF,
    "tensorrt/plugin.py": _PLUGIN,
    "tensorrt_bindings/__init__.py": _SAME,
    "tensorrt_lean/__init__.py": _SAME,
    "tensorrt_dispatch/__init__.py": _SAME,
    "tensorrt_libs/__init__.py": _HEAD,
}
_FOLDERS = sorted({name.split("/")[0] for name in _FILES})
# Libraries in tensorrt_libs/, as links: TensorRT's name, ours.
_LIBRARIES = {"nvinfer": "wootz", "nvinfer_plugin": "wootz", "nvonnxparser": "wootz", "nvinfer_lean": "wootz_runtime",
              "nvinfer_dispatch": "wootz_runtime"}


class AliasError(RuntimeError):
    """The alias cannot be installed or removed here; the message says why."""


def _version(level):
    from . import _levels

    return _levels.package(level).__version__


def _library_folder():
    package = pathlib.Path(__file__).resolve().parent
    for folder in (package / "lib", package.parents[1] / "lib"):
        if (folder / "libwootz.so").is_file():
            return folder
    raise AliasError(f"libwootz.so is not in {package / 'lib'}: install the package wootz anew")


def _installed(site):
    """Our distribution in this folder, or None. Another one of the name there: refused."""
    ours = None
    for found in importlib.metadata.distributions(name="tensorrt", path=[str(site)]):
        installer = (found.read_text("INSTALLER") or "").strip()
        if installer != INSTALLER:
            raise AliasError(f"a real tensorrt {found.version} is installed in {site}: `pip uninstall tensorrt` removes it")
        ours = found
    return ours


def _refuse_others(site):
    """Packages of TensorRT's names that no alias has made, here or anywhere else that this Python imports from."""
    for folder in dict.fromkeys([str(site), *sys.path]):
        for name in _FOLDERS:
            spec = importlib.machinery.PathFinder.find_spec(name, [folder])
            if spec is None or spec.origin is None:
                continue
            text = pathlib.Path(spec.origin).read_text(encoding="utf-8", errors="replace") if spec.origin.endswith(".py") else ""
            if not text.startswith(_HEAD):
                raise AliasError(f"a real {name} is installed in {folder}: nothing is changed")


def _record(site, paths):
    lines = []
    for path in paths:
        name = path.relative_to(site).as_posix()
        if path.is_symlink() or path.name == "RECORD":
            lines.append(f"{name},,")
            continue
        data = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join(lines) + "\n"


def _write(site, level, version, libraries):
    made = []

    def put(name, text):
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        made.append(path)

    for name, text in _FILES.items():
        put(name, text.replace("{level}", str(level)).replace("{version}", version))
    for theirs, ours in _LIBRARIES.items():
        link = site / "tensorrt_libs" / f"lib{theirs}.so.{level}"
        link.symlink_to(libraries / f"lib{ours}.so")
        made.append(link)
    info = f"tensorrt-{version}.dist-info"
    summary = f"Wootz under TensorRT's name, level {level} of the API (python -m wootz.alias)"
    put(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tensorrt\nVersion: {version}\nSummary: {summary}\n")
    put(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {INSTALLER}\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    put(f"{info}/INSTALLER", f"{INSTALLER}\n")
    put(f"{info}/top_level.txt", "\n".join(_FOLDERS) + "\n")
    record = site / info / "RECORD"
    record.write_text(_record(site, [*made, record]), encoding="utf-8")


def install(level=10, target=None):
    """Installs the alias into this Python's site-packages, or a folder, and returns the folder."""
    site = pathlib.Path(target or sysconfig.get_path("purelib")).resolve()
    version, libraries = _version(level), _library_folder()
    if _installed(site) is not None:
        remove(site)
    _refuse_others(site)
    site.mkdir(parents=True, exist_ok=True)
    if not os.access(site, os.W_OK):
        raise AliasError(f"{site} cannot be written to: use a virtual environment, or --target FOLDER with it on PYTHONPATH")
    _write(site, level, version, libraries)
    return site


def remove(target=None):
    """Removes what install() has made there."""
    site = pathlib.Path(target or sysconfig.get_path("purelib")).resolve()
    ours = _installed(site)
    if ours is None:
        raise AliasError(f"there is no alias in {site}")
    info = site / f"tensorrt-{ours.version}.dist-info"
    names = [line.rsplit(",", 2)[0] for line in (info / "RECORD").read_text(encoding="utf-8").splitlines()]
    for name in names:
        (site / name).unlink(missing_ok=True)
    for folder in {(site / name).parent for name in names}:
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        if folder != site and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return site


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m wootz.alias", description="Wootz under TensorRT's name, as a package.")
    parser.add_argument("--level", type=int, choices=(10, 11), default=10, help="level of TensorRT's API (default 10)")
    parser.add_argument("--target", metavar="FOLDER", help="in place of this Python's site-packages")
    parser.add_argument("--remove", action="store_true", help="remove it")
    args = parser.parse_args(arguments)
    try:
        if args.remove:
            print(f"removed tensorrt from {remove(args.target)}")
        else:
            site = install(args.level, args.target)
            print(f"installed tensorrt {_version(args.level)} in {site}: `import tensorrt` is Wootz now, until "
                  "`python -m wootz.alias --remove`")
    except AliasError as error:
        print(f"wootz.alias: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
