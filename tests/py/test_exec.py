"""`wootz exec` as a program: what it says of itself, and its status."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"


def call(*command, **env):
    environment = {k: v for k, v in os.environ.items() if k not in ("WOOTZ_BACKEND", "WOOTZ_DEVICE")}
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, env={**environment, **env})


@pytest.fixture
def model(tmp_path):
    """y = relu(x * w), with x of 2x3."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])], "exec",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
        [numpy_helper.from_array(np.array([[1, -1], [2, 0], [3, -1]], np.float32), "w")])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def numbers(text, before):
    found = re.search(re.escape(before) + r"([\d.e+-]+)", text)
    assert found, f"no '{before}' in {text}"
    return float(found[1])


def test_says_its_backend_and_measures_for_as_long_as_it_is_told(model):
    done = call(WOOTZ, "exec", f"--onnx={model}", "--duration=1", "--iterations=5", "--warmUp=20", "--device=cpu")
    assert done.returncode == 0, done.stderr
    assert "[I] Backend: cpu (--device says so)" in done.stdout and "[W] --" not in done.stdout
    wall = numbers(done.stdout, "Total Host Walltime: ")
    assert 1 <= wall < 20
    assert numbers(done.stdout, "Throughput: ") * wall == pytest.approx(numbers(done.stdout, "Timing trace has "), rel=1e-3)


def test_takes_what_the_machine_has(model):
    """The GPU where there is one, the processor where not: and says which, and why."""
    done = call(WOOTZ, "exec", f"--onnx={model}", "--skipInference")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("[I] Backend: ")]
    assert line == "[I] Backend: cuda (a GPU and its libraries are here)" or line.startswith("[I] Backend: cpu (no GPU can be used: ")
    told = call(WOOTZ, "exec", f"--onnx={model}", "--skipInference", WOOTZ_BACKEND="reference")
    assert "[I] Backend: reference (the environment variable WOOTZ_BACKEND says so)" in told.stdout


def test_a_gpu_that_is_not_there_is_refused(model):
    done = call(WOOTZ, "exec", f"--onnx={model}", "--device=77", "--skipInference")
    assert done.returncode == 1 and "--device=77 cannot be used: " in done.stderr and "&&&& FAILED" in done.stdout
    first = call(WOOTZ, "exec", f"--onnx={model}", "--device=0", "--skipInference")
    assert first.returncode == 0, first.stderr
    assert "Backend: cuda" in first.stdout or "[W] --device=0 has no effect: " in first.stdout


def test_flags_without_effect_are_named(model):
    flags = ["--useCudaGraph", "--exposeDMA", "--persistentCacheRatio=0.5", "--noDataTransfers", "--useManagedMemory"]
    done = call(WOOTZ, "exec", f"--onnx={model}", "--skipInference", "--device=cpu", *flags)
    assert done.returncode == 0, done.stderr
    warned = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("[W] --")]
    assert sorted(warned) == sorted(flag.split("=")[0] for flag in flags)


@pytest.mark.parametrize("flag", ["--memPoolSize=workspace:4T", "--memPoolSize=heap:4", "--duration=-1", "--device=h200",
                                  "--avgRuns=0", "--percentile=120", "--noSuchFlag"])
def test_wrong_usage_is_status_2(model, flag):
    done = call(WOOTZ, "exec", f"--onnx={model}", flag)
    assert done.returncode == 2 and flag.split("=")[0] in done.stderr, (done.returncode, done.stderr)


def test_the_guide_has_the_table_of_flags():
    checked = subprocess.run([sys.executable, ROOT / "tools/docs/exec_flags.py", "--check"], capture_output=True, text=True,
                             env={**os.environ, "WOOTZ_BUILD_DIR": str(BUILD)})
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("flag", ["--useDLACore=0", "--safe", "--uff=x"])
def test_what_is_not_here_is_refused(model, flag):
    done = call(WOOTZ, "exec", f"--onnx={model}", flag)
    assert done.returncode == 1 and flag.split("=")[0] in done.stderr and "refused: " in done.stderr, done.stderr
    assert "&&&& FAILED" in done.stdout


def test_python_tells_the_default():
    import wootz
    name, reason = wootz.default_backend()
    assert name == os.environ["WOOTZ_BACKEND"] and "WOOTZ_BACKEND" in reason


@pytest.fixture
def reshaping(tmp_path):
    """y = reshape(x, shape), with shape an input of two numbers."""
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph([helper.make_node("Reshape", ["x", "shape"], ["y"])], "reshaping",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8]),
                               helper.make_tensor_value_info("shape", TensorProto.INT64, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])])
    path = tmp_path / "reshaping.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_shapes_of_an_input_that_is_a_shape_are_its_values(reshaping, tmp_path):
    quick, plan = ("--device=cpu", "--duration=0", "--iterations=2", "--warmUp=0"), tmp_path / "reshaping.plan"
    ranges = ("--minShapes=x:1x8,shape:1x1", "--optShapes='x':2x8,shape:4x4", "--maxShapes=x:4x8,shape:4x32")
    done = call(WOOTZ, "exec", f"--onnx={reshaping}", *ranges, "--shapes=x:2x8,'shape':2x8", f"--saveEngine={plan}", "--dumpOutput", *quick)
    assert done.returncode == 0 and "(2x8)" in done.stdout, done.stdout + done.stderr
    done = call(WOOTZ, "exec", f"--loadEngine={plan}", "--dumpOutput", *quick)  # the profile's optimum
    assert done.returncode == 0 and "(4x4)" in done.stdout, done.stdout + done.stderr
    done = call(WOOTZ, "exec", f"--loadEngine={plan}", "--shapes=x:2x8,shape:2", *quick)
    assert done.returncode == 1 and "are a shape: --shapes and its like take them, 2 numbers; 1 are given" in done.stderr
    for wrong, why in (("3x5", "[3x5]"), ("2x-1", "shape[1] = -1 is outside profile 0")):
        done = call(WOOTZ, "exec", f"--loadEngine={plan}", f"--shapes=x:2x8,shape:{wrong}", *quick)
        assert done.returncode == 1 and why in done.stderr, done.stderr


@pytest.mark.parametrize("form", ["fp16:chw", "fp16:hwc8"])
def test_a_model_of_fp32_takes_and_gives_fp16(form, tmp_path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "half",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 4, 4])],
                              [numpy_helper.from_array(np.ones((2, 3, 1, 1), np.float32), "w")])
    path = tmp_path / "half.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    done = call(WOOTZ, "exec", f"--onnx={path}", f"--inputIOFormats={form}", "--outputIOFormats=fp16:chw", "--fp16", "--device=cpu", "--skipInference")
    assert done.returncode == 0, done.stdout + done.stderr


def test_shapes_of_an_input_without_open_extents_are_those_of_the_model(model):
    assert call(WOOTZ, "exec", f"--onnx={model}", "--shapes=x:2x3", "--device=cpu", "--skipInference").returncode == 0
    done = call(WOOTZ, "exec", f"--onnx={model}", "--minShapes=x:1x3", "--optShapes=x:2x3", "--device=cpu", "--skipInference")
    assert done.returncode == 1 and "input 'x' has the shape 2x3 in the model, which leaves none of it open; 1x3 is given" in done.stderr


def test_a_flag_is_no_value_of_another(model):
    done = call(WOOTZ, "exec", "--loadEngine=a.plan", "--refitFromOnnx", f"--onnx={model}")
    assert done.returncode == 2 and "--refitFromOnnx needs a value" in done.stderr
    few = call(WOOTZ, "exec", f"--onnx={model}", "--allowWeightStreaming", "--stronglyTyped", "--weightStreamingBudget=50%", "--device=cpu",
               "--duration=0", "--iterations=1", "--warmUp=0")
    assert few.returncode == 0, "weights that are too few to stream all stay: " + few.stdout + few.stderr
