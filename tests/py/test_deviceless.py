"""Plans for a GPU that this machine need not have, from Python and from the command line."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"


def call(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)


KNOWN = [d["alias"] for d in json.loads(call(WOOTZ, "devices", "--json").stdout)["known_devices"]]


def no_compiler():
    """Why no kernel can be made here: plans for a GPU cannot be built then."""
    import wootz

    return {library["name"]: library for library in wootz.backend_libraries()}["NVRTC"].get("missing")


needs_compiler = pytest.mark.skipif("no_compiler()", reason="no NVRTC: see test_libraries_are_named")


@pytest.fixture
def model(tmp_path):
    """y = softmax(relu(x) + 1): nothing that a library would have to be asked for."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "one"], ["s"]),
         helper.make_node("Softmax", ["s"], ["y"])], "deviceless",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 96])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 96])],
        [numpy_helper.from_array(np.ones(1, np.float32), "one")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_devices_are_listed_and_described():
    assert {"h200", "h100", "a100", "l4", "rtx4090"} <= set(KNOWN)
    for name in KNOWN:
        device = json.loads(call(WOOTZ, "devices", name).stdout)
        assert device["backend"] == "cuda" and device["properties"]["deviceName"] == device["name"]
    assert call(WOOTZ, "devices", "h300").returncode != 0


def test_libraries_are_named():
    """Each with its version, or why it cannot be opened and what follows from that."""
    import wootz

    told = call(WOOTZ, "devices").stdout
    libraries = wootz.backend_libraries("cuda")
    assert [library["name"] for library in libraries] == ["driver", "NVRTC", "cuBLASLt", "cuDNN", "NCCL"]
    for library in libraries:
        assert ("version" in library) != ("missing" in library)
        line = next(line for line in told.splitlines() if line.split()[:1] == [library["name"]])
        assert library.get("version", library.get("missing")) in line
        print(line)
    assert wootz.backend_libraries("cpu") == []
    with pytest.raises(ValueError):
        wootz.backend_libraries("h300")


@needs_compiler
@pytest.mark.parametrize("by", ["name", "file"])
def test_command_line_builds_for_another_device(model, tmp_path, by):
    device = "h200"
    if by == "file":
        device = tmp_path / "mine.json"
        device.write_text(call(WOOTZ, "devices", "h200").stdout)
    plan = tmp_path / "model.plan"
    built = call(WOOTZ, "build", model, "-o", plan, "--device", device, "--fp16")
    assert built.returncode == 0, built.stderr
    listed = call(WOOTZ, "build", model, "-o", plan, "--device", device, "--fp16", "--json")
    assert json.loads(listed.stdout)["configuration"]["device"]["isa"] == "sm_90"


def test_unknown_devices_are_refused_with_those_known(model, tmp_path):
    failed = call(WOOTZ, "build", model, "-o", tmp_path / "model.plan", "--device", "h300")
    assert failed.returncode == 1
    assert "h300" in failed.stderr and "h200" in failed.stderr
    assert not (tmp_path / "model.plan").exists()


@needs_compiler
def test_python_builds_the_same_plan_again(model):
    import wootz
    plan = wootz.build(model, options={"device": "h200"})
    assert wootz.build(model, options={"device": "h200"}) == plan
    assert len(wootz.build(model, options={"device": "h200", "native_code": "0"})) <= len(plan)
