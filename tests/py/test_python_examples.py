"""examples/python: programs as they are written for TensorRT's package run through the alias, on the processor and on a GPU where there is one, at
the levels that have what they use."""
import os
import pathlib
import subprocess
import sys

import pytest
from test_device import gpus

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
FOLDER = ROOT / "examples/python"
SHARED = {"common.py", "cudart.py", "cudart_ctypes.py", "models.py"}
ONLY_10 = {"calibrator.py"}  # calibrators went with level 11
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in SHARED)
CASES = [(level, name) for level in (10, 11) for name in PROGRAMS if level == 10 or name not in ONLY_10]


@pytest.fixture(scope="module")
def aliases(tmp_path_factory):
    """{level: a folder with a package tensorrt}."""
    from wootz import alias
    return {level: alias.install(level, tmp_path_factory.mktemp(f"alias_{level}")) for level in (10, 11)}


@pytest.fixture(scope="module")
def a_gpu():
    if gpus() == 0:
        pytest.skip("NO NVIDIA GPU ON THIS MACHINE")


def run(name, alias, folder, **environment):
    env = {**os.environ, "PYTHONPATH": f"{alias}:{BUILD / 'python'}:{os.environ.get('PYTHONPATH', '')}", "TMPDIR": str(folder),
           "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([sys.executable, str(FOLDER / name)], capture_output=True, text=True, timeout=300, env=env, cwd=folder)
    assert done.returncode == 0 and done.stdout, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip())


@pytest.mark.parametrize("level, name", CASES, ids=[f"{name[:-3]}_{level}" for level, name in CASES])
def test_it_runs(level, name, aliases, tmp_path):
    run(name, aliases[level], tmp_path, WOOTZ_BACKEND="cpu", CUDART_LIBRARY=str(BUILD / "lib/hostcuda/libcudart.so.13"))


@pytest.mark.parametrize("level, name", CASES, ids=[f"{name[:-3]}_{level}" for level, name in CASES])
def test_it_runs_on_a_gpu(level, name, aliases, a_gpu, tmp_path):
    run(name, aliases[level], tmp_path, WOOTZ_BACKEND="cuda")
