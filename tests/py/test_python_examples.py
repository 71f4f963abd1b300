"""examples/python: programs as they are written for TensorRT's package run through the alias, on the processor, at the levels that
have what they use."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
FOLDER = ROOT / "examples/python"
SHARED = {"common.py", "cudart.py", "models.py"}
ONLY_10 = {"calibrator.py"}  # calibrators went with level 11
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in SHARED)
CASES = [(level, name) for level in (10, 11) for name in PROGRAMS if level == 10 or name not in ONLY_10]


@pytest.fixture(scope="module")
def aliases(tmp_path_factory):
    """{level: a folder with a package tensorrt}."""
    from wootz import alias
    return {level: alias.install(level, tmp_path_factory.mktemp(f"alias_{level}")) for level in (10, 11)}


@pytest.mark.parametrize("level, name", CASES, ids=[f"{name[:-3]}_{level}" for level, name in CASES])
def test_it_runs(level, name, aliases, tmp_path):
    env = {**os.environ, "WOOTZ_BACKEND": "cpu", "PYTHONPATH": f"{aliases[level]}:{BUILD / 'python'}", "TMPDIR": str(tmp_path),
           "CUDART_LIBRARY": str(BUILD / "lib/hostcuda/libcudart.so.13"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, str(FOLDER / name)], capture_output=True, text=True, timeout=300, env=env, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
