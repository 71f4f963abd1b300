"""wootz.torch: the backend's name in an installed package, what the page says, and options. Skipped where torch is not installed."""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from wootz.torch._options import Options  # noqa: E402

OPTIONS = {"cache": False, "build": {"timing": "0"}}


@pytest.fixture(autouse=True, params=["cpu"] + ["cuda"] * torch.cuda.is_available())
def place(request):
    """The device of the tensors that a test makes."""
    torch._dynamo.reset()
    torch.set_default_device(request.param)
    yield torch.device(request.param)
    torch.set_default_device(None)


@pytest.mark.parametrize("imported", [False, True])
def test_the_entry_point_names_the_backend(tmp_path, imported, place):
    """As an installed package has it, which torch finds without an import of ours."""
    about = tmp_path / "wootz_test-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: wootz_test\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[torch_dynamo_backends]\nwootz = wootz.torch:wootz_backend\n")
    code = f"""
import torch
{"import wootz.torch" if imported else ""}
run = torch.compile(lambda x: torch.relu(x) + 1, backend="wootz", options={OPTIONS!r})
assert run(torch.zeros(3, device={str(place)!r})).tolist() == [1, 1, 1]
import wootz.torch
assert wootz.torch.statistics()["engines"] == 1
"""
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(tmp_path)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr


def test_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WOOTZ_CACHE", str(tmp_path))
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "torch.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec("\n".join(blocks), {})  # noqa: S102
    options = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    assert options == {field.name for field in dataclasses.fields(Options)}


@pytest.mark.parametrize("options, message", [({"speed": 1}, "there are"), ({"precision": "fp17"}, "none of fp16"), ({"optimization_level": 9}, "0 to 5")])
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Options.of(options)
