"""examples/gallery: each example runs in its short form, is right by its own comparison, writes pictures that are well-formed, and has a page's text and
a line in the index."""
import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
FOLDER = ROOT / "examples/gallery"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.name != "common.py")
NEEDS = {"torch_compile": "torch", "speech": "silero_vad"}  # which the project's environment need not have
MOST_BYTES = 200_000


def run(name, *arguments, **environment):
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "WOOTZ_BACKEND": "cpu", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *arguments], capture_output=True, text=True, timeout=300, env=env)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs(name, tmp_path):
    done = run(name, "--quick", "--out", str(tmp_path), TMPDIR=str(tmp_path))
    assert done.returncode == 0 and done.stdout, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    package = NEEDS.get(name)
    if package and importlib.util.find_spec(package) is None:
        assert package in done.stdout and "skipped" in done.stdout
        pytest.skip(f"{package} is not installed")
    pictures = sorted(tmp_path.glob(f"{name}*.svg")) + sorted(tmp_path.glob(f"{name}*.png"))
    assert pictures, f"no {name}*.svg or .png among {[path.name for path in tmp_path.iterdir()]}"
    for picture in pictures:
        assert picture.stat().st_size <= MOST_BYTES, f"{picture.name} has {picture.stat().st_size} bytes"
        if picture.suffix == ".svg":
            root = ElementTree.parse(picture).getroot()
            assert root.tag == "{http://www.w3.org/2000/svg}svg" and len(root) > 3
            assert "nan" not in re.findall(r"[a-z]+", " ".join(re.findall(r'(?:x|y|width|height|points)="([^"]*)"', picture.read_text())))
        else:
            from PIL import Image
            Image.open(picture).verify()


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_is_a_page(name):
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
    assert text.startswith("# ") and "**What to look at:**" in text
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (FOLDER / target).exists(), f"{name}.py links to {target}"


def test_the_index_has_a_line_for_each():
    listed = re.findall(r"^\| \[[^]]+\]\((\w+)\.py\) \|", (FOLDER / "README.md").read_text(), re.M)
    assert sorted(listed) == EXAMPLES
