"""The examples of README.md, run as they stand there."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
BIAS = np.array([[0.5, -1.0, -3.0], [0.0, 2.0, -1.0]], np.float32)
EXPECTED = np.maximum(np.ones((2, 3), np.float32) + BIAS, 0)  # of the model below, for x = 1


def block(language, begin=""):
    """The one code block of this language in README.md that begins so."""
    blocks = re.findall(rf"^```{language}\n({re.escape(begin)}.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 1, f"README.md has {len(blocks)} blocks of {language}, not one"
    return blocks[0]


def run(command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **kwargs)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def model(tmp_path):
    """y = relu(x + bias), with x of 2x3."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
        "readme",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(BIAS, "b")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def cpp_example(tmp_path_factory):
    """The C++ example, compiled as README.md says."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    folder, lib = tmp_path_factory.mktemp("readme"), BUILD / "lib"
    (folder / "example.cpp").write_text(block("cpp"))
    run(["g++", "-std=c++20", "-Wall", "-Werror", f"-I{ROOT / 'include'}", str(folder / "example.cpp"), f"-L{lib}",
         "-lwootz", f"-Wl,-rpath,{lib}", "-o", str(folder / "example")])
    return folder / "example"


def test_cpp_example(cpp_example, model):
    printed = np.array([float(line) for line in run([str(cpp_example), str(model)]).split()], np.float32)
    np.testing.assert_allclose(printed, EXPECTED.reshape(-1), rtol=1e-5)


def test_cpp_example_refuses_what_is_no_model(cpp_example, tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model")
    done = subprocess.run([str(cpp_example), str(bad)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.strip(), (done.returncode, done.stderr)


def test_python_example(model):
    source = block("python", "import numpy") + "\nassert outputs['y'].dtype == np.float32\nprint('RESULT', *outputs['y'].reshape(-1))\n"
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    printed = run([sys.executable, "-c", source], cwd=model.parent, env={**os.environ, "PYTHONPATH": path})
    (line,) = [line for line in printed.splitlines() if line.startswith("RESULT ")]
    np.testing.assert_allclose(np.array(line.split()[1:], np.float32), EXPECTED.reshape(-1), rtol=1e-5)


def test_command_line_example(model):
    np.save(model.parent / "x.npy", np.ones((2, 3), np.float32))
    path = os.pathsep.join([str(BUILD / "bin"), os.environ["PATH"]])
    run(["bash", "-ec", block("bash", "wootz build")], cwd=model.parent, env={**os.environ, "PATH": path, "WOOTZ_BACKEND": "cpu"})
    np.testing.assert_allclose(np.load(model.parent / "out/y.npy"), EXPECTED, rtol=1e-5)
    assert "<html" in (model.parent / "model.html").read_text()


def test_torch_example(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setenv("WOOTZ_CACHE", str(tmp_path))
    names = {}
    exec(block("python", "import torch"), names)  # noqa: S102
    with torch.no_grad():
        torch.testing.assert_close(names["outputs"], names["model"](torch.ones(2, 3)), rtol=1e-4, atol=1e-5)
