"""`./dev wheel`: the wheel is whole, small and installs into the oldest and the newest Python here, where tests of the package
pass outside of the repository's folder."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import conftest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
OLDEST = (3, 11)  # the stable ABI that the extension is compiled for (pyproject.toml)
# Tests of the package that need nothing of the repository but themselves.
TESTS = ("wheel_cases.py", "test_transformers.py", "conftest.py")

pytestmark = pytest.mark.slow


def run(command, **kwargs):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **kwargs)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pythons():
    """(version, program) of the oldest and newest CPython here that the wheel is for, from PATH and pyenv's folder."""
    folders = [*os.environ.get("PATH", "").split(":"), "/usr/bin", *pathlib.Path("~/.pyenv/versions").expanduser().glob("*/bin")]
    found = {}
    for folder in map(pathlib.Path, folders):
        for program in sorted(folder.glob("python3.*")):
            named = re.fullmatch(r"python3\.(\d+)", program.name)
            if named and (3, int(named[1])) >= OLDEST and not {".venv", "shims"} & set(program.parts):
                found.setdefault((3, int(named[1])), program)
    found.setdefault(sys.version_info[:2], pathlib.Path(sys.executable))
    return [(version, found[version]) for version in sorted({min(found), max(found)})]


@pytest.fixture(scope="module")
def wheel():
    run([ROOT / "dev", "wheel", BUILD.name], cwd=ROOT)
    (made,) = (ROOT / "build/wheel").glob("*.whl")
    return made


def test_the_wheel_is_small_and_says_where_it_runs(wheel):
    size = wheel.stat().st_size / 1e6
    conftest.FIGURES.append(f"{wheel.name}: {size:.1f} MB")
    if BUILD.name in ("release", "ci"):  # others are not optimized
        assert size <= 35
    assert re.fullmatch(r"wootz-[0-9.]+-cp311-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name)


@pytest.mark.parametrize("version, python", pythons(), ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "")
def test_the_package_works_where_it_is_installed(version, python, wheel, tmp_path):
    run([python, "-m", "venv", tmp_path / "venv"])
    program = tmp_path / "venv/bin/python"
    run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", wheel, "pytest", "onnx"])
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in TESTS:
        shutil.copy(HERE / name, tests)
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("WOOTZ_", "PYTHON")) and key not in ("VIRTUAL_ENV", "LD_LIBRARY_PATH")}
    out = run([program, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS[:-1]], cwd=tests, env={**env, "WOOTZ_BACKEND": "cpu"})
    conftest.FIGURES.append(f"Python {'.'.join(map(str, version))}, installed: {out.splitlines()[-1]}")
