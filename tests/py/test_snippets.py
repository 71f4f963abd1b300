"""Python that documents about TensorRT print (snippets/) runs as it stands there, through the alias: see snippets/scenes.py."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
FOLDER = pathlib.Path(__file__).resolve().parent / "snippets"
SCENES = ("build_and_run", "flags", "profiles", "calibrator", "build_function", "inference", "profiler", "verbose")


@pytest.fixture(scope="module")
def alias(tmp_path_factory):
    from wootz import alias
    return alias.install(10, tmp_path_factory.mktemp("alias"))


@pytest.mark.parametrize("scene", SCENES)
def test_it_runs(scene, alias, tmp_path):
    env = {**os.environ, "WOOTZ_BACKEND": "cpu", "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONPATH": f"{alias}:{BUILD / 'python'}:{ROOT / 'examples/python'}", "CUDART_LIBRARY": str(BUILD / "lib/hostcuda/libcudart.so.13")}
    done = subprocess.run([sys.executable, str(FOLDER / "scenes.py"), scene], capture_output=True, text=True, timeout=300, env=env, cwd=tmp_path)
    assert done.returncode == 0 and "done" in done.stdout, f"{done.returncode}\n{done.stdout}\n{done.stderr}"


def test_every_snippet_is_run():
    used = set(re.findall(r'run\(\s*"(\d+_\d+)"', (FOLDER / "scenes.py").read_text()))
    assert used == {path.stem for path in FOLDER.glob("[0-9]*.py")}
