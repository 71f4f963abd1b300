"""bench/check_models.py: that it passes on a package model, and that it can fail."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()


def check(*arguments):
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(ROOT / "bench/check_models.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": path})


def test_package_model_agrees_with_onnxruntime(tmp_path):
    """The text direction classifier: both backends, passes on and off, random shapes in one context."""
    import onnxruntime  # noqa: F401
    done = check("--only", "ppocr_cls", "--shapes", 3, "--json", tmp_path / "rows.json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "rows.json").read_text())
    assert len(result["rows"]) == 2 * 2 * 3
    assert {(r["backend"], r["passes"]) for r in result["rows"]} == {(b, p) for b in ("cpu", "reference") for p in ("on", "off")}
    assert all(r["passed"] and r["difference"] <= 1e-4 for r in result["rows"])
    assert len({r["shape"] for r in result["rows"]}) == 3


@pytest.fixture
def folder(tmp_path):
    """A float model, a quantized form of it, and one that claims to be a quantized form of it and is not."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(3)
    w = rng.standard_normal((16, 8)).astype(np.float32)
    scale = np.float32(np.abs(w).max() / 15)  # coarse: what else is rounded does not count beside it

    def save(name, nodes, *constants):
        value = lambda n, width: helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", width])
        graph = helper.make_graph(nodes, name, [value("x", 16)], [value("y", 8)],
                                  [numpy_helper.from_array(a, n) for n, a in constants])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / f"{name}.onnx")

    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    save("net", [product], ("w", w))
    quantized = np.clip(np.rint(w / scale), -15, 15).astype(np.int8)
    dequantize = helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"])
    zero = np.int8(0)
    save("net_int8", [dequantize, product], ("q", quantized), ("s", np.array(scale)), ("z", np.array(zero)))
    save("other", [product], ("w", -w))
    entry = lambda name: {"file": f"{name}.onnx", "inputs": {"x": {"dtype": "float32", "shape": [6, 16], "gen": "randn"}}}
    manifest = {n: entry(n) for n in ("net", "net_int8", "other")}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def rows_of(folder, *arguments):
    done = check("--models", folder, "--json", folder / "rows.json", *arguments)
    return done, json.loads((folder / "rows.json").read_text())["rows"]


def test_quantized_models_are_held_against_their_float_form(folder):
    done, rows = rows_of(folder, "--only", "net,net_int8", "--backend", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    quantized = [r for r in rows if r["model"] == "net_int8"]
    assert len(quantized) == 10 and all(r["farther"] == pytest.approx(1, abs=0.1) for r in quantized)
    assert not any("farther" in r for r in rows if r["model"] == "net")


def test_misses_are_told(folder, monkeypatch):
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import check_models
    finally:
        sys.path.pop(0)

    class Expected:
        quantized, outputs = False, [[np.array([1.0, 2.0], np.float32)]]
        without_optimizer = staticmethod(lambda i: [np.array([1.0, 2.003], np.float32)])

    judged = lambda *values: check_models.judge(Expected, 0, [np.array(values, np.float32)])
    assert judged(1, 2.0001)["passed"]
    assert judged(1, 2.003)["passed"]  # ONNX Runtime moves as much
    assert not judged(1, 2.0035)["passed"]
    assert not judged(1, np.nan)["passed"]
    assert not judged(1, 2, 3)["passed"]
    (folder / "net.onnx").write_bytes(b"not a model")
    done, rows = rows_of(folder, "--only", "net,other", "--backend", "cpu", "--passes", "on")
    assert done.returncode == 1, done.stdout + done.stderr
    assert [r["passed"] for r in rows] == [False] + [True] * 5
    assert check("--models", folder, "--only", "nothing").returncode == 1
